// Which element types a file names: of weights and inputs, in attributes, and by TensorRT's own operators.
import { elementTypeOfCode } from "../element-type.ts";
import type { OnnxDType } from "../model.ts";
import { tensorsOf } from "../walk.ts";
import type { Subject } from "./subject.ts";

/** TensorRT's own operators by which older exports say their type. */
const ownMarks: readonly { operators: RegExp; dtype: OnnxDType }[] = [
	{ operators: /^TRT_FP8/, dtype: "float8e4m3fn" },
	{ operators: /^TRT_INT4/, dtype: "int4" },
	{ operators: /^TRT_FP4/, dtype: "float4e2m1" },
];
/** Attributes that name an element type: of Cast, of QuantizeLinear since opset 21, of EyeLike and the random ones. */
const typeAttributes: ReadonlySet<string> = new Set(["to", "output_dtype", "dtype"]);

export function namedTypes({ model, scopes }: Subject): ReadonlySet<OnnxDType> {
	const nodes = scopes.flatMap((scope) => scope.nodes);
	const named = nodes.flatMap((node) => node.attributes.filter(({ name }) => typeAttributes.has(name)).map(({ value }) => value));
	return new Set<OnnxDType>([
		...tensorsOf(scopes).map((tensor) => tensor.dtype),
		...model.onnx.graph.inputs.map((input) => input.dtype),
		...named.map((code) => elementTypeOfCode(typeof code === "number" ? code : 0)),
		...ownMarks.filter(({ operators }) => nodes.some((node) => operators.test(node.op))).map(({ dtype }) => dtype),
	]);
}

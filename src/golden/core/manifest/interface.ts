// A stand-in for the ONNX file of an engine that has none: its golden says what goes in and out.
import type { GoldenManifest, TensorFile } from "../../../../generated/golden.ts";
import type { InputConfig } from "../../../core/config/config.ts";
import { fromDType } from "../../../core/onnx/element-type.ts";
import type { OnnxDim, OnnxModel, OnnxValue } from "../../../core/onnx/model.ts";
import { own } from "../tensor/tensor.ts";

/** Sizes that differ between cases are open, unless the config gives the input's shape. */
export function interfaceOf(
	{ cases }: GoldenManifest,
	configured: Readonly<Record<string, InputConfig>>,
): OnnxModel {
	const valuesOf = (side: "inputs" | "outputs"): OnnxValue[] =>
		Object.entries(cases[0]?.[side] ?? {}).map(([name, { dtype, shape }]) => {
			const given = side === "inputs" ? own(configured, name)?.shape : undefined;
			const shapes = cases.flatMap((one) => own(one[side], name) ?? []).map((file: TensorFile) => file.shape);
			return { name, kind: "tensor", dtype: fromDType(dtype), dims: given ?? commonSizes(shape, shapes) };
		});
	const [inputs, outputs] = [valuesOf("inputs"), valuesOf("outputs")];
	return {
		...{ bytes: 0, irVersion: 0, producer: "", producerVersion: "", opsets: {}, functions: [] },
		graph: { name: "", inputs, outputs, nodes: [], initializers: [], valueInfo: [], subgraphs: [] },
	};
}

/** null if even the number of axes differs. */
function commonSizes(
	first: readonly number[],
	all: readonly (readonly number[])[],
): readonly OnnxDim[] | null {
	if (all.some(({ length }) => length !== first.length)) return null;
	return first.map((size, axis) => (all.every((shape) => shape[axis] === size) ? size : null));
}

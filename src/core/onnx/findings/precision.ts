// Checks whether the file gives the precision that the engine is to be built in, and whether the GPU can build it.
import type { Precision } from "../../../../generated/config.ts";
import type { Finding } from "../../../../generated/result.ts";
import { formatBytes } from "../../text/units.ts";
import { elementBits, elementTypeOfCode } from "../element-type.ts";
import type { OnnxDType, OnnxInitializer, OnnxNode } from "../model.ts";
import { quoteName } from "../quote.ts";
import { isAtLeast } from "../tensorrt/support.ts";
import { type Scope, tensorsOf } from "../walk.ts";
import {
	constantOf,
	everyNode,
	finding,
	foldFaults,
	type NodeFault,
	nodeIn,
	type Rule,
	type Subject,
} from "./subject.ts";

const marks: Readonly<Partial<Record<Precision, readonly OnnxDType[]>>> = {
	fp16: ["float16"],
	bf16: ["bfloat16"],
	fp8: ["float8e4m3fn", "float8e5m2"],
	int4: ["int4", "uint4"],
	fp4: ["float4e2m1"],
};

const quantising = /^(TRT_\w+)?(Quantize|Dequantize)Linear$/;

export const precision: Rule = (subject) => {
	const { tensorrt, scopes, context } = subject;
	const { precision: wanted, onnxKey, isCalibrated } = context;
	if (tensorrt === null || wanted === undefined) return [];
	const { name } = tensorrt;
	const tensors = tensorsOf(scopes);
	const count = (...dtypes: readonly OnnxDType[]): number =>
		tensors.filter(({ dtype }) => dtypes.includes(dtype)).length;
	const halves = count("float16", "bfloat16");
	const quantisers = scopes.flatMap(({ nodes }) => nodes.filter(({ op }) => quantising.test(op))).length;
	const isTyped = isAtLeast(tensorrt, 11, 0) === true;
	if (isTyped && !(wanted === "int8" ? quantisers > 0 : isMarked(wanted, subject))) {
		const message = `The engine is configured as ${wanted}, and ${name} has no precision flags: it builds in the types of the file, which has ${count("float")} float and ${halves} half-precision weights and ${quantisers} Q/DQ nodes.`;
		const place = onnxKey === undefined ? "as the engine's `onnx`" : `under \`${onnxKey}\``;
		const fix = `Convert the model with ${toolFor(wanted)} and name the file ${place}, or ask for fp32.`;
		return [finding("precision-typed", message, { fix })];
	}
	if (isTyped && (wanted === "fp32" || wanted === "tf32") && halves > 0) {
		const message = `The engine is configured as ${wanted}, but ${name} builds in the types of the file, of which ${halves} weights are half-precision.`;
		const fix = "State the precision that the file has, so that its tolerances hold; or export in float.";
		return [finding("precision-typed", message, { severity: "warning", fix })];
	}
	if (wanted !== "int8" || quantisers > 0 || isCalibrated === true) return [];
	const message = `The engine is configured as int8, and the file has no Q/DQ nodes: ${name} makes up the ranges of all tensors, so the speed is real but the outputs are meaningless.`;
	return [finding("precision-uncalibrated", message)];
};

function isMarked(wanted: Precision, subject: Subject): boolean {
	const named = namedTypes(subject);
	return marks[wanted]?.some((dtype) => named.has(dtype)) ?? true;
}

function toolFor(wanted: Precision): string {
	const isHalf = wanted === "fp16" || wanted === "bf16";
	return isHalf ? "ModelOpt's AutoCast (python -m modelopt.onnx.autocast)" : "ModelOpt's quantisation";
}

const ownMarks: readonly { operators: RegExp; dtype: OnnxDType }[] = [
	{ operators: /^TRT_FP8/, dtype: "float8e4m3fn" },
	{ operators: /^TRT_INT4/, dtype: "int4" },
	{ operators: /^TRT_FP4/, dtype: "float4e2m1" },
];
/** Attributes that name an element type: of Cast, of QuantizeLinear since opset 21, of EyeLike and the random ones. */
const typeAttributes: ReadonlySet<string> = new Set(["to", "output_dtype", "dtype"]);

function namedTypes({ model, scopes }: Subject): ReadonlySet<OnnxDType> {
	const nodes = scopes.flatMap((scope) => scope.nodes);
	const named = nodes.flatMap((node) =>
		node.attributes.filter(({ name }) => typeAttributes.has(name)).map(({ value }) => value),
	);
	return new Set<OnnxDType>([
		...tensorsOf(scopes).map((tensor) => tensor.dtype),
		...model.onnx.graph.inputs.map((input) => input.dtype),
		...named.map((code) => elementTypeOfCode(typeof code === "number" ? code : 0)),
		...ownMarks
			.filter(({ operators }) => nodes.some((node) => operators.test(node.op)))
			.map(({ dtype }) => dtype),
	]);
}

export function minBitsOf(precision: Precision | undefined): number {
	if (precision === undefined || precision === "fp32" || precision === "tf32") return 32;
	if (precision === "fp16" || precision === "bf16") return 16;
	return precision === "int4" || precision === "fp4" ? 4 : 8;
}

export const hardware: Rule = (subject) =>
	subject.tensorrt === null ? [] : [...tooOld(subject), ...weightsTooBig(subject)];

interface Format {
	name: string;
	precision: Precision;
	dtypes: readonly OnnxDType[];
	/** Compute capability from which the tensor cores have it; TensorRT refuses to build on older ones. */
	since: readonly [major: number, minor: number];
	on: string;
}

/** Support matrix of TensorRT; on others the build ends with "Networks with FP8 … require hardware with FP8 support". */
const formats: readonly Format[] = [
	{
		name: "FP8",
		precision: "fp8",
		dtypes: ["float8e4m3fn", "float8e5m2"],
		since: [8, 9],
		on: "Ada and Hopper",
	},
	{ name: "FP4", precision: "fp4", dtypes: ["float4e2m1"], since: [10, 0], on: "Blackwell" },
];

function tooOld(subject: Subject): Finding[] {
	const { computeCapability, precision } = subject.context;
	const [, major, minor] = /^(\d{1,2})\.(\d{1,2})$/.exec(computeCapability ?? "") ?? [];
	if (major === undefined || minor === undefined) return [];
	const has = ([from, to]: Format["since"]): boolean =>
		Number(major) > from || (Number(major) === from && Number(minor) >= to);
	const inFile = namedTypes(subject);
	return formats.flatMap((format) => {
		const isInFile = format.dtypes.some((dtype) => inFile.has(dtype));
		if (has(format.since) || (precision !== format.precision && !isInFile)) return [];
		const what =
			precision === format.precision
				? `The engine is configured as ${format.precision}`
				: `The file quantises to ${format.name}`;
		const message = `${what}, and this GPU (compute capability ${computeCapability}) has no ${format.name}: TensorRT builds it from ${format.since.join(".")} on.`;
		const fix = `Build it on a GPU that has ${format.name} (${format.on} or newer), or quantise to INT8 for this one.`;
		return [finding("precision-hardware", message, { fix })];
	});
}

function weightsTooBig(subject: Subject): Finding[] {
	const { gpuMemoryBytes, streamsWeights, precision } = subject.context;
	if (gpuMemoryBytes === undefined || streamsWeights === true) return [];
	const bits = minBitsOf(precision);
	const bytes = subject.scopes
		.flatMap((scope) => scope.initializers)
		.reduce((sum, weight) => sum + minBytes(weight, bits), 0);
	if (bytes <= gpuMemoryBytes) return [];
	const message = `The weights take at least ${formatBytes(bytes)}, more than this GPU has (${formatBytes(gpuMemoryBytes)}).`;
	return [finding("weights-too-big", message)];
}

/** Floats may become as small as the precision allows; what is smaller in the file stays so. */
function minBytes({ dtype, dims, sparse }: OnnxInitializer, least: number): number {
	const bits = elementBits(dtype);
	if (bits === null || sparse === true) return 0;
	const elements = dims.reduce((product, size) => product * size, 1);
	return Number.isFinite(elements) ? (elements * Math.min(bits, least)) / 8 : 0;
}

// Checks explicit quantisation: QuantizeLinear and DequantizeLinear with their scales and zero points.
export const quantisation: Rule = (subject) => {
	const { backend } = subject.context;
	const points: NodeFault[] = [];
	const counts = { QuantizeLinear: 0, DequantizeLinear: 0 };
	const found = everyNode(subject, (node, scope) => {
		const { domain, op, inputs } = node;
		if (domain !== "" || (op !== "QuantizeLinear" && op !== "DequantizeLinear")) return [];
		counts[op]++;
		points.push(...zeroPoint(subject, scope, node));
		const wrong = constantOf(subject, scope, inputs[1])?.values?.find((value) => !(value > 0));
		if (wrong === undefined) return [];
		const message = `${nodeIn(node, scope)} has a scale of ${wrong} (${quoteName(inputs[1] ?? "")}); scales must be positive.`;
		const severity = backend === "tensorrt" ? "error" : "warning";
		return [finding("scale-not-positive", message, { severity, node })];
	});
	if (counts.QuantizeLinear + counts.DequantizeLinear === 0) return [];
	const message = `The model is quantised explicitly: ${counts.QuantizeLinear} QuantizeLinear and ${counts.DequantizeLinear} DequantizeLinear nodes.`;
	return [finding("quantised", message), ...found, ...foldFaults(points)];
};

/** TensorRT quantises symmetrically: it refuses other zero points than 0, and UINT8 but for special hardware. */
function zeroPoint(subject: Subject, scope: Scope, node: OnnxNode): NodeFault[] {
	if (subject.context.backend !== "tensorrt") return [];
	const tensor = constantOf(subject, scope, node.inputs[2]);
	if (tensor?.values?.some((value) => value !== 0)) {
		const fault = "has a zero point other than 0; TensorRT supports only 0";
		return [{ node, scope, code: "zero-point-nonzero", fault }];
	}
	if (tensor?.dtype !== "uint8") return [];
	return [{ node, scope, code: "zero-point-unsigned", fault: "quantises to UINT8; TensorRT supports INT8" }];
}

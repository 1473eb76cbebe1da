// Checks the precision that the file gives, and what the GPU can build.
import type { Precision } from "../../../../generated/config.ts";
import { quoteName } from "../../text/escape.ts";
import { formatBytes } from "../../text/units.ts";
import {
	elementBits,
	elementTypeOfCode,
	type OnnxDType,
	type OnnxInitializer,
	type OnnxNode,
} from "../model.ts";
import { elementsOf } from "../static-shapes/operator.ts";
import { isAtLeast } from "../tensorrt/support.ts";
import { type Scope, tensorsOf } from "../walk.ts";
import {
	constantOf,
	everyNode,
	finding,
	foldFaults,
	type NodeFault,
	nodeFinding,
	type Rule,
	type Subject,
} from "./subject.ts";

interface Format {
	precision: Precision;
	/** One tensor of these types, or an operator `TRT_FP8…` of TensorRT's own, marks a file as this precision. */
	dtypes: readonly OnnxDType[];
	/** Compute capability from which the tensor cores have it; TensorRT refuses to build on older ones. */
	since?: readonly [major: number, minor: number, on: string];
}

/** Support matrix of TensorRT. */
const formats: readonly Format[] = [
	{ precision: "fp16", dtypes: ["float16"] },
	{ precision: "bf16", dtypes: ["bfloat16"] },
	{ precision: "fp8", dtypes: ["float8e4m3fn", "float8e5m2"], since: [8, 9, "Ada and Hopper"] },
	{ precision: "int4", dtypes: ["int4", "uint4"] },
	{ precision: "fp4", dtypes: ["float4e2m1"], since: [10, 0, "Blackwell"] },
];

export const precision: Rule = (subject) => {
	const { tensorrt, scopes, context } = subject;
	const { precision: wanted, isCalibrated } = context;
	if (tensorrt === null || wanted === undefined) return [];
	const nodes = scopes.flatMap((scope) => scope.nodes);
	const quantisers = nodes.filter(({ op }) => /^(TRT_\w+)?(Quantize|Dequantize)Linear$/.test(op)).length;
	const { name } = tensorrt;
	const isTyped = isAtLeast(tensorrt, 11, 0) === true;
	if (isCalibrated === true && (isTyped || quantisers > 0)) {
		const why = isTyped
			? `${name} has no calibration`
			: `${name} takes the ranges from the file's Q/DQ nodes`;
		const severity = isTyped ? "error" : "warning";
		return [finding("calibration-unusable", `${why}, so \`calibration\` has no use.`, { severity })];
	}
	const typed = isTyped ? byTypesAlone(wanted, { subject, quantisers, name }) : [];
	if (typed.length > 0 || wanted !== "int8" || quantisers > 0 || isCalibrated === true) return typed;
	const message = `The engine is configured as int8, and the file has no Q/DQ nodes: ${name} makes up the ranges of all tensors, so the speed is real but the outputs are meaningless.`;
	return [finding("precision-uncalibrated", message)];
};

function byTypesAlone(
	wanted: Precision,
	{ subject, quantisers, name }: { subject: Subject; quantisers: number; name: string },
) {
	const types = tensorsOf(subject.scopes).map(({ dtype }) => dtype);
	const halves = types.filter((dtype) => dtype === "float16" || dtype === "bfloat16").length;
	const format = formats.find((each) => each.precision === wanted);
	const isMarked = format === undefined || isInFile(format, subject);
	const start = `The engine is configured as ${wanted}`;
	if (wanted === "int8" ? quantisers === 0 : !isMarked) {
		const floats = types.filter((dtype) => dtype === "float").length;
		const message = `${start}, and ${name} has no precision flags: it builds in the types of the file, which has ${floats} float and ${halves} half-precision weights and ${quantisers} Q/DQ nodes.`;
		const isHalf = wanted === "fp16" || wanted === "bf16";
		const tool = isHalf ? "AutoCast (python -m modelopt.onnx.autocast)" : "quantisation";
		const place = subject.context.onnxKey ?? "onnx";
		const fix = `Convert the model with ModelOpt's ${tool} and name the file under \`${place}\`, or ask for fp32. For an upgrade, name both: \`onnx: { "<11": a.onnx, "11": b.onnx }\`.`;
		return [finding("precision-typed", message, { fix })];
	}
	if ((wanted !== "fp32" && wanted !== "tf32") || halves === 0) return [];
	const message = `${start}, but ${name} builds in the types of the file, of which ${halves} weights are half-precision.`;
	const fix = "State the precision that the file has, so that its tolerances hold; or export in float.";
	return [finding("precision-typed", message, { severity: "warning", fix })];
}

const typeAttributes: ReadonlySet<string> = new Set(["to", "output_dtype", "dtype"]);

function isInFile({ dtypes, precision }: Format, { model, scopes }: Subject) {
	const nodes = scopes.flatMap((scope) => scope.nodes);
	const named = nodes.flatMap(({ attributes }) =>
		attributes.flatMap(({ name, value }) =>
			typeAttributes.has(name) && typeof value === "number" ? [{ dtype: elementTypeOfCode(value) }] : [],
		),
	);
	const typed = [...tensorsOf(scopes), ...model.onnx.graph.inputs, ...named];
	return (
		typed.some(({ dtype }) => dtypes.includes(dtype)) ||
		nodes.some(({ op }) => op.startsWith(`TRT_${precision.toUpperCase()}`))
	);
}

export function minBitsOf(precision: Precision | undefined): number {
	if (precision === undefined || precision === "fp32" || precision === "tf32") return 32;
	if (precision === "fp16" || precision === "bf16") return 16;
	return precision === "int4" || precision === "fp4" ? 4 : 8;
}

export const hardware: Rule = (subject) =>
	subject.tensorrt === null ? [] : [...tooOld(subject), ...weightsTooBig(subject)];

function tooOld(subject: Subject) {
	const { computeCapability, precision } = subject.context;
	const [, major, minor] = (/^(\d{1,2})\.(\d{1,2})$/.exec(computeCapability ?? "") ?? []).map(Number);
	if (major === undefined || minor === undefined) return [];
	return formats.flatMap((format) => {
		if (format.since === undefined) return [];
		const [from, to, on] = format.since;
		const name = format.precision.toUpperCase();
		const isWanted = precision === format.precision;
		if (major > from || (major === from && minor >= to) || !(isWanted || isInFile(format, subject)))
			return [];
		const what = isWanted ? `The engine is configured as ${precision}` : `The file quantises to ${name}`;
		const message = `${what}, and this GPU (compute capability ${computeCapability}) has no ${name}: TensorRT builds it from ${from}.${to} on.`;
		const fix = `Build it on a GPU that has ${name} (${on} or newer), or quantise to INT8 for this one.`;
		return [finding("precision-hardware", message, { fix })];
	});
}

function weightsTooBig(subject: Subject) {
	const { gpuMemoryBytes, streamsWeights, precision } = subject.context;
	if (gpuMemoryBytes === undefined || streamsWeights === true) return [];
	const bytes = subject.scopes
		.flatMap((scope) => scope.initializers)
		.reduce((sum, weight) => sum + minBytes(weight, minBitsOf(precision)), 0);
	if (bytes <= gpuMemoryBytes) return [];
	const message = `The weights take at least ${formatBytes(bytes)}, more than this GPU has (${formatBytes(gpuMemoryBytes)}).`;
	return [finding("weights-too-big", message)];
}

function minBytes({ dtype, dims, sparse }: OnnxInitializer, least: number) {
	const bits = elementBits(dtype);
	if (bits === null || sparse === true) return 0;
	const elements = elementsOf(dims) ?? 0;
	return Number.isFinite(elements) ? (elements * Math.min(bits, least)) / 8 : 0;
}

export const quantisation: Rule = (subject) => {
	const severity = subject.tensorrt === null ? "warning" : "error";
	const points: NodeFault[] = [];
	const found = everyNode(subject, (node, scope) => {
		const { domain, op, inputs } = node;
		if (domain !== "" || (op !== "QuantizeLinear" && op !== "DequantizeLinear")) return [];
		points.push(...zeroPoint(subject, scope, node));
		const wrong = constantOf(subject, scope, inputs[1])?.values?.find((value) => !(value > 0));
		if (wrong === undefined) return [];
		const what = `has a scale of ${wrong} (${quoteName(inputs[1] ?? "")}); scales must be positive`;
		return [nodeFinding("scale-not-positive", { node, scope }, { what, severity })];
	});
	return [...found, ...foldFaults(points)];
};

const products = /^(Conv\w*|MatMul|Gemm)$/;
const fixOfSum = "Put Q and DQ behind the Add too, on the tensor that the layer reads.";

/**
 * TensorRT fuses a residual Add into an INT8 layer only if the other branch is dequantised (guide: Q/DQ placement), and a layer
 * runs in INT8 only if its data is: Q/DQ before the Add alone leave what reads the sum in float.
 */
export const placement: Rule = (subject) => {
	const faultsIn = (scope: Scope): NodeFault[] => {
		const makers = new Map(scope.nodes.flatMap((node) => node.outputs.map((name) => [name, node])));
		const madeBy = (name: string | undefined) => makers.get(name ?? "");
		const isDequantised = (name: string | undefined) => madeBy(name)?.op === "DequantizeLinear";
		const isPlain = (name: string) => !isDequantised(name) && constantOf(subject, scope, name) === null;
		const isInt8 = (name: string) => {
			const { op = "", inputs = [] } = madeBy(name) ?? {};
			return products.test(op) && isDequantised(inputs[0]);
		};
		const quantised = scope.nodes.flatMap(({ op, inputs: [name] }) => {
			const maker = madeBy(name);
			return op !== "QuantizeLinear" ? [] : [name, maker?.op === "Relu" ? maker.inputs[0] : name];
		});
		const read = new Set(quantised);
		const isQuantised = (name: string) =>
			isDequantised(name) && madeBy(madeBy(name)?.inputs[0])?.op === "QuantizeLinear";
		const readsFloatSum = ({ op, inputs: [data, weight] }: OnnxNode) => {
			const source = madeBy(data)?.op === "Relu" ? madeBy(madeBy(data)?.inputs[0]) : madeBy(data);
			const isProduct = products.test(op) && isDequantised(weight);
			return isProduct && source?.op === "Add" && source.inputs.some(isQuantised);
		};
		return scope.nodes.flatMap((node) => {
			const { op, inputs, outputs } = node;
			if (readsFloatSum(node)) {
				const fault = "reads the sum of an Add with Q/DQ before it and none behind, so that it runs in float";
				return [{ node, scope, code: "qdq-placement", fault, fix: fixOfSum }];
			}
			if (op !== "Add" || !read.has(outputs[0]) || !inputs.some(isInt8) || !inputs.every(isPlain)) return [];
			const fault = "adds a branch that is not quantised to an INT8 layer's, so that they do not fuse";
			return [{ node, scope, code: "qdq-placement", fault }];
		});
	};
	return subject.tensorrt === null ? [] : foldFaults(subject.scopes.flatMap(faultsIn));
};

/** TensorRT quantises symmetrically: it refuses zero points other than 0, and UINT8 except on special hardware. */
function zeroPoint(subject: Subject, scope: Scope, node: OnnxNode): NodeFault[] {
	if (subject.tensorrt === null) return [];
	const tensor = constantOf(subject, scope, node.inputs[2]);
	if (tensor?.values?.some((value) => value !== 0)) {
		const fault = "has a zero point other than 0; TensorRT supports only 0";
		return [{ node, scope, code: "zero-point-nonzero", fault }];
	}
	if (tensor?.dtype !== "uint8") return [];
	return [{ node, scope, code: "zero-point-unsigned", fault: "quantises to UINT8; TensorRT supports INT8" }];
}

// Checks inputs, outputs and weights: types, sizes, external data, and what can be fed and compared.
import type { Finding } from "../../../../generated/result.ts";
import { isSmall } from "../../../golden/core/tensor/small-numbers.ts";
import { groupBy } from "../../group.ts";
import { formatDims, quoteName } from "../../text/escape.ts";
import { counted } from "../../text/labels.ts";
import { formatBytes } from "../../text/units.ts";
import { type AxisLabel, labelAxes, shapeGivenFor } from "../input-shapes/open-axes.ts";
import {
	type ExternalFile,
	elementBits,
	feeds,
	isTensor,
	notTensorFix,
	notTensorText,
	type OnnxDType,
	type OnnxInitializer,
	type OnnxValue,
	tensorBytes,
	toDType,
} from "../model.ts";
import { elementsOf } from "../static-shapes/operator.ts";
import { hasType, isAtLeast, type TensorRt } from "../tensorrt/support.ts";
import { nodeLabel } from "../walk.ts";
import { minBitsOf } from "./precision.ts";
import {
	type FindingCode,
	finding,
	inScope,
	type PreflightContext,
	type Rule,
	type Subject,
} from "./subject.ts";

export const inputsAndOutputs: Rule = (subject) => {
	const { graph } = subject.model.onnx;
	return [
		...feeds(graph).flatMap((value) => border("Input", value, subject)),
		...graph.outputs.flatMap((value) => border("Output", value, subject)),
	];
};

/** `Dims::MAX_DIMS` in NvInferRuntimeBase.h of 8.6 and 10.6. */
const maxRank = 8;

function border(role: "Input" | "Output", value: OnnxValue, { model, tensorrt }: Subject) {
	const name = `${role} ${quoteName(value.name)}`;
	if (!isTensor(value)) {
		const fix = notTensorFix(model.onnx.graph);
		return [finding("io-not-tensor", `${name} is ${notTensorText(value)}.`, { fix })];
	}
	if (tensorrt !== null && (value.dims?.length ?? 0) > maxRank)
		return [
			finding(
				"io-rank",
				`${name} has ${value.dims?.length} dimensions; TensorRT's tensors have at most ${maxRank}.`,
			),
		];
	if (value.kind === "unknown" || value.dtype === "undefined")
		return role === "Output" ? [] : [finding("io-dtype", `${name} has no element type.`)];
	if (isCarried(value.dtype, tensorrt)) return [];
	const where = tensorrt?.name ?? "ONNX Runtime";
	const message = `${name} is ${value.dtype}, which can be neither fed nor compared on ${where}.`;
	return [finding("io-dtype", message, value.dtype === "string" ? { fix: noTextFix } : {})];
}

const noTextFix =
	"Export the part of the model between the texts, which takes and gives numbers, and map texts to numbers outside.";

/** ONNX Runtime 1.30 in Node refuses bfloat16 and smaller floats at the border when it loads the model (tried). */
function isCarried(dtype: OnnxDType, tensorrt: TensorRt | null) {
	if (tensorrt !== null) return hasType(tensorrt.at, dtype, "border");
	const carried = toDType(dtype);
	return carried !== null && carried !== "bfloat16" && !isSmall(carried);
}

export const dimsUnbound: Rule = ({ model, context: { dims, shapes = {} }, tensorrt }) => {
	if (tensorrt === null || dims === undefined) return [];
	const inputs = feeds(model.onnx.graph);
	const isOpen = (label: AxisLabel) =>
		typeof label !== "number" && !(label.isNamed && Object.hasOwn(dims, label.name));
	return labelAxes(inputs).flatMap((labels, index) => {
		const input = inputs[index];
		if (input?.kind !== "tensor" || shapeGivenFor(input.name, shapes) !== undefined) return [];
		const open = labels?.filter(isOpen);
		return open?.length === 0 ? [] : [unbound(input, open ?? [])];
	});
};

function unbound(input: OnnxValue, open: readonly AxisLabel[]) {
	const shape = input.dims === null ? "no shape at all" : `the shape ${formatDims(input.dims)}`;
	const names = open.flatMap((label) =>
		typeof label !== "number" && label.isNamed ? [quoteName(label.name)] : [],
	);
	const lack = names.length === 0 ? "none" : `no size for ${names.join(", ")}`;
	const message = `Input ${quoteName(input.name)} has ${shape}, and the configuration gives ${lack}: TensorRT would build for size 1.`;
	const fix =
		names.length > 0 && names.length === open.length
			? "Give min, opt and max in trtgate.yml under `dims`."
			: `Give its shape in trtgate.yml: \`inputs: { ${quoteName(input.name, "")}: { shape: […] } }\`.`;
	return finding("dims-unbound", message, { fix });
}

/** TensorRT 10.6 refuses to build otherwise: "Input dimensions with this name have different constant values or have contradictory … constraints". */
export const dimsConflict: Rule = ({ model, context: { dims = {}, shapes = {} }, tensorrt }) => {
	if (tensorrt === null) return [];
	const inputs = feeds(model.onnx.graph);
	const labels = labelAxes(inputs, shapes);
	const uses = inputs.flatMap(({ name: input, dims: axes }, index) =>
		(axes ?? []).flatMap((name, axis) => {
			const size = typeof name === "string" && name !== "" ? sizeOf(labels[index]?.[axis], dims) : undefined;
			return size === undefined
				? []
				: [{ name: String(name), size, where: `axis ${axis} of ${quoteName(input)}` }];
		}),
	);
	return [...groupBy(uses, ({ name }) => name)].flatMap(([name, [first, ...rest]]) => {
		const other = rest.find(({ size }) => size !== first.size);
		if (other === undefined) return [];
		const message = `${quoteName(name)} is the name of ${first.where} (${first.size}) and ${other.where} (${other.size}); in TensorRT, axes with the same name must have the same size.`;
		return [finding("dims-conflict", message)];
	});
};

function sizeOf(label: AxisLabel | undefined, dims: NonNullable<PreflightContext["dims"]>) {
	if (label === undefined || typeof label === "number") return label?.toString();
	const range = Object.hasOwn(dims, label.name) ? dims[label.name] : undefined;
	return range && (range.min === range.max ? `${range.min}` : `${range.min} to ${range.max}`);
}

const maxProtobufBytes = 2 ** 31 - 1;

export const weights: Rule = ({ model, scopes, read }) => {
	const { bytes } = model.onnx;
	const found: Finding[] = [];
	if (bytes > maxProtobufBytes) {
		const message = `The file has ${formatBytes(bytes)}; protobuf, and with it TensorRT and ONNX Runtime, reads at most 2 GiB in one file.`;
		found.push(finding("protobuf-too-big", message));
	}
	for (const scope of scopes) {
		for (const weight of scope.initializers) {
			const expected = expectedBytes(weight);
			if (expected === null || expected === weight.bytes) continue;
			const shape = `${weight.dtype} ${formatDims(weight.dims)}`;
			const message = `Initialiser ${quoteName(weight.name)}${inScope(scope)} holds ${weight.bytes} bytes; its type and shape, ${shape}, take ${expected}.`;
			const severity = read.get(scope)?.has(weight.name) === true ? "error" : "warning";
			found.push(finding("weights-size", message, { severity }));
		}
	}
	return found;
};

function expectedBytes({ dtype, dims, sparse, storage }: OnnxInitializer) {
	if (sparse || (storage === "typed" && dtype !== "float" && dtype !== "double")) return null;
	return tensorBytes(dtype, elementsOf(dims) ?? 0);
}

const judgements: Readonly<
	Record<NonNullable<ExternalFile["problem"]>, readonly [FindingCode, (neededBytes: number) => string]>
> = {
	missing: ["external-data-missing", (bytes) => `is missing (the model needs ${formatBytes(bytes)} of it)`],
	short: ["external-data-short", (bytes) => `is too short: the model's tensors reach to byte ${bytes}`],
	outside: ["external-data-outside", () => "is outside the model's folder, which ONNX forbids"],
	absolute: ["external-data-outside", () => "is an absolute path, which ONNX forbids"],
	"lfs-pointer": ["external-data-lfs-pointer", () => "is a Git LFS pointer, not the weights"],
};

export const externalData: Rule = ({ model }) =>
	model.external.flatMap((file) => {
		if (file.problem === null) return [];
		const [code, what] = judgements[file.problem];
		return [finding(code, `External data ${quoteName(file.location)} ${what(file.neededBytes)}.`)];
	});

export const elementTypes: Rule = ({ model, scopes, tensorrt }) => {
	if (tensorrt === null) return [];
	const { graph } = model.onnx;
	const found: Finding[] = [];
	const border = [...feeds(graph), ...graph.outputs].find((value) => value.dtype === "double");
	if (border !== undefined) {
		const message = `${quoteName(border.name)} is double at the border of the graph: TensorRT makes it float, so that it is fed and compared as another type.`;
		found.push(finding("dtype-double", message));
	}
	// UINT8 is only for inputs and outputs of the graph, and for zero points.
	const quantising = scopes.flatMap(({ nodes }) => nodes.filter(({ op }) => /quantize/i.test(op)));
	const zeroPoints = new Set(quantising.flatMap(({ inputs }) => inputs));
	const weights = scopes.flatMap((scope) => scope.initializers);
	const wrong = weights.filter(
		({ dtype, name }) => !hasType(tensorrt.at, dtype, "inside") && !zeroPoints.has(name),
	);
	for (const [dtype, own] of groupBy(wrong, ({ dtype: type }) => type)) {
		const size = formatBytes(own.reduce((sum, { bytes }) => sum + bytes, 0));
		const message = `${counted(own.length, "initialiser")} (${size}) of type ${dtype}, which ${tensorrt.name} does not have for weights.`;
		found.push(finding("dtype-unsupported", message));
	}
	return found;
};

/** "The volume must be less than 2^31 elements": NvInfer.h up to TensorRT 10.10; later ones do not say so. */
const maxElements = 2 ** 31 - 1;
/** The largest memory of any GPU: NVIDIA B300, 288 GB. */
const largestGpuBytes = 288e9;

export const staticShapes: Rule = (subject) => [
	...subject.static.faults.map(({ node, what }) =>
		finding("shape-mismatch", `${nodeLabel(node)} ${what}.`, { node }),
	),
	...tooBig(subject),
];

function tooBig(subject: Subject) {
	const { graph } = subject.model.onnx;
	const weights = new Set(graph.initializers.map((weight) => weight.name));
	const ranges = new Map(Object.entries(subject.context.dims ?? {}));
	for (const [name, symbolic] of subject.static.shapes) {
		const dims = symbolic.map((dim) => (typeof dim === "string" ? ranges.get(dim)?.max : dim) ?? dim);
		const elements = elementsOf(dims);
		if (elements === null || weights.has(name)) continue;
		const excess = excessOf(elements, subject, name);
		if (excess === null) continue;
		const node = graph.nodes.find((each) => each.outputs.includes(name));
		const by = node === undefined ? "" : ` of ${nodeLabel(node)}`;
		const message = `Tensor ${quoteName(name)}${by} has the shape ${formatDims(dims)}: ${excess.says}.`;
		return [finding("tensor-too-big", message, { severity: excess.severity, node })];
	}
	return [];
}

function excessOf(
	elements: number,
	{ tensorrt, context, model }: Subject,
	name: string,
): { severity: Finding["severity"]; says: string } | null {
	const input = model.onnx.graph.inputs.find((value) => value.name === name);
	const bits = (input && elementBits(input.dtype)) ?? minBitsOf(context.precision);
	const bytes = (elements * bits) / 8;
	const { gpuMemoryBytes } = context;
	if (tensorrt !== null && bytes > (gpuMemoryBytes ?? largestGpuBytes)) {
		const gpu =
			gpuMemoryBytes === undefined ? "any GPU has" : `this GPU has (${formatBytes(gpuMemoryBytes)})`;
		return { severity: "error", says: `at least ${formatBytes(bytes)}, more than ${gpu}` };
	}
	if (elements <= maxElements || (tensorrt !== null && isAtLeast(tensorrt, 10, 11) === true)) return null;
	const says = `${elements} elements, ${formatBytes(4 * elements)} as float, more than a tensor may have (2^31 - 1)`;
	return { severity: "warning", says };
}

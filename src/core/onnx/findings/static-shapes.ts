// Checks the shapes that are certain from the file: ones that contradict each other, and ones that no device holds.
import type { Finding } from "../../../../generated/result.ts";
import { formatBytes } from "../../text/units.ts";
import { elementBits, tensorBytes } from "../element-type.ts";
import type { OnnxDim } from "../model.ts";
import { formatDims, quoteName } from "../quote.ts";
import { elementsOf } from "../static-shapes/operator.ts";
import { isAtLeast } from "../tensorrt/support.ts";
import { nodeLabel } from "../walk.ts";
import { minBitsOf } from "./precision.ts";
import { finding, type PreflightContext, type Rule, type Subject } from "./subject.ts";

/** "The volume must be less than 2^31 elements": NvInfer.h up to TensorRT 10.10; later ones do not say so. */
const maxElements = 2 ** 31 - 1;
/** The largest memory of any GPU: NVIDIA B300, 288 GB. */
const largestGpuBytes = 288e9;

export const staticShapes: Rule = (subject) => [...mismatches(subject), ...tooBig(subject)];

function mismatches(subject: Subject): Finding[] {
	return subject.static.faults.map(({ node, what }) =>
		finding("shape-mismatch", `${nodeLabel(node)} ${what}.`, { node }),
	);
}

function tooBig(subject: Subject): Finding[] {
	const { graph } = subject.model.onnx;
	const weights = new Set(graph.initializers.map((weight) => weight.name));
	for (const [name, symbolic] of subject.static.shapes) {
		const dims = atMost(symbolic, subject.context);
		const elements = elementsOf(dims);
		if (elements === null || weights.has(name)) continue;
		const excess = excessOf(elements, subject, name);
		if (excess === null) continue;
		const node = graph.nodes.find((each) => each.outputs.includes(name));
		const by = node === undefined ? "" : ` of ${nodeLabel(node)}`;
		const message = `Tensor ${quoteName(name)}${by} has the shape ${formatDims(dims)}: ${excess.says}.`;
		return [finding("tensor-too-big", message, { severity: excess.severity, ...(node && { node }) })];
	}
	return [];
}

function atMost(dims: readonly OnnxDim[], { dims: ranges }: PreflightContext): readonly OnnxDim[] {
	if (ranges === undefined) return dims;
	return dims.map((dim) =>
		typeof dim === "string" && Object.hasOwn(ranges, dim) ? (ranges[dim]?.max ?? dim) : dim,
	);
}

interface Excess {
	severity: Finding["severity"];
	says: string;
}

function excessOf(elements: number, subject: Subject, name: string): Excess | null {
	const { tensorrt, context } = subject;
	const bytes = minBytes(elements, subject, name);
	const limitBytes = context.gpuMemoryBytes ?? largestGpuBytes;
	if (tensorrt !== null && bytes > limitBytes) {
		const gpu =
			context.gpuMemoryBytes === undefined
				? "than any GPU has"
				: `than this GPU has (${formatBytes(limitBytes)})`;
		return { severity: "error", says: `at least ${formatBytes(bytes)}, more ${gpu}` };
	}
	if (elements <= maxElements || (tensorrt !== null && isAtLeast(tensorrt, 10, 11) === true)) return null;
	const says = `${elements} elements, ${formatBytes(tensorBytes("float", elements) ?? 0)} as float, more than a tensor may have (2^31 - 1)`;
	return { severity: "warning", says };
}

function minBytes(elements: number, { model, context }: Subject, name: string): number {
	const input = model.onnx.graph.inputs.find((value) => value.name === name);
	const bits = input === undefined ? null : elementBits(input.dtype);
	return (elements * (bits ?? minBitsOf(context.precision))) / 8;
}

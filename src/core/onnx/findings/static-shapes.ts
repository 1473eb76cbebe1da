// Checks shapes that are certain from the file, for contradictions and for sizes that no device can hold.
import type { Finding } from "../../../../generated/result.ts";
import { formatBytes } from "../../text/units.ts";
import { elementBits } from "../element-type.ts";
import { formatDims, quoteName } from "../quote.ts";
import { elementsOf } from "../static-shapes/operator.ts";
import { isAtLeast } from "../tensorrt/support.ts";
import { nodeLabel } from "../walk.ts";
import { minBitsOf } from "./precision.ts";
import { finding, type Rule, type Subject } from "./subject.ts";

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

/** Reports only the first tensor that is too big, because later ones are as well. */
function tooBig(subject: Subject): Finding[] {
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

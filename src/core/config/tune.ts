// The variants that `trtgate tune` tries, and the configs of its runs.
import type { Precision } from "../../../generated/config.ts";
import type { PreflightContext } from "../onnx/findings/subject.ts";
import type { InspectedModel } from "../onnx/model.ts";
import { preflight } from "../onnx/preflight.ts";
import type { WeightPattern } from "../onnx/sparsity.ts";
import { flowYaml, yamlText } from "../text/escape.ts";
import { type FoundDims, shortRange } from "./dims.ts";

export interface Variant {
	name: string;
	precision: Precision;
	onnx?: string;
	level?: number;
	flags?: readonly string[];
}

export interface Tuned {
	name: string;
	onnx: string;
	found: FoundDims;
	golden?: string | undefined;
}

/** Strongly typed TensorRT takes the precision of the file, and so do Q/DQ nodes. The first is the reference. */
export function precisionVariants(
	model: InspectedModel,
	machine: Pick<PreflightContext, "tensorrt" | "computeCapability">,
	quantised?: { onnx: string; model: InspectedModel },
): Variant[] {
	const own = quantisationOf(model);
	const plain: readonly Precision[] = own === null ? ["fp16", "bf16", "tf32", "fp32"] : [own];
	const allowed = plain.filter((precision) => {
		const found = preflight(model, { backend: "tensorrt", ...machine, precision });
		return !found.some(({ code }) => code === "precision-typed" || code === "precision-hardware");
	});
	const variants = allowed.map((precision) => ({ name: precision, precision }));
	if (quantised === undefined) return variants;
	const precision = quantisationOf(quantised.model) ?? "int8";
	return [...variants, { name: `${precision}-qdq`, precision, onnx: quantised.onnx }];
}

function quantisationOf({ onnx: { graph } }: InspectedModel) {
	const operators = graph.nodes
		.map(({ op }) => op)
		.filter((op) => /QuantizeLinear$|DequantizeLinear$/.test(op));
	if (operators.length === 0) return null;
	const isFloat8 = graph.initializers.some(({ dtype }) => dtype.startsWith("float8"));
	return isFloat8 || operators.some((op) => op.startsWith("TRT_FP8")) ? "fp8" : "int8";
}

/** Weights in the 2:4 pattern let TensorRT pick sparse kernels, in types that have them; null if there are none. */
export function sparseVariant(
	variants: readonly Variant[],
	patterns: readonly WeightPattern[],
): Variant | null {
	const dense = variants.find(({ precision }) => precision !== "fp32" && precision !== "tf32");
	const isSparse = patterns.some(({ broken }) => broken === 0);
	return dense && isSparse ? { ...dense, name: `${dense.name}-sparse`, flags: ["--sparsity=enable"] } : null;
}

export function modelLines(
	tuned: Tuned,
	variants: readonly Variant[],
	workloads?: readonly object[],
): string {
	const { name, onnx, found, golden } = tuned;
	const ranges = found.dims.map(({ name, range }) => [name, shortRange(range)]);
	const shapes = found.shapes.map(({ input, shape }) => [input, { shape }]);
	const engines = variants.map(({ name, level, ...engine }, index) => {
		const against = index === 0 ? undefined : variants[0]?.name;
		return `      ${yamlText(name)}: ${flowYaml({ ...engine, "optimization-level": level, against })}`;
	});
	const keys = {
		onnx,
		dims: ranges.length === 0 ? undefined : Object.fromEntries(ranges),
		inputs: shapes.length === 0 ? undefined : Object.fromEntries(shapes),
		golden,
		workloads,
	};
	const lines = Object.entries(keys).flatMap(([key, value]) =>
		value === undefined ? [] : [`    ${key}: ${flowYaml(value)}`],
	);
	return ["models:", `  ${yamlText(name)}:`, ...lines, "    engines:", ...engines, ""].join("\n");
}

export function tuneConfig(
	tuned: Tuned,
	variants: readonly Variant[],
	load: { streams?: readonly number[]; cudaGraph?: boolean } = {},
): string {
	const { streams, cudaGraph = true } = load;
	const workloads = streams?.map((count) => ({
		name: `${count === 1 ? "1 stream" : `${count} streams`}, ${cudaGraph ? "" : "no "}CUDA graph`,
		streams: count,
	}));
	const measure = flowYaml({ pairs: [5, 8], "cuda-graph": cudaGraph });
	return `version: 1\nbackend: tensorrt\n${modelLines(tuned, variants, workloads)}measure: ${measure}\ngates: { payoff: { warn: off } }\n`;
}

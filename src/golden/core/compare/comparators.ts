// Resolves the comparators of an output: every default filled in for its dtype, precision and scale.

import type {
	ComparatorSpec,
	GoldenCase,
	GoldenOutput,
	OutputSlice,
	Precision,
} from "../../../../generated/golden.ts";
import { defaultMetricOptions, type MetricOptions } from "../metrics/element-errors.ts";
import { elementCount, isFloating, own, type Tensor } from "../tensor/tensor.ts";
import { forEachChunk, offsetReader, originOf } from "../tensor/values.ts";
import { coveredParts } from "./checks.ts";
import { type Closeness, rootMeanSquare } from "./difference.ts";
import { type MetricKind, metrics } from "./registry.ts";
import { defaultTolerances, toleranceAt } from "./tolerances.ts";

export interface Comparator extends MetricOptions {
	kind: MetricKind;
	allowed: number;
	scope: "per-sample" | "whole" | "set";
	severity: "fail" | "warn";
	slice: OutputSlice | undefined;
	floor: number;
}

export interface ResolveContext {
	expected: Tensor;
	precision: Precision;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	labels?: readonly number[];
}

/** Of the first case whose output is not empty, which stands for the others. */
export function sampleLabels(cases: readonly GoldenCase[], output: string): readonly number[] | undefined {
	const first = cases.find(({ outputs }) => elementCount(own(outputs, output)?.shape ?? [0]) > 0);
	return own(first?.labels, output);
}

export type MetricSpec = ComparatorSpec & { kind: MetricKind };

export function isMetricSpec(spec: ComparatorSpec): spec is MetricSpec {
	return spec.kind !== "custom";
}

export function resolveComparators(output: GoldenOutput | undefined, context: ResolveContext): Comparator[] {
	const plain: ComparatorSpec = isFloating(context.expected.dtype)
		? { kind: "relative-l2" }
		: { kind: "allclose", rtol: 0, atol: 0, tolerance: 0 };
	return (output?.comparators ?? [plain])
		.filter(isMetricSpec)
		.map((spec) => resolveComparator(spec, output ?? {}, context));
}

export function resolveComparator(
	spec: MetricSpec,
	output: GoldenOutput,
	context: ResolveContext,
): Comparator {
	const { precision, expected } = context;
	const part = () =>
		coveredParts({ expected, got: expected }, { slice: spec.slice })[0]?.expected ?? expected;
	const rms = () => rootMeanSquare(part());
	const metric = metrics[spec.kind];
	const defaults = defaultTolerances[precision];
	const options: MetricOptions = {
		...defaultMetricOptions,
		...closenessOf(spec, context, rms),
		k: metric.k ?? 1,
		axis: metric.axis?.default ?? -1,
		input: output.semantic === "probabilities" ? "probabilities" : "logits",
		zeroProbability: defaults.minProbability,
		dataRange: rangeOf(spec, expected, part),
		labels: context.labels ?? null,
	};
	for (const key of ["axis", ...metric.keys] as const)
		if (spec[key] !== undefined) Object.assign(options, { [key]: spec[key] });
	const configured = spec.kind === "relative-l2" ? context.relativeL2[precision] : undefined;
	const perSample = typeof output.batchAxis === "number" && metric.whole === undefined;
	return {
		...options,
		kind: spec.kind,
		allowed:
			toleranceAt(spec.tolerance, precision) ??
			configured ??
			metric.defaultLimit({ defaults, dtype: expected.dtype, part, rms, options }),
		scope: spec.scope ?? (perSample ? "per-sample" : "whole"),
		severity: spec.severity ?? "fail",
		slice: spec.slice,
		floor: spec.floor ?? 0,
	};
}

function rangeOf({ kind, dataRange }: MetricSpec, expected: Tensor, part: () => Tensor) {
	if (dataRange !== undefined || !metrics[kind].keys.includes("dataRange")) return dataRange ?? 1;
	if (expected.dtype === "uint8") return 255;
	const tensor = part();
	const read = offsetReader(tensor, originOf(tensor));
	let least = Infinity;
	let most = -Infinity;
	forEachChunk(elementCount(tensor.shape), (start, count) => {
		for (const value of read(start, count)) {
			if (!Number.isFinite(value)) continue;
			if (value < least) least = value;
			if (value > most) most = value;
		}
	});
	return most >= least ? Math.min(most - least, Number.MAX_VALUE) : 0;
}

/** As in numpy, one that is not given is 0 if the other is. */
function closenessOf(
	{ kind, rtol, atol }: MetricSpec,
	{ expected, precision }: ResolveContext,
	rms: () => number,
): Closeness {
	if (kind !== "allclose" || rtol !== undefined || atol !== undefined || !isFloating(expected.dtype))
		return { rtol: rtol ?? 0, atol: atol ?? 0 };
	const defaults = defaultTolerances[precision];
	return { rtol: defaults.rtol, atol: defaults.atolPerRms * rms() };
}

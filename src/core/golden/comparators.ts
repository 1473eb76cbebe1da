// Resolves the comparators of an output: every default filled in for its dtype, precision and scale.
import type { ComparatorKind, ComparatorSpec, GoldenOutput, Precision, Tolerance } from "../schema/golden.ts";
import { rootMeanSquare } from "./difference.ts";
import type { Question } from "./metrics/measured.ts";
import { metrics } from "./registry.ts";
import { isFloating, type Tensor } from "./tensor.ts";
import { type DefaultTolerances, defaultTolerances } from "./tolerances.ts";

export interface Comparator extends Question {
	kind: ComparatorKind;
	allowed: number;
	scope: "per-sample" | "whole";
	severity: "fail" | "warn";
}

export interface Circumstances {
	expected: Tensor;
	precision: Precision;
	/** The config's limits of relative-l2, for outputs whose golden names none. */
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

/** The comparators of one output. Without any in the golden: relative-l2 for floats, equality for integers and bools. */
export function resolveComparators(output: GoldenOutput | undefined, circumstances: Circumstances): Comparator[] {
	const plain: ComparatorSpec = isFloating(circumstances.expected.dtype)
		? { kind: "relative-l2" }
		: { kind: "allclose", rtol: 0, atol: 0, tolerance: 0 };
	const rms = onceOnly(() => rootMeanSquare(circumstances.expected));
	return (output?.comparators ?? [plain]).map((spec) => resolve(spec, output ?? {}, { ...circumstances, rms }));
}

interface Context extends Circumstances {
	rms: () => number;
}

function resolve(spec: ComparatorSpec, output: GoldenOutput, context: Context): Comparator {
	const sliced = typeof output.batchAxis === "number";
	return {
		kind: spec.kind,
		allowed: limitOf(spec, context),
		...closenessOf(spec, context),
		k: spec.k ?? 1,
		axis: spec.axis ?? -1,
		input: spec.input ?? (output.semantic === "probabilities" ? "probabilities" : "logits"),
		zeroProbability: defaultsFor(context.precision).leastProbability,
		// Of top-k because its value is a share of rows already.
		scope: spec.scope ?? (sliced && spec.kind !== "top-k" ? "per-sample" : "whole"),
		severity: spec.severity ?? "fail",
	};
}

function limitOf(spec: ComparatorSpec, context: Context): number {
	const { precision } = context;
	const own = toleranceAt(spec.tolerance, precision);
	if (own !== undefined) return own;
	const configured = spec.kind === "relative-l2" ? context.relativeL2[precision] : undefined;
	if (configured !== undefined) return configured;
	// Integers of an output that is no measurement: none may differ.
	if (spec.kind === "allclose" && !isFloating(context.expected.dtype)) return 0;
	return metrics[spec.kind].defaultLimit(defaultsFor(precision), context.rms);
}

function toleranceAt(tolerance: Tolerance | undefined, precision: Precision): number | undefined {
	if (typeof tolerance === "number" || tolerance === undefined) return tolerance;
	return Object.hasOwn(tolerance, precision) ? tolerance[precision] : undefined;
}

/** One of rtol and atol given alone leaves the other 0, as numpy's do when set so; neither: by precision, and exact for integers. */
function closenessOf(spec: ComparatorSpec, context: Context): { rtol: number; atol: number } {
	if (spec.kind !== "allclose") return { rtol: 0, atol: 0 };
	const asked = spec.rtol !== undefined || spec.atol !== undefined;
	if (asked || !isFloating(context.expected.dtype)) return { rtol: spec.rtol ?? 0, atol: spec.atol ?? 0 };
	const defaults = defaultsFor(context.precision);
	return { rtol: defaults.rtol, atol: defaults.atolPerRms * context.rms() };
}

function defaultsFor(precision: Precision): DefaultTolerances {
	return defaultTolerances[precision];
}

function onceOnly(compute: () => number): () => number {
	let known: number | undefined;
	return () => {
		known ??= compute();
		return known;
	};
}

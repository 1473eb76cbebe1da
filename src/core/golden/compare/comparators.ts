// Resolves the comparators of an output: every default filled in for its dtype, precision and scale.
import type {
	ComparatorKind,
	ComparatorSpec,
	GoldenOutput,
	OutputSlice,
	Precision,
	Tolerance,
} from "../../../../generated/golden.ts";
import type { MetricOptions } from "../metrics/measured.ts";
import { cutSlice } from "../tensor/slice.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { forEachChunk, offsetReader, originOf } from "../tensor/values.ts";
import { rootMeanSquare } from "./difference.ts";
import { type MetricKind, metrics } from "./registry.ts";
import { defaultTolerances } from "./tolerances.ts";

export interface Comparator extends MetricOptions {
	kind: MetricKind;
	allowed: number;
	scope: "per-sample" | "whole" | "set";
	severity: "fail" | "warn";
	/** The part of the output that it covers; undefined: all of it. */
	slice: OutputSlice | undefined;
	/** Elements below it on both sides do not count. */
	floor: number;
}

export interface ResolveContext {
	expected: Tensor;
	precision: Precision;
	/** The config's limits of relative-l2, for outputs whose golden names none. */
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	/** Human labels: one class for each row. */
	labels?: readonly number[] | undefined;
}

/** A comparator that is measured here, as the golden has it. */
export type MetricSpec = ComparatorSpec & { kind: MetricKind };

export function isMetricSpec(spec: ComparatorSpec): spec is MetricSpec {
	return spec.kind !== "custom";
}

/**
 * The comparators of one output that are measured here. Without any in the golden: relative-l2 for floats, equality for integers
 * and bools.
 */
export function resolveComparators(
	output: GoldenOutput | undefined,
	resolveContext: ResolveContext,
): Comparator[] {
	const plain: ComparatorSpec = isFloating(resolveContext.expected.dtype)
		? { kind: "relative-l2" }
		: { kind: "allclose", rtol: 0, atol: 0, tolerance: 0 };
	const part = partFacts(resolveContext.expected);
	return (output?.comparators ?? [plain])
		.filter(isMetricSpec)
		.map((spec) => resolve(spec, output ?? {}, { ...resolveContext, ...part(spec.slice) }));
}

interface Context extends ResolveContext {
	/** The part of the output that the comparator covers, and its root mean square. */
	part: () => Tensor;
	rms: () => number;
}

/** Each part is cut and measured once, and only where a default depends on it. */
function partFacts(expected: Tensor): (slice: OutputSlice | undefined) => Pick<Context, "part" | "rms"> {
	const known = new Map<string, Pick<Context, "part" | "rms">>();
	return (slice) => {
		const key = JSON.stringify(slice ?? null);
		const part = onceOnly(() => cutSlice(expected, slice));
		const facts = known.get(key) ?? { part, rms: onceOnly(() => rootMeanSquare(part())) };
		known.set(key, facts);
		return facts;
	};
}

/** Their value is already a share of rows, or covers all rows together. */
export const wholeByDefault: ReadonlySet<ComparatorKind> = new Set([
	"top-k",
	"recall-at-k",
	"rank-agreement",
	"token-agreement",
	"accuracy",
]);

function resolve(spec: MetricSpec, output: GoldenOutput, context: Context): Comparator {
	const sliced = typeof output.batchAxis === "number";
	const options = optionsOf(spec, output, context);
	return {
		...options,
		kind: spec.kind,
		allowed: limitOf(spec, options, context),
		scope: spec.scope ?? (sliced && !wholeByDefault.has(spec.kind) ? "per-sample" : "whole"),
		severity: spec.severity ?? "fail",
		slice: spec.slice,
		floor: spec.floor ?? 0,
	};
}

/** Images have their channels, and with them the classes, before height and width. */
export function defaultAxis(kind: ComparatorKind): number {
	return kind === "miou" || kind === "dice" || kind === "pixel-disagreement" ? 1 : -1;
}

function optionsOf(spec: ComparatorSpec, output: GoldenOutput, context: Context): MetricOptions {
	return {
		...closenessOf(spec, context),
		k: spec.k ?? (spec.kind === "recall-at-k" ? 10 : 1),
		axis: spec.axis ?? defaultAxis(spec.kind),
		input: spec.input ?? (output.semantic === "probabilities" ? "probabilities" : "logits"),
		zeroProbability: defaultTolerances[context.precision].minProbability,
		quantile: spec.quantile ?? 0.99,
		dataRange: dataRangeOf(spec, context),
		window: spec.window ?? "gaussian",
		channels: spec.channels ?? "first",
		threshold: spec.threshold ?? null,
		ignore: spec.ignore ?? null,
		labels: context.labels ?? null,
		minScore: spec.minScore ?? null,
	};
}

function dataRangeOf(spec: ComparatorSpec, { expected, part }: Context): number {
	if (spec.dataRange !== undefined) return spec.dataRange;
	if (spec.kind !== "psnr" && spec.kind !== "ssim") return 1;
	return expected.dtype === "uint8" ? 255 : rangeOf(part());
}

/** The largest finite value less the smallest, as far as binary64 reaches. */
function rangeOf(tensor: Tensor): number {
	const read = offsetReader(tensor, originOf(tensor));
	let least = Number.POSITIVE_INFINITY;
	let most = Number.NEGATIVE_INFINITY;
	forEachChunk(elementCount(tensor.shape), (start, count) => {
		for (const value of read(start, count)) {
			if (!Number.isFinite(value)) continue;
			if (value < least) least = value;
			if (value > most) most = value;
		}
	});
	return most >= least ? Math.min(most - least, Number.MAX_VALUE) : 0;
}

function limitOf(spec: MetricSpec, options: MetricOptions, context: Context): number {
	const { precision, expected, part, rms } = context;
	const own = toleranceAt(spec.tolerance, precision);
	if (own !== undefined) return own;
	const configured = spec.kind === "relative-l2" ? context.relativeL2[precision] : undefined;
	return (
		configured ??
		metrics[spec.kind].defaultLimit({
			defaults: defaultTolerances[precision],
			dtype: expected.dtype,
			part,
			rms,
			options,
		})
	);
}

export function toleranceAt(tolerance: Tolerance | undefined, precision: Precision): number | undefined {
	if (typeof tolerance === "number" || tolerance === undefined) return tolerance;
	return Object.hasOwn(tolerance, precision) ? tolerance[precision] : undefined;
}

/** One of rtol and atol given alone leaves the other 0, as numpy's do when set so; neither: by precision, and exact for integers. */
function closenessOf(spec: ComparatorSpec, context: Context): { rtol: number; atol: number } {
	if (spec.kind !== "allclose") return { rtol: 0, atol: 0 };
	const given = spec.rtol !== undefined || spec.atol !== undefined;
	if (given || !isFloating(context.expected.dtype)) return { rtol: spec.rtol ?? 0, atol: spec.atol ?? 0 };
	const defaults = defaultTolerances[context.precision];
	return { rtol: defaults.rtol, atol: defaults.atolPerRms * context.rms() };
}

function onceOnly<Value>(compute: () => Value): () => Value {
	let known: Value | undefined;
	return () => {
		known ??= compute();
		return known;
	};
}

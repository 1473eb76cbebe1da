// Derives the limits of proposed comparators from evidence.
import type {
	ComparatorSpec,
	Detections,
	GoldenManifest,
	GoldenOutput,
	Precision,
	Tolerance,
} from "../../../../generated/golden.ts";
import type { Bound } from "../../../../generated/result.ts";
import { quoteName } from "../../../core/text/escape.ts";
import { twoDigits } from "../../../core/text/units.ts";
import { boxKinds, boxLimit } from "../boxes/check-boxes.ts";
import { isMetricSpec, type MetricSpec } from "../compare/comparators.ts";
import { metrics } from "../compare/registry.ts";
import { defaultTolerances, toleranceAt, withLimits } from "../compare/tolerances.ts";
import { clearShare } from "../metrics/classification.ts";
import { cutSlice, isFloating, ofSlice, type Tensor } from "../tensor/tensor.ts";
import {
	byRelativeL2,
	type ComparatorErrors,
	comparatorKey,
	growthOf,
	measureErrors,
	type NetworkTraits,
	peakToRms,
	type Rounded,
	type RoundedRun,
	relativeL2Limits,
	roundedPrecisions,
	rules,
	type StrayAt,
	scaledLimit,
} from "./limits.ts";
import { distance, type LabelledRun, type RunOutputs, referencePrecision } from "./noise-floor.ts";

export interface LimitEvidence {
	reference: RunOutputs;
	noise: readonly LabelledRun[];
	rounded: readonly RoundedRun[];
	network: NetworkTraits;
}

export type DerivedLimits = Pick<GoldenManifest, "outputs" | "detections"> & { why: string[] };

interface Measured extends LimitEvidence {
	noiseErrors: ComparatorErrors;
	roundingErrors: ReadonlyMap<Precision, ComparatorErrors>;
}

export function* deriveLimits(
	manifest: GoldenManifest,
	evidence: LimitEvidence,
): Generator<string, DerivedLimits> {
	const { reference } = evidence;
	const noise = evidence.noise.map((run) => ({ ...run, precision: referencePrecision }));
	const noiseErrors = yield* measureErrors(byRelativeL2(manifest), reference, noise);
	const roundingErrors = new Map<Precision, ComparatorErrors>();
	for (const run of evidence.rounded)
		roundingErrors.set(run.precision, yield* measureErrors(manifest, reference, [run]));
	const measured = { ...evidence, noiseErrors, roundingErrors };
	const why: string[] = [];
	const outputs = Object.entries(manifest.outputs).map(([name, output]): [string, GoldenOutput] => {
		const tensors = reference.flatMap((named) => named[name] ?? []);
		if (output.comparators === undefined || tensors.length === 0) return [name, output];
		const derived = deriveOutput(name, output.comparators, tensors, measured);
		why.push(...derived.why.map((sentence) => `${quoteName(name, "")}: ${sentence}`));
		return [name, { ...output, comparators: derived.comparators }];
	});
	const groups = manifest.detections?.map((group) => deriveGroup(group, roundingErrors));
	return { outputs: Object.fromEntries(outputs), detections: groups as DerivedLimits["detections"], why };
}

interface Basis {
	rounding: Partial<Record<Rounded, number>>;
	limits: Partial<Record<Precision, StrayAt>>;
}

type Comparators = NonNullable<GoldenOutput["comparators"]>;

function deriveOutput(name: string, specs: Comparators, tensors: readonly Tensor[], measured: Measured) {
	const dtype = tensors[0]?.dtype ?? "float32";
	const why: string[] = [];
	const bases = new Map<string, Basis>();
	const keyed = specs.map((spec, index) => {
		const before = specs.slice(0, index).filter((other) => placeKey(other) === placeKey(spec));
		return { spec, key: comparatorKey(name, spec.kind, spec.slice, before.length) };
	});
	for (const { spec, key } of keyed) {
		if (spec.kind !== "relative-l2" || !isFloating(dtype)) continue;
		const rounding: Basis["rounding"] = {};
		for (const precision of roundedPrecisions) {
			const error = measured.roundingErrors.get(precision)?.get(key);
			if (error !== undefined) rounding[precision] = error;
		}
		const noise = measured.noiseErrors.get(key) ?? 0;
		const parts = tensors.map((tensor) => cutSlice(tensor, spec.slice));
		const peakRatio = peakToRms(parts, spec.floor);
		const limits = relativeL2Limits({ dtype, noise, peakRatio, rounding, ...measured.network });
		bases.set(JSON.stringify(spec.slice), { rounding, limits });
		why.push(...explainLimits(spec, { noise, limits }));
	}
	const comparators = keyed.map(({ spec, key }) => {
		if (!isMetricSpec(spec)) return spec;
		if (growthOf(spec.kind) === "share") return deriveShare(spec, key, name, measured);
		const basis = bases.get(JSON.stringify(spec.slice));
		return basis === undefined ? spec : deriveMetric(spec, key, basis, measured.roundingErrors);
	});
	return { comparators: comparators as Comparators, why };
}

function placeKey({ kind, slice, scope }: ComparatorSpec) {
	return JSON.stringify([kind, slice, scope === "set"]);
}

function explainLimits(
	{ slice }: ComparatorSpec,
	{ noise, limits }: { noise: number; limits: Basis["limits"] },
) {
	const all = Object.entries(limits);
	const list = all.map(([precision, { limit }]) => `${limit} at ${precision}`).join(", ");
	const ofNoise = noise === 0 ? "" : ` (noise ${twoDigits(noise)})`;
	const sentence = `relative-l2${ofSlice(slice)} may be ${list}: ${rules.room} times the deviation of correct outputs${ofNoise}; other precisions keep their defaults.`;
	const lost = all.filter(([, { stray }]) => stray > rules.mostStray).map(([precision]) => precision);
	const warning = `At ${lost.join(", ")} this golden says little: correct outputs deviate so much that a wrong engine may pass.`;
	return lost.length === 0 ? [sentence] : [sentence, warning];
}

/** Shares of rows and elements keep their defaults unless rounding alone comes near them. */
function deriveShare(spec: MetricSpec, key: string, name: string, measured: Measured) {
	const { kind, tolerance } = spec;
	return loosened(spec, {
		bound: metrics[kind].bound,
		usualAt: (precision) => toleranceAt(tolerance, precision) ?? shareDefault(kind, precision),
		measuredAt: (precision) => {
			const value = measured.roundingErrors.get(precision)?.get(key);
			if (value === undefined || kind !== "top-k") return value;
			// Rows that may turn count once; rows that turned in the emulation stand for others.
			return Math.min(value, 1 - (1 - clearRows(spec, name, precision, measured)) / rules.room);
		},
	});
}

/** The smallest share of rows that lead by more than twice the largest error, so that no rounding turns them. */
function clearRows(spec: MetricSpec, name: string, precision: Precision, measured: Measured) {
	const run = measured.rounded.find((other) => other.precision === precision);
	const options = { axis: spec.axis ?? -1, k: spec.k ?? 1, minScore: null };
	const shares = (run?.outputs ?? []).flatMap((outputs, index) => {
		const [expected, got] = [measured.reference[index]?.[name], outputs[name]];
		if (expected === undefined || got === undefined) return [];
		const error = distance(expected, got);
		return error === null ? [] : [clearShare(expected, options, 2 * error.maxAbs)];
	});
	return Math.min(1, ...shares);
}

function shareDefault(kind: string, precision: Precision) {
	const { topK } = defaultTolerances[precision];
	if (kind === "pixel-disagreement") return 1 - topK;
	return kind === "allclose" || kind === "accuracy" ? undefined : topK;
}

/** Beyond this multiple of the measured error, the metric no longer follows it. */
const furthest = 100;

/** The metric's value at which relative L2 reaches its limit; the emulation relates the two. */
function deriveMetric(spec: MetricSpec, key: string, basis: Basis, rounding: Measured["roundingErrors"]) {
	const { bound } = metrics[spec.kind];
	const limits: Partial<Record<Precision, number>> = {};
	for (const [precision, { limit }] of Object.entries(basis.limits) as [Precision, StrayAt][]) {
		if (spec.kind === "relative-l2") {
			limits[precision] = limit;
			continue;
		}
		const known = roundedPrecisions.filter(
			(at) => (basis.rounding[at] ?? 0) > 0 && rounding.get(at)?.has(key),
		);
		const from = known.find((at) => at === precision) ?? known[0];
		const error = from && basis.rounding[from];
		const value = from && rounding.get(from)?.get(key);
		if (error === undefined || value === undefined || limit > furthest * error) continue;
		const derived = scaledLimit(spec.kind, bound, { value, times: limit / error });
		if (derived !== null) limits[precision] = derived;
	}
	return withLimits(spec, limits);
}

function deriveGroup(group: Detections, rounding: Measured["roundingErrors"]): Detections {
	const comparators = group.comparators?.map((spec) =>
		loosened(spec, {
			bound: boxKinds[spec.kind].bound,
			usualAt: (precision) => boxLimit(spec, precision),
			measuredAt: (precision) =>
				rounding.get(precision)?.get(comparatorKey(group.name, spec.kind, undefined)),
		}),
	);
	return { ...group, comparators: comparators as Detections["comparators"] };
}

/** At the precisions where a correct engine would exceed the usual limit, or come near it. */
function loosened<Spec extends { kind: string; tolerance?: Tolerance }>(
	spec: Spec,
	{
		bound,
		usualAt,
		measuredAt,
	}: { bound: Bound } & Record<"usualAt" | "measuredAt", (precision: Precision) => number | undefined>,
) {
	const limits: Partial<Record<Precision, number>> = {};
	const worse = bound === "at-most" ? Math.max : Math.min;
	const ofOther = measuredAt("fp32");
	for (const precision of Object.keys(defaultTolerances) as Precision[]) {
		const allowed = usualAt(precision);
		// No engine is held to more than another build at fp32 keeps.
		const values = [measuredAt(precision), ofOther].filter((one) => one !== undefined);
		if (values.length === 0 || allowed === undefined) continue;
		const value = worse(...values);
		const limit = scaledLimit(spec.kind, bound, { value, times: rules.room });
		if (limit !== null && (bound === "at-most" ? limit > allowed : limit < allowed))
			limits[precision] = limit;
	}
	return withLimits(spec, limits);
}

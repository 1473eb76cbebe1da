// Gives every proposed comparator limits that follow from evidence, and says in words where they come from.
import type {
	BoxComparatorSpec,
	ComparatorSpec,
	Detections,
	GoldenManifest,
	GoldenOutput,
	Precision,
	Tolerance,
} from "../../../../generated/golden.ts";
import type { Bound } from "../../../../generated/result.ts";
import { twoDigits } from "../../text/units.ts";
import { boxKinds, boxLimit } from "../boxes/check-boxes.ts";
import { isMetricSpec } from "../compare/comparators.ts";
import { metrics } from "../compare/registry.ts";
import { defaultTolerances, toleranceAt } from "../compare/tolerances.ts";
import { clearShare } from "../metrics/classification.ts";
import { cutSlice, sliceLabel } from "../tensor/slice.ts";
import { isFloating } from "../tensor/tensor.ts";
import {
	byRelativeL2,
	type ComparatorErrors,
	comparatorKey,
	measureErrors,
	type RoundedRun,
} from "./comparator-errors.ts";
import {
	amplifiedRounding,
	emulatedPrecisions,
	growthOf,
	peakToRms,
	relativeL2Limits,
	rules,
	type StrayAt,
	type Strayed,
	scaledLimit,
	usualAt,
} from "./limits.ts";
import { distance, type LabelledRun, type RunOutputs, referencePrecision } from "./noise-floor.ts";

export interface LimitEvidence {
	reference: RunOutputs;
	noise: readonly LabelledRun[];
	rounded: readonly RoundedRun[];
	quantised: boolean;
}

export interface DerivedLimits {
	outputs: GoldenManifest["outputs"];
	detections?: GoldenManifest["detections"];
	why: { output: string; sentences: string[] }[];
}

type ByPrecision<Value> = Partial<Record<Precision, Value>>;

interface Measured extends LimitEvidence {
	noiseErrors: readonly ComparatorErrors[];
	roundingErrors: ReadonlyMap<Precision, ComparatorErrors>;
}

/** The manifest's comparators are proposals: their kinds stay, their limits follow. Yields what it is at. */
export function* deriveLimits(
	manifest: GoldenManifest,
	evidence: LimitEvidence,
): Generator<string, DerivedLimits> {
	const { reference } = evidence;
	const plain = byRelativeL2(manifest);
	const noiseErrors: ComparatorErrors[] = [];
	for (const run of evidence.noise)
		noiseErrors.push(yield* measureErrors(plain, reference, { ...run, precision: referencePrecision }));
	const roundingErrors = new Map<Precision, ComparatorErrors>();
	for (const run of evidence.rounded)
		roundingErrors.set(run.precision, yield* measureErrors(manifest, reference, run));
	const measured = { ...evidence, noiseErrors, roundingErrors };
	const why: DerivedLimits["why"] = [];
	const explain = (output: string, sentences: string[]): void => {
		if (sentences.length > 0) why.push({ output, sentences });
	};
	const outputs = Object.entries(manifest.outputs).map(([name, output]): [string, GoldenOutput] => {
		const derived = deriveOutput(output, name, measured);
		explain(name, derived.sentences);
		return [name, derived.output];
	});
	const [first, ...others] = (manifest.detections ?? []).map((group) => {
		const derived = deriveGroup(group, roundingErrors);
		explain(group.name, derived.sentences);
		return derived.group;
	});
	return {
		outputs: Object.fromEntries(outputs),
		detections: first === undefined ? undefined : [first, ...others],
		why,
	};
}

/** What is known of the relative L2 of a part of the output, which other comparators cover too. */
interface Basis extends Strayed {
	limits: ByPrecision<StrayAt>;
}

function deriveOutput(
	output: GoldenOutput,
	name: string,
	measured: Measured,
): { output: GoldenOutput; sentences: string[] } {
	const { reference, noiseErrors, roundingErrors, quantised } = measured;
	const tensors = reference.flatMap((outputs) => outputs[name] ?? []);
	const dtype = tensors[0]?.dtype;
	const specs = output.comparators;
	const sentences: string[] = [];
	if (specs === undefined || dtype === undefined) return { output, sentences };
	const keyed = specs.map((spec, index) => {
		const { kind, slice } = spec;
		const same = specs.slice(0, index).filter((other) => placeKey(other) === placeKey(spec));
		return { spec, key: comparatorKey({ output: name, kind, slice, place: same.length }) };
	});
	const bases = new Map<string, Basis>();
	for (const { spec, key } of keyed) {
		if (spec.kind !== "relative-l2" || !isFloating(dtype)) continue;
		const rounding = emulatedPrecisions.flatMap((precision) => {
			const value = roundingErrors.get(precision)?.get(key);
			return value === undefined ? [] : [[precision, value] as const];
		});
		const strayed: Strayed = {
			dtype,
			noise: noiseErrors.reduce((max, run) => Math.max(max, run.get(key) ?? 0), 0),
			peakRatio: peakToRms(tensors.map((tensor) => cutSlice(tensor, spec.slice))),
			rounding: Object.fromEntries(rounding),
			quantised,
		};
		const basis = { ...strayed, limits: relativeL2Limits(strayed) };
		bases.set(JSON.stringify(spec.slice), basis);
		sentences.push(...explainLimits(spec, basis));
	}
	const [first, ...others] = keyed.map(({ spec, key }) =>
		isMetricSpec(spec) && growthOf(spec.kind) === "share"
			? deriveShare(spec, key, name, measured)
			: deriveMetric(spec, key, bases.get(JSON.stringify(spec.slice)), roundingErrors),
	);
	return { output: first === undefined ? output : { ...output, comparators: [first, ...others] }, sentences };
}

function placeKey({ kind, slice, scope }: ComparatorSpec): string {
	return JSON.stringify([kind, slice, scope === "set"]);
}

function deriveShare(spec: ComparatorSpec, key: string, name: string, measured: Measured): ComparatorSpec {
	const { kind } = spec;
	if (!isMetricSpec(spec)) return spec;
	const usual = (precision: Precision): number | undefined =>
		toleranceAt(spec.tolerance, precision) ?? shareDefault(kind, precision);
	const limits = loosened(kind, metrics[spec.kind].bound, usual, (precision) => {
		const value = measured.roundingErrors.get(precision)?.get(key);
		if (value === undefined || kind !== "top-k") return value;
		// Rows that may turn count once; those that turned in the emulation stand for others.
		return Math.min(value, 1 - (1 - clearRows(spec, name, precision, measured)) / rules.room);
	});
	return withLimits(spec, limits);
}

function deriveMetric(
	spec: ComparatorSpec,
	key: string,
	basis: Basis | undefined,
	rounding: Measured["roundingErrors"],
): ComparatorSpec {
	if (!isMetricSpec(spec) || basis === undefined) return spec;
	const { bound } = metrics[spec.kind];
	const limits: ByPrecision<number> = {};
	for (const [precision, { limit }] of Object.entries(basis.limits) as [Precision, StrayAt][]) {
		if (spec.kind === "relative-l2") {
			limits[precision] = limit;
			continue;
		}
		// What the metric is where relative L2 reaches its limit: the emulation relates the two.
		const known = emulatedPrecisions.filter(
			(at) => (basis.rounding[at] ?? 0) > 0 && rounding.get(at)?.has(key),
		);
		const from = known.find((at) => at === precision) ?? known[0];
		const error = from === undefined ? undefined : basis.rounding[from];
		const value = from === undefined ? undefined : rounding.get(from)?.get(key);
		if (error === undefined || value === undefined || limit > furthest * error) continue;
		const derived = scaledLimit(spec.kind, bound, { value, times: limit / error });
		if (derived !== null) limits[precision] = derived;
	}
	return withLimits(spec, limits);
}

const furthest = 100;

/** In the worst case, the share of rows that lead by more than two of the largest errors, so that no rounding turns them. */
function clearRows(spec: ComparatorSpec, name: string, precision: Precision, measured: Measured): number {
	const run = measured.rounded.find((other) => other.precision === precision);
	const options = { axis: spec.axis ?? -1, k: spec.k ?? 1, minScore: spec.minScore ?? null };
	const shares = (run?.outputs ?? []).flatMap((outputs, index) => {
		const expected = measured.reference[index]?.[name];
		const got = outputs[name];
		const error = expected === undefined || got === undefined ? null : distance(expected, got, spec);
		return expected === undefined || error === null
			? []
			: [clearShare(cutSlice(expected, spec.slice), options, 2 * error.maxAbs)];
	});
	return Math.min(1, ...shares);
}

function shareDefault(kind: string, precision: Precision): number | undefined {
	const { topK } = defaultTolerances[precision];
	if (kind === "pixel-disagreement") return 1 - topK;
	return kind === "allclose" || kind === "accuracy" ? undefined : topK;
}

/** Limits at the precisions where a correct engine would break the usual one, or come near it. */
function loosened(
	kind: string,
	bound: Bound,
	usual: (precision: Precision) => number | undefined,
	measured: (precision: Precision) => number | undefined,
): ByPrecision<number> {
	const limits: ByPrecision<number> = {};
	for (const precision of emulatedPrecisions) {
		const value = measured(precision);
		const allowed = usual(precision);
		if (value === undefined || allowed === undefined) continue;
		const limit = scaledLimit(kind, bound, { value, times: rules.room });
		if (limit !== null && (bound === "at-most" ? limit > allowed : limit < allowed))
			limits[precision] = limit;
	}
	return limits;
}

function withLimits<Spec extends { tolerance?: Tolerance }>(spec: Spec, limits: ByPrecision<number>): Spec {
	if (Object.keys(limits).length === 0) return spec;
	const { tolerance } = spec;
	const before =
		typeof tolerance === "number"
			? Object.fromEntries(Object.keys(defaultTolerances).map((precision) => [precision, tolerance]))
			: tolerance;
	return { ...spec, tolerance: { ...before, ...limits } };
}

function deriveGroup(
	group: Detections,
	rounding: Measured["roundingErrors"],
): { group: Detections; sentences: string[] } {
	const sentences: string[] = [];
	const [first, ...others] = (group.comparators ?? []).map((spec): BoxComparatorSpec => {
		const key = comparatorKey({ output: group.name, kind: spec.kind, place: 0 });
		const errorAt = (precision: string) => rounding.get(precision as Precision)?.get(key);
		const limits = loosened(spec.kind, boxKinds[spec.kind].bound, (at) => boxLimit(spec, at), errorAt);
		for (const [precision, limit] of Object.entries(limits))
			sentences.push(
				`Rounding at ${precision} gives ${spec.kind} ${twoDigits(errorAt(precision) ?? 0)}, so its limit there is ${limit}.`,
			);
		return withLimits(spec, limits);
	});
	return { group: first === undefined ? group : { ...group, comparators: [first, ...others] }, sentences };
}

/** Sentences: the limits of relative L2, where they come from, and where the golden says little. */
function explainLimits({ slice }: ComparatorSpec, { noise, rounding, limits, quantised }: Basis): string[] {
	const all = Object.entries(limits) as [Precision, StrayAt][];
	const part = slice === undefined ? "" : ` of ${sliceLabel(slice)}`;
	const list = all.map(([precision, { limit }]) => `${limit} at ${precision}`).join(", ");
	const least = `at least ${usualAt({ quantised })}${quantised ? ", since some layers are quantised" : ""}`;
	const amplified = amplifiedRounding({ rounding, quantised });
	const single =
		amplified === null ? "" : `, and rounding at fp32 becomes about ${twoDigits(amplified)} at this output`;
	const strayed = Object.entries(rounding).map(
		([precision, error]) => `, at ${precision} ${twoDigits(error)}`,
	);
	const sentences = [
		`The limit of relative-l2${part} is ${list}: ${rules.room} times the deviation of correct outputs (at fp32 ${least}); other precisions keep their defaults.`,
		`The noise floor is ${twoDigits(noise)}${single}${strayed.join("")}${strayed.length === 0 ? "" : " (emulated)"}.`,
	];
	const lost = all.filter(([, { stray }]) => stray > rules.mostStray);
	if (lost.length > 0)
		sentences.push(
			`At ${lost.map(([precision, { stray }]) => `${precision} (${twoDigits(stray)})`).join(", ")}, even correct outputs deviate so much that this golden says little: a wrong engine may pass.`,
		);
	return sentences;
}

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
import { cutSlice } from "../tensor/slice.ts";
import { isFloating } from "../tensor/tensor.ts";
import {
	byRelativeL2,
	type ComparatorErrors,
	comparatorKey,
	measureErrors,
	type RoundedRun,
} from "./comparator-errors.ts";
import { explainLimits } from "./explain-limits.ts";
import {
	type Emulated,
	emulatedPrecisions,
	growthOf,
	peakToRms,
	relativeL2Limits,
	rules,
	type StrayAt,
	scaledLimit,
} from "./limits.ts";
import { distance, type LabelledRun, type RunOutputs, referencePrecision } from "./noise-floor.ts";

export interface LimitEvidence {
	reference: RunOutputs;
	/** fp32 runs of other builds, levels and threads. */
	noise: readonly LabelledRun[];
	rounded: readonly RoundedRun[];
	/** Some layers of the model are quantised. */
	quantised: boolean;
}

export interface DerivedLimits {
	outputs: GoldenManifest["outputs"];
	detections?: GoldenManifest["detections"];
	/** By output, or group of boxes. */
	why: { output: string; sentences: string[] }[];
}

/** The manifest's comparators are proposals: their kinds stay, their limits follow. Yields what it is at. */
export function* deriveLimits(
	manifest: GoldenManifest,
	evidence: LimitEvidence,
): Generator<string, DerivedLimits> {
	const errors = yield* errorsOf(manifest, evidence);
	const why: DerivedLimits["why"] = [];
	const outputs = Object.entries(manifest.outputs).map(([name, output]): [string, GoldenOutput] => {
		const derived = deriveOutput(output, { name, evidence, errors });
		if (derived.sentences.length > 0) why.push({ output: name, sentences: derived.sentences });
		return [name, derived.output];
	});
	const detections = manifest.detections?.map((group) => {
		const derived = deriveGroup(group, errors.rounding);
		if (derived.sentences.length > 0) why.push({ output: group.name, sentences: derived.sentences });
		return derived.group;
	});
	const [first, ...others] = detections ?? [];
	return {
		outputs: Object.fromEntries(outputs),
		detections: first === undefined ? undefined : [first, ...others],
		why,
	};
}

interface Errors {
	/** Of relative L2 alone: the other limits follow from it. */
	noise: readonly ComparatorErrors[];
	rounding: ReadonlyMap<Precision, ComparatorErrors>;
}

function* errorsOf(
	manifest: GoldenManifest,
	{ noise, rounded, reference }: LimitEvidence,
): Generator<string, Errors> {
	const errors = { noise: [] as ComparatorErrors[], rounding: new Map<Precision, ComparatorErrors>() };
	const plain = byRelativeL2(manifest);
	for (const run of noise)
		errors.noise.push(yield* measureErrors(plain, reference, { ...run, precision: referencePrecision }));
	for (const run of rounded)
		errors.rounding.set(run.precision, yield* measureErrors(manifest, reference, run));
	return errors;
}

interface OutputContext {
	name: string;
	evidence: LimitEvidence;
	errors: Errors;
}

function deriveOutput(
	output: GoldenOutput,
	context: OutputContext,
): { output: GoldenOutput; sentences: string[] } {
	const { name, evidence, errors } = context;
	const dtype = evidence.reference.find((outputs) => outputs[name] !== undefined)?.[name]?.dtype;
	const specs = output.comparators;
	if (specs === undefined || dtype === undefined) return { output, sentences: [] };
	const keys = specs.map((spec, index) =>
		comparatorKey({ output: name, kind: spec.kind, slice: spec.slice, place: placeOf(specs, index) }),
	);
	const bases = new Map<string, Basis>();
	const sentences: string[] = [];
	for (const [index, spec] of specs.entries()) {
		if (spec.kind !== "relative-l2" || !isFloating(dtype)) continue;
		const key = keys[index] ?? "";
		const noise = errors.noise.reduce((max, run) => Math.max(max, run.get(key) ?? 0), 0);
		const peakRatio = peakToRms(
			evidence.reference.flatMap((outputs) =>
				outputs[name] === undefined ? [] : [cutSlice(outputs[name], spec.slice)],
			),
		);
		const strayed = {
			dtype,
			noise,
			peakRatio,
			rounding: roundingAt(errors.rounding, key),
			quantised: evidence.quantised,
		};
		const basis = { rounding: strayed.rounding, limits: relativeL2Limits(strayed) };
		bases.set(JSON.stringify(spec.slice ?? null), basis);
		sentences.push(...explainLimits(spec, { ...strayed, ...basis }));
	}
	const [first, ...others] = specs.map((spec, index) =>
		deriveSpec(spec, {
			key: keys[index] ?? "",
			basis: bases.get(JSON.stringify(spec.slice ?? null)),
			errors,
			name,
			evidence,
		}),
	);
	return { output: first === undefined ? output : { ...output, comparators: [first, ...others] }, sentences };
}

function placeOf(specs: readonly ComparatorSpec[], index: number): number {
	const same = (spec: ComparatorSpec | undefined): string =>
		JSON.stringify([spec?.kind, spec?.slice, spec?.scope === "set"]);
	return specs.slice(0, index).filter((spec) => same(spec) === same(specs[index])).length;
}

function roundingAt(rounding: Errors["rounding"], key: string): Partial<Record<Emulated, number>> {
	return Object.fromEntries(
		emulatedPrecisions.flatMap((precision) => {
			const value = rounding.get(precision)?.get(key);
			return value === undefined ? [] : [[precision, value]];
		}),
	);
}

/** Of relative L2, of the part of the output that other comparators cover too. */
interface Basis {
	rounding: Partial<Record<Emulated, number>>;
	limits: Partial<Record<Precision, StrayAt>>;
}

interface SpecContext extends OutputContext {
	key: string;
	basis: Basis | undefined;
}

function deriveSpec(spec: ComparatorSpec, context: SpecContext): ComparatorSpec {
	if (!isMetricSpec(spec)) return spec;
	const { key, basis, errors } = context;
	const { bound } = metrics[spec.kind];
	if (growthOf(spec.kind) === "share") {
		const usual = (precision: Precision): number | undefined =>
			toleranceAt(spec.tolerance, precision) ?? shareDefault(spec.kind, precision);
		const measured = (precision: Precision): number | undefined => {
			const value = errors.rounding.get(precision)?.get(key);
			// Rows that may turn count once; those that turned in the emulation stand for others.
			return value === undefined || spec.kind !== "top-k"
				? value
				: Math.min(value, 1 - (1 - clearRows(spec, context, precision)) / rules.room);
		};
		return withLimits(spec, loosened({ bound, usual, measured, kind: spec.kind }));
	}
	if (basis === undefined) return spec;
	const limits: Partial<Record<Precision, number>> = {};
	for (const [precision, { limit }] of Object.entries(basis.limits) as [Precision, StrayAt][]) {
		const derived =
			spec.kind === "relative-l2"
				? limit
				: relatedLimit(spec.kind, { bound, key, basis, errors, precision, limit });
		if (derived !== null) limits[precision] = derived;
	}
	return withLimits(spec, limits);
}

/** In the worst case, the share of rows that lead by more than two of the largest errors, so that no rounding turns them. */
function clearRows(spec: ComparatorSpec, { name, evidence }: OutputContext, precision: Precision): number {
	const run = evidence.rounded.find((other) => other.precision === precision);
	const options = { axis: spec.axis ?? -1, k: spec.k ?? 1, minScore: spec.minScore ?? null };
	const shares = (run?.outputs ?? []).flatMap((outputs, index) => {
		const [expected, got] = [evidence.reference[index]?.[name], outputs[name]];
		const error = expected === undefined || got === undefined ? null : distance(expected, got, spec);
		return expected === undefined || error === null
			? []
			: [clearShare(cutSlice(expected, spec.slice), options, 2 * error.maxAbs)];
	});
	return Math.min(1, ...shares);
}

interface Related {
	bound: Bound;
	key: string;
	basis: Basis;
	errors: Errors;
	precision: Precision;
	/** Of relative L2. */
	limit: number;
}

/** What a metric is where relative L2 reaches its limit: the emulation relates the two. */
function relatedLimit(kind: string, { bound, key, basis, errors, precision, limit }: Related): number | null {
	const known = emulatedPrecisions.filter(
		(at) => (basis.rounding[at] ?? 0) > 0 && errors.rounding.get(at)?.has(key),
	);
	const from = known.find((at) => at === precision) ?? known[0];
	const error = from === undefined ? undefined : basis.rounding[from];
	const value = from === undefined ? undefined : errors.rounding.get(from)?.get(key);
	return error === undefined || value === undefined || limit > furthest * error
		? null
		: scaledLimit(kind, bound, { value, times: limit / error });
}

/** What a metric makes of errors so much smaller is its own rounding. */
const furthest = 100;

function shareDefault(kind: string, precision: Precision): number | undefined {
	const { topK } = defaultTolerances[precision];
	if (kind === "pixel-disagreement") return 1 - topK;
	return kind === "allclose" || kind === "accuracy" ? undefined : topK;
}

interface Loosening {
	kind: string;
	bound: Bound;
	/** The limit without evidence. */
	usual(precision: Precision): number | undefined;
	measured(precision: Precision): number | undefined;
}

/** Limits at the precisions where a correct engine would break the usual one, or come near it. */
function loosened({ kind, bound, usual, measured }: Loosening): Partial<Record<Precision, number>> {
	const limits: Partial<Record<Precision, number>> = {};
	for (const precision of emulatedPrecisions) {
		const [value, allowed] = [measured(precision), usual(precision)];
		const limit =
			value === undefined || allowed === undefined
				? null
				: scaledLimit(kind, bound, { value, times: rules.room });
		if (limit === null || allowed === undefined) continue;
		if (bound === "at-most" ? limit > allowed : limit < allowed) limits[precision] = limit;
	}
	return limits;
}

/** Precisions without evidence keep what they had. */
function withLimits<Spec extends { tolerance?: Tolerance }>(
	spec: Spec,
	limits: Partial<Record<Precision, number>>,
): Spec {
	if (Object.keys(limits).length === 0) return spec;
	const { tolerance } = spec;
	if (typeof tolerance !== "number") return { ...spec, tolerance: { ...tolerance, ...limits } };
	const all = Object.fromEntries(
		(Object.keys(defaultTolerances) as Precision[]).map((precision) => [precision, tolerance]),
	);
	return { ...spec, tolerance: { ...all, ...limits } };
}

function deriveGroup(
	group: Detections,
	rounding: Errors["rounding"],
): { group: Detections; sentences: string[] } {
	const { comparators } = group;
	if (comparators === undefined) return { group, sentences: [] };
	const sentences: string[] = [];
	const [first, ...others] = comparators.map((spec): BoxComparatorSpec => {
		const key = comparatorKey({ output: group.name, kind: spec.kind, place: 0 });
		const { bound } = boxKinds[spec.kind];
		const usual = (precision: Precision): number => boxLimit(spec, precision);
		const limits = loosened({
			kind: spec.kind,
			bound,
			usual,
			measured: (precision) => rounding.get(precision)?.get(key),
		});
		for (const [precision, limit] of Object.entries(limits)) {
			const value = rounding.get(precision as Precision)?.get(key) ?? 0;
			sentences.push(
				`Rounding at ${precision} gives ${spec.kind} ${twoDigits(value)}, so its limit there is ${limit}.`,
			);
		}
		return withLimits(spec, limits);
	});
	return { group: first === undefined ? group : { ...group, comparators: [first, ...others] }, sentences };
}

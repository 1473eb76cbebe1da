// Entry of whole-set/: judges all cases of a golden together. Sums grow case by case; the verdict comes once, at the end.

import type { GoldenCase, GoldenManifest, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck, GoldenVerdict } from "../../../../generated/result.ts";
import type { Threshold } from "../../config/config.ts";
import { defaultGates } from "../../config/defaults.ts";
import { quoteName } from "../../onnx/quote.ts";
import { existingGrowthChecks, type GrowthRule, growthLimits } from "../compare/base-error.ts";
import { markExisting, mismatchState, toNumeric } from "../compare/checks.ts";
import { keepsLimit } from "../compare/registry.ts";
import { within } from "../metrics/measured.ts";
import { type TensorSet, tensorMap } from "../tensor/tensor.ts";
import { type Sum, sumsOf } from "./sums.ts";
import { wholeSet } from "./tally.ts";

export interface SetRef {
	manifest: GoldenManifest;
	model: string;
	engine: string;
	precision: Precision;
	/** The base engine's, where it is another one. */
	basePrecision?: Precision | undefined;
	/** The base's own golden is another one, so that a failure of its engine excuses nothing. */
	isNewSet?: boolean | undefined;
	/** Hash of the golden's model in the head. */
	modelSha256: string;
	/** The config's limits, for outputs whose golden names none. */
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
	/** The config's limits on how far an error may grow beyond the base's; the defaults where they are left out. */
	errorGrowth?: Threshold;
}

export interface SetSides {
	expected: TensorSet;
	got: TensorSet;
	/** The base engine's, where there is one. */
	base?: TensorSet;
}

export interface SetWatch {
	/** Call once for every case of the golden; `sides` is null where the engine gave no output. */
	see(golden: GoldenCase, sides: SetSides | null): void;
	/** null: the golden is stale by its own policy, so that nothing is compared. */
	verdict(): GoldenVerdict | null;
}

/** null: no comparator of the golden covers the whole set. */
export function watchSet(ref: SetRef): SetWatch | null {
	const sums = sumsOf(ref.manifest, ref);
	if (sums.length === 0) return null;
	const base = {
		sums: sumsOf(ref.manifest, { ...ref, precision: ref.basePrecision ?? ref.precision }),
		whole: true,
	};
	const lost: string[] = [];
	let seen = 0;
	return {
		see(golden, sides) {
			seen += 1;
			if (!addAll(sums, golden, sides === null ? null : { expected: sides.expected, got: sides.got }))
				lost.push(golden.id);
			const of = sides?.base === undefined ? null : { expected: sides.expected, got: sides.base };
			base.whole = base.whole && addAll(base.sums, golden, of);
		},
		verdict() {
			const changed = ref.manifest.model.sha256 !== ref.modelSha256;
			if (changed && (ref.manifest.policy?.onModelChange ?? "compare") !== "compare") return null;
			const about = { ...aboutSet(ref, seen), modelChanged: changed };
			if (lost.length > 0 || seen === 0)
				return { ...about, state: "error", message: lostMessage(lost, seen), checks: [] };
			const all = sums.map((sum, index) => checkOf(sum, base.whole ? base.sums[index] : undefined));
			const checks = ref.isNewSet === true ? all.map(({ existing: _, ...check }): GoldenCheck => check) : all;
			const state = mismatchState(checks) ?? "match";
			const rule = growthRule(ref);
			const grown = state === "mismatch" ? [] : existingGrowthChecks(checks, rule);
			return { ...about, state: mismatchState(grown) ?? state, checks: [...checks, ...grown] };
		},
	};
}

function growthRule({
	precision,
	basePrecision = precision,
	errorGrowth = defaultGates.errorGrowth,
	manifest,
}: SetRef): GrowthRule {
	const { fail, ...warning } = growthLimits(errorGrowth, manifest.policy?.mostErrorGrowth);
	const limits = basePrecision !== precision || fail === undefined ? warning : { ...warning, fail };
	return { precision, noiseFloor: undefined, rounding: undefined, limits };
}

/** The verdict on cases that are all loaded; null as of watchSet. */
export function judgeSet(
	ref: SetRef,
	cases: readonly { golden: GoldenCase; sides: SetSides | null }[],
): GoldenVerdict | null {
	const watch = watchSet(ref);
	for (const { golden, sides } of cases) watch?.see(golden, sides);
	return watch?.verdict() ?? null;
}

function addAll(
	sums: readonly Sum[],
	golden: GoldenCase,
	sides: { expected: TensorSet; got: TensorSet } | null,
): boolean {
	if (sides === null) return false;
	const maps = { expected: tensorMap(sides.expected), got: tensorMap(sides.got) };
	let whole = true;
	for (const sum of sums) whole = sum.add(golden, maps) && whole;
	return whole;
}

function aboutSet({ manifest, model, engine, precision }: SetRef, seen: number) {
	return {
		model,
		engine,
		precision,
		case: wholeSet,
		scope: "set" as const,
		cases: seen,
		golden: manifest.goldenId,
	};
}

function lostMessage(lost: readonly string[], seen: number): string {
	if (seen === 0) return "No case was compared.";
	const first = quoteName(lost[0] ?? "");
	return `${lost.length} of ${seen} cases cannot be compared (the first is ${first}), so there is no result for the whole set.`;
}

function checkOf(sum: Sum, base: Sum | undefined): GoldenCheck {
	const { output, metric, slice, bound, severity } = sum;
	const { value, elements, detail } = within(sum.measure(), sum.range);
	const allowed = sum.allowed();
	const shownDetail = Number.isNaN(value) ? (detail ?? "nothing was compared") : detail;
	const ofBase = base?.measure().value;
	const check: GoldenCheck = {
		output,
		metric,
		slice,
		got: toNumeric(value),
		allowed: Number.isFinite(allowed) ? allowed : null,
		bound,
		pass: keepsLimit(value, bound, allowed),
		severity,
		base: ofBase === undefined ? undefined : toNumeric(ofBase),
		elements,
		detail: shownDetail,
	};
	return markExisting(
		check,
		base !== undefined && ofBase !== undefined && !keepsLimit(ofBase, bound, base.allowed()),
	);
}

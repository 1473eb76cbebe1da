// Entry of whole-set/: judges all cases of a golden together. Sums grow case by case; the verdict is given once, at the end.

import type { GoldenCase } from "../../../../generated/golden.ts";
import type { GoldenCheck, GoldenVerdict } from "../../../../generated/result.ts";
import { quoteName } from "../../../core/onnx/quote.ts";
import { existingGrowthChecks, growthRule } from "../compare/base-error.ts";
import { markExisting, mismatchState, toNumeric } from "../compare/checks.ts";
import type { CaseInput } from "../compare/judge.ts";
import { keepsLimit, within } from "../metrics/measured.ts";
import { type TensorSet, tensorMap } from "../tensor/tensor.ts";
import { type Sum, sumsOf } from "./sums.ts";
import { wholeSet } from "./tally.ts";

export interface SetRef extends Omit<CaseInput, "caseId" | "golden" | "expected" | "got" | "base"> {
	/** The base's own golden differs, so a failure of its engine excuses nothing. */
	isNewSet?: boolean | undefined;
}

export type SetSides = Pick<CaseInput, "expected" | "got" | "base">;

export interface SetWatch {
	/** To be called for every case of the golden; `sides` is null if the engine gave no output. */
	see(golden: GoldenCase, sides: SetSides | null): void;
	/** null if the golden is stale by its own policy, so that nothing is compared. */
	verdict(): GoldenVerdict | null;
}

/** null if no comparator of the golden covers the whole set. */
export function watchSet(ref: SetRef): SetWatch | null {
	const { manifest, model, engine, precision } = ref;
	const sums = sumsOf(manifest, ref);
	if (sums.length === 0) return null;
	const baseSums = sumsOf(manifest, { ...ref, precision: ref.basePrecision ?? precision });
	let baseIsWhole = true;
	const lost: string[] = [];
	let seen = 0;
	return {
		see(golden, sides) {
			seen += 1;
			if (!addAll(sums, golden, sides?.expected, sides?.got)) lost.push(golden.id);
			baseIsWhole = baseIsWhole && addAll(baseSums, golden, sides?.expected, sides?.base);
		},
		verdict() {
			const modelChanged = manifest.model.sha256 !== ref.modelSha256;
			if (modelChanged && (manifest.policy?.onModelChange ?? "compare") !== "compare") return null;
			const set = { case: wholeSet, scope: "set" as const, cases: seen };
			const about = { model, engine, precision, ...set, golden: manifest.goldenId, modelChanged };
			if (lost.length > 0 || seen === 0) {
				const first = quoteName(lost[0] ?? "");
				const some = `${lost.length} of ${seen} cases cannot be compared (the first is ${first}), so there is no result for the whole set.`;
				return { ...about, state: "error", message: seen === 0 ? "No case was compared." : some, checks: [] };
			}
			const checks = sums.map((sum, index) => {
				const { existing, ...check } = checkOf(sum, baseIsWhole ? baseSums[index] : undefined);
				return existing === true && ref.isNewSet !== true ? { ...check, existing } : check;
			});
			const state = mismatchState(checks) ?? "match";
			const grown = state === "mismatch" ? [] : existingGrowthChecks(checks, growthRule(ref));
			return { ...about, state: mismatchState(grown) ?? state, checks: [...checks, ...grown] };
		},
	};
}

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
	expected: TensorSet | undefined,
	got: TensorSet | undefined,
): boolean {
	if (expected === undefined || got === undefined) return false;
	const sides = { expected: tensorMap(expected), got: tensorMap(got) };
	return sums.map((sum) => sum.add(golden, sides)).every(Boolean);
}

function checkOf(sum: Sum, base: Sum | undefined): GoldenCheck {
	const { output, metric, slice, bound, severity } = sum;
	const { value, elements, detail } = within(sum.measure(), sum.range);
	const allowed = sum.allowed();
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
		detail: Number.isNaN(value) ? (detail ?? "nothing was compared") : detail,
	};
	const baseFails = base !== undefined && ofBase !== undefined && !keepsLimit(ofBase, bound, base.allowed());
	return markExisting(check, baseFails);
}

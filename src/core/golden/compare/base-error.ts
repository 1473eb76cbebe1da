// Compares an engine's error with its base's error: growth beyond a factor warns or fails, even within the golden's limits.

import type { GoldenManifest, NoiseFloor, OutputSlice, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import type { Threshold } from "../../config/config.ts";
import { defaultGates } from "../../config/defaults.ts";
import { formatTimes, twoDigits } from "../../text/units.ts";
import { emulatedRounding, usualRoundings } from "../record/emulated-rounding.ts";
import { distance, leastErrorFloor, noiseOfPart } from "../record/noise-floor.ts";
import { ofSlice } from "../tensor/slice.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { toNumeric } from "./checks.ts";
import { metricLabels } from "./registry.ts";

interface GrowthRule {
	precision: Precision;
	noiseFloor: NoiseFloor | undefined;
	rounding: GoldenManifest["rounding"];
	limits: Threshold;
	/** The base has another precision: what the head's explains is no growth. */
	hasOtherBase: boolean;
}

/** A golden that allows more growth than the config's warning replaces it. */
export function growthRule({
	manifest,
	precision,
	basePrecision = precision,
	errorGrowth: { warn, fail } = defaultGates.errorGrowth,
}: {
	manifest: GoldenManifest;
	precision: Precision;
	basePrecision?: Precision | undefined;
	errorGrowth?: Threshold;
}): GrowthRule {
	const { noiseFloor, rounding, policy } = manifest;
	const most = policy?.mostErrorGrowth;
	const hasOtherBase = basePrecision !== precision;
	const limits: Threshold = { warn: most ?? warn };
	// A lower precision explains growth of any size; its own limits decide.
	if (!hasOtherBase && fail !== undefined) limits.fail = Math.max(fail, most ?? 0);
	return { precision, noiseFloor, rounding, limits, hasOtherBase };
}

/** One error of both engines, with what two right engines show of it. */
interface Errors {
	output: string;
	slice: OutputSlice | undefined;
	/** What it measures. */
	label: string;
	/** NaN on either side exceeds nothing. */
	now: number;
	before: number;
	/** An error below it is none, so growth is measured from there. */
	noise: number;
	/**
	 * Larger than the noise where the precision alone explains more. A builder may leave layers in fp32, so that a base's error lies
	 * below it: growth up to here is another choice of kernels, which warns and never fails.
	 */
	rounding: number;
	elements: number;
	/** Head and base both fail the golden's own limit. */
	existing: boolean;
}

const relativeL2 = "relative-l2";

/**
 * Checks that warn or fail: of each relative L2 that the golden asks for, else of the whole output, and of all that head
 * and base both fail. Empty where no error grew, or is no larger than noise.
 */
export function errorGrowthChecks(
	checks: readonly GoldenCheck[],
	name: string,
	{ expected, got, base }: { expected: Tensor; got: Tensor; base: Tensor },
	rule: GrowthRule,
): GoldenCheck[] {
	const ofExisting = existingGrowthChecks(checks, rule);
	if (!isFloating(expected.dtype)) return ofExisting;
	let asked: Partial<GoldenCheck>[] = checks.filter(({ metric }) => metric === relativeL2);
	if (asked.length === 0)
		asked = [{ got: distance(expected, got)?.relativeL2, base: distance(expected, base)?.relativeL2 }];
	const { noiseFloor, rounding, precision } = rule;
	const measured = Object.hasOwn(noiseFloor?.outputs ?? {}, name) ? noiseFloor?.outputs[name] : undefined;
	const grown = asked.flatMap((check) => {
		const { existing = false, slice } = check;
		const noise = Math.max(leastErrorFloor, noiseOfPart(measured, slice)?.relativeL2 ?? 0);
		const emulated = emulatedRounding(rounding, { output: name, slice, precision });
		return growthCheck(
			{
				output: name,
				slice,
				label: `relative L2${ofSlice(slice)}`,
				now: finite(check.got),
				before: finite(check.base),
				noise,
				rounding: Math.max(noise, emulated ?? usualRoundings[precision]),
				elements: elementCount(expected.shape),
				existing,
			},
			rule,
		);
	});
	return [...grown, ...ofExisting];
}

function finite(value: GoldenCheck["base"]): number {
	return typeof value === "number" && Number.isFinite(value) ? value : Number.NaN;
}

/** A check that the base fails too still fails the head where the head is far worse: by the loss, where more is better. */
export function existingGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const labels: Readonly<Record<string, string>> = metricLabels;
	return checks.flatMap((check) => {
		const { existing = false, metric, bound, allowed } = check;
		if (!existing || metric === relativeL2 || allowed === null) return [];
		const errorOf = (value: GoldenCheck["base"]) => (bound === "at-most" ? finite(value) : 1 - finite(value));
		const floor = errorOf(allowed);
		// Decibels have no loss.
		if (floor < 0) return [];
		const name = Object.hasOwn(labels, metric) ? (labels[metric] ?? metric) : metric;
		const label = bound === "at-most" ? name : `loss of ${name}`;
		return growthCheck(errorsOf(check, label, floor, errorOf), rule);
	});
}

function errorsOf(
	{ output, slice, elements, existing, got, base }: GoldenCheck,
	label: string,
	floor: number,
	errorOf: (value: GoldenCheck["base"]) => number,
): Errors {
	const about = {
		output,
		slice,
		elements,
		existing: existing === true,
		label,
		noise: floor,
		rounding: floor,
	};
	return { ...about, now: errorOf(got), before: errorOf(base) };
}

/**
 * The same for detections, based on their comparators because boxes come in any order; the first that grew. It only warns:
 * the worst box of a picture scatters more than a norm over all of an output.
 */
export function boxGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const warning = { ...rule, limits: { warn: rule.limits.warn } };
	const grown = checks.flatMap((check) => {
		if (check.existing === true) return [];
		// With the differences that two correct engines show.
		if (check.metric === "box-score")
			return growthCheck(errorsOf(check, "largest score difference", 1e-4, finite), warning);
		if (check.metric !== "box-iou") return [];
		return growthCheck(
			errorsOf(check, "largest loss of overlap", 1e-3, (iou) => 1 - finite(iou)),
			warning,
		);
	});
	return [...grown, ...existingGrowthChecks(checks, rule)].slice(0, 1);
}

function growthCheck(errors: Errors, { limits, precision, hasOtherBase }: GrowthRule): GoldenCheck[] {
	const { output, slice, elements, label, now, before, noise, rounding, existing } = errors;
	const { warn, fail } = limits;
	const certain = now / Math.max(before, rounding);
	const growth = hasOtherBase ? certain : now / Math.max(before, noise);
	const fails = fail !== undefined && certain > fail;
	const allowed = fails ? fail : warn;
	if (!(now > noise) || allowed === undefined || !(growth > allowed)) return [];
	const from = before > noise ? twoDigits(before) : `noise (${twoDigits(before)})`;
	const within = existing ? "" : ", still within the limits of the golden";
	const bounds = [
		warn === undefined ? [] : `${formatTimes(warn)} warns`,
		fail === undefined ? [] : `${formatTimes(fail)} fails`,
	].flat();
	return [
		{
			output,
			slice,
			metric: "error-growth",
			got: toNumeric(growth),
			allowed,
			bound: "at-most",
			pass: false,
			severity: fails ? "fail" : "warn",
			elements,
			detail: `the ${precision} error grew ${formatTimes(growth)}: its ${label} went from ${from} in the base to ${twoDigits(now)}${within}; growth above ${bounds.join(", above ")}`,
		},
	];
}

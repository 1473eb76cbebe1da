// Compares an engine's error with its base's error: growth beyond a factor warns or fails, even within the golden's limits.

import type { GoldenManifest, NoiseFloor, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import type { Threshold } from "../../../core/config/config.ts";
import { defaultGates } from "../../../core/config/defaults.ts";
import { formatTimes, twoDigits } from "../../../core/text/units.ts";
import {
	distance,
	emulatedRounding,
	leastErrorFloor,
	noiseOfPart,
	usualRoundings,
} from "../record/noise-floor.ts";
import { elementCount, isFloating, ofSlice, own, type Tensor } from "../tensor/tensor.ts";
import { toNumeric } from "./checks.ts";
import { metricLabels } from "./registry.ts";

interface GrowthRule {
	precision: Precision;
	noiseFloor: NoiseFloor | undefined;
	rounding: GoldenManifest["rounding"];
	limits: Threshold;
	hasOtherBase: boolean;
}

/** The golden may allow more growth than the config. */
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
	// A lower precision explains any growth; its own limits decide.
	if (!hasOtherBase && fail !== undefined) limits.fail = Math.max(fail, most ?? 0);
	return { precision, noiseFloor, rounding, limits, hasOtherBase };
}

interface Growth {
	label: string;
	noise: number;
	/**
	 * Error that the precision explains; by default the noise. A builder may leave layers in fp32, so that the base's error lies below
	 * it: growth up to here is another choice of kernels, which warns and never fails.
	 */
	rounding?: number;
	errorOf?(value: GoldenCheck["base"]): number;
}

const relativeL2 = "relative-l2";

/** Of each relative L2 that the golden asks for, else of the whole output's, and of what head and base both fail. */
export function errorGrowthChecks(
	checks: readonly GoldenCheck[],
	name: string,
	{ expected, got, base }: { expected: Tensor; got: Tensor; base: Tensor },
	rule: GrowthRule,
): GoldenCheck[] {
	const ofExisting = existingGrowthChecks(checks, rule);
	if (!isFloating(expected.dtype)) return ofExisting;
	const about = { output: name, elements: elementCount(expected.shape) };
	let asked: Partial<GoldenCheck>[] = checks.filter(({ metric }) => metric === relativeL2);
	if (asked.length === 0)
		asked = [{ got: distance(expected, got)?.relativeL2, base: distance(expected, base)?.relativeL2 }];
	const { noiseFloor, rounding, precision } = rule;
	const grown = asked.flatMap((check) => {
		const { slice } = check;
		const measured = noiseOfPart(own(noiseFloor?.outputs, name), slice)?.relativeL2 ?? 0;
		const noise = Math.max(leastErrorFloor, measured);
		const emulated = emulatedRounding(rounding, { output: name, slice, precision });
		const growth = {
			label: `relative L2${ofSlice(slice)}`,
			noise,
			rounding: Math.max(noise, emulated ?? usualRoundings[precision]),
		};
		return growthCheck({ ...check, ...about }, growth, rule);
	});
	return [...grown, ...ofExisting];
}

function finite(value: GoldenCheck["base"]): number {
	return typeof value === "number" && Number.isFinite(value) ? value : Number.NaN;
}

/** What the base fails too still fails the head if its error is far larger. */
export function existingGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const labels: Readonly<Record<string, string>> = metricLabels;
	return checks.flatMap((check) => {
		const { existing = false, metric, bound, allowed } = check;
		if (!existing || metric === relativeL2 || allowed === null) return [];
		const errorOf = (value: GoldenCheck["base"]) => (bound === "at-most" ? finite(value) : 1 - finite(value));
		const floor = errorOf(allowed);
		// Decibels have no loss.
		if (floor < 0) return [];
		const name = own(labels, metric) ?? metric;
		const label = bound === "at-most" ? name : `loss of ${name}`;
		return growthCheck(check, { label, noise: floor, errorOf }, rule);
	});
}

const boxNoise = { score: 1e-4, overlap: 1e-3 };

/** Only warns, because the worst box of a picture scatters more than a norm over an output; the first that grew. */
export function boxGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const warning = { ...rule, limits: { warn: rule.limits.warn } };
	const grown = checks.flatMap((check) => {
		if (check.existing === true) return [];
		if (check.metric === "box-score")
			return growthCheck(check, { label: "largest score difference", noise: boxNoise.score }, warning);
		if (check.metric !== "box-iou") return [];
		const errorOf = (iou: GoldenCheck["base"]): number => 1 - finite(iou);
		return growthCheck(
			check,
			{ label: "largest loss of overlap", noise: boxNoise.overlap, errorOf },
			warning,
		);
	});
	return [...grown, ...existingGrowthChecks(checks, rule)].slice(0, 1);
}

function growthCheck(
	{
		output,
		slice,
		elements,
		existing,
		got,
		base,
	}: Pick<GoldenCheck, "output" | "elements"> & Partial<GoldenCheck>,
	{ label, noise, rounding = noise, errorOf = finite }: Growth,
	{ limits, precision, hasOtherBase }: GrowthRule,
): GoldenCheck[] {
	const [now, before] = [errorOf(got), errorOf(base)];
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

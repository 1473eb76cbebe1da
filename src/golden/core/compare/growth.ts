// Judges how far the error of a golden case grew beyond the base's, within the golden's own limits.
import type { GoldenManifest, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import { defaultGates, type Threshold } from "../../../core/config/config.ts";
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

type GrowthRule = ReturnType<typeof growthRule>;

export function growthRule({
	manifest,
	precision,
	basePrecision = precision,
	errorGrowth: { warn, fail } = defaultGates.errorGrowth,
}: {
	manifest: GoldenManifest;
	precision: Precision;
	basePrecision?: Precision;
	errorGrowth?: Threshold;
}) {
	const most = manifest.policy?.mostErrorGrowth;
	const hasOtherBase = basePrecision !== precision;
	const limits: Threshold = { warn: most ?? warn };
	// A lower precision explains any growth; its own limits decide.
	if (!hasOtherBase && fail !== undefined) limits.fail = Math.max(fail, most ?? 0);
	return { precision, manifest, limits, hasOtherBase };
}

interface Growth {
	label: string;
	noise: number;
	/**
	 * Error that the precision explains; by default the noise. A builder may leave layers in fp32, so that the base's error lies below
	 * it: growth up to here is another choice of kernels, which warns and never fails.
	 */
	rounding?: number;
	errorOf?: (value: GoldenCheck["base"]) => number;
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
	const { manifest, precision } = rule;
	const { noiseFloor, rounding } = manifest;
	const grown = asked.flatMap((check) => {
		const { slice } = check;
		const measured = noiseOfPart(own(noiseFloor?.outputs, name), slice)?.relativeL2 ?? 0;
		const noise = Math.max(leastErrorFloor, measured);
		const emulated = emulatedRounding(rounding, { output: name, slice, precision });
		const explained = Math.max(noise, emulated ?? usualRoundings[precision]);
		const growth = { label: `relative L2${ofSlice(slice)}`, noise, rounding: explained };
		return growthCheck({ ...check, ...about }, growth, rule);
	});
	return [...grown, ...ofExisting];
}

function finite(value: GoldenCheck["base"]) {
	return typeof value === "number" && Number.isFinite(value) ? value : NaN;
}

/** What the base fails too still fails the head if its error is far larger. */
export function existingGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const labels: Readonly<Record<string, string>> = metricLabels;
	return checks.flatMap((check) => {
		const { existing = false, metric, bound, allowed } = check;
		if (!existing || metric === relativeL2 || allowed === null) return [];
		const errorOf = (value: GoldenCheck["base"]) => (bound === "at-most" ? finite(value) : 1 - finite(value));
		const floor = errorOf(allowed);
		if (floor < 0) return [];
		const name = own(labels, metric) ?? metric;
		const label = bound === "at-most" ? name : `loss of ${name}`;
		return growthCheck(check, { label, noise: floor, errorOf }, rule);
	});
}

const boxGrowths: Readonly<Record<string, Growth>> = {
	"box-score": { label: "largest score difference", noise: 1e-4 },
	"box-iou": { label: "largest loss of overlap", noise: 1e-3, errorOf: (iou) => 1 - finite(iou) },
};

/** Only warns, because the worst box of a picture scatters more than a norm over an output; the first that grew. */
export function boxGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const warning = { ...rule, limits: { warn: rule.limits.warn } };
	const grown = checks.flatMap((check) => {
		const growth = own(boxGrowths, check.metric);
		return growth === undefined || check.existing === true ? [] : growthCheck(check, growth, warning);
	});
	return [...grown, ...existingGrowthChecks(checks, rule)].slice(0, 1);
}

function limitText(
	{ growth, certain, times }: { growth: number; certain: number; times: number },
	{ allowed, fail }: { allowed: number; fail: number | undefined },
	precision: string,
) {
	if (fail === undefined) return `above ${formatTimes(allowed)}: warns`;
	if (growth <= fail) return `above ${formatTimes(allowed)}: warns, and fails above ${formatTimes(fail)}`;
	if (certain === growth) return `above ${formatTimes(fail)}: fails`;
	if (times <= 1) return `within what ${precision} explains: warns`;
	const explained = `${formatTimes(times)} what ${precision} explains`;
	return certain > fail
		? `and is ${explained}: fails`
		: `but is ${explained}: warns, and fails above ${formatTimes(fail)} that`;
}

function growthCheck(
	check: Pick<GoldenCheck, "output" | "elements"> & Partial<GoldenCheck>,
	{ label, noise, rounding = noise, errorOf = finite }: Growth,
	{ limits, precision, hasOtherBase }: GrowthRule,
): GoldenCheck[] {
	const { output, slice, elements, existing } = check;
	const [now, before] = [errorOf(check.got), errorOf(check.base)];
	const { warn, fail } = limits;
	const certain = now / Math.max(before, rounding);
	const growth = hasOtherBase ? certain : now / Math.max(before, noise);
	const fails = fail !== undefined && certain > fail;
	const allowed = fails ? fail : warn;
	if (!(now > noise) || allowed === undefined || !(growth > allowed)) return [];
	const from = before > noise ? twoDigits(before) : `noise (${twoDigits(before)})`;
	const within = existing ? "" : ", still within the limits of the golden";
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
			detail: `the ${precision} error grew ${formatTimes(growth)}, ${limitText({ growth, certain, times: now / rounding }, { allowed, fail }, precision)}; its ${label} went from ${from} in the base to ${twoDigits(now)}${within}`,
		},
	];
}

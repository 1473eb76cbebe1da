// Compares an engine's error with its base's error: growth beyond a factor warns or fails, even within the golden's limits.

import type { GoldenManifest, NoiseFloor, OutputSlice, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import type { Threshold } from "../../config/config.ts";
import { formatTimes, twoDigits } from "../../text/units.ts";
import { metricLabels } from "../metrics/measured.ts";
import { emulatedRounding, usualRoundings } from "../record/emulated-rounding.ts";
import { distance, leastErrorFloor, noiseOfPart } from "../record/noise-floor.ts";
import { ofSlice } from "../tensor/slice.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { toNumeric } from "./checks.ts";

export interface ErrorSides {
	name: string;
	expected: Tensor;
	got: Tensor;
	base: Tensor;
}

export interface GrowthRule {
	precision: Precision;
	noiseFloor: NoiseFloor | undefined;
	/** Of the golden. */
	rounding: GoldenManifest["rounding"];
	limits: Threshold;
	/** The base has another precision: what the head's explains is no growth. */
	hasOtherBase?: boolean;
}

/** A golden that allows more growth than the config's warning replaces it. */
export function growthLimits({ warn, fail }: Threshold, most: number | undefined): Threshold {
	if (most === undefined) return { warn, fail };
	return { warn: most, fail: fail === undefined ? undefined : Math.max(fail, most) };
}

/** One error of both engines, with what two right engines show of it. */
interface Errors {
	output: string;
	slice: OutputSlice | undefined;
	/** What it measures. */
	label: string;
	now: number;
	before: number;
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

/**
 * Checks that warn or fail: of each relative L2 that the golden asks for, else of the whole output, and of all that head
 * and base both fail. Empty where no error grew, or is no larger than noise.
 */
export function errorGrowthChecks(
	checks: readonly GoldenCheck[],
	sides: ErrorSides,
	rule: GrowthRule,
): GoldenCheck[] {
	const ofExisting = existingGrowthChecks(checks, rule);
	if (!isFloating(sides.expected.dtype)) return ofExisting;
	const asked = checks.filter(({ metric }) => metric === relativeL2);
	const errors =
		asked.length > 0
			? asked.map(({ got, base, ...check }) => ({ now: got, before: base, ...check }))
			: [wholeErrors(sides)];
	const elements = elementCount(sides.expected.shape);
	return [
		...errors.flatMap(({ now, before, existing = false, slice }) => {
			const about = { output: sides.name, slice, label: `relative L2${ofSlice(slice)}`, elements, existing };
			return growthCheck(
				{ ...about, ...floorsOf(sides.name, slice, rule), now: finite(now), before: finite(before) },
				rule,
			);
		}),
		...ofExisting,
	];
}

const relativeL2 = "relative-l2";

function floorsOf(
	name: string,
	slice: OutputSlice | undefined,
	{ noiseFloor, rounding, precision }: GrowthRule,
): Pick<Errors, "noise" | "rounding"> {
	const measured = Object.hasOwn(noiseFloor?.outputs ?? {}, name) ? noiseFloor?.outputs[name] : undefined;
	const noise = Math.max(leastErrorFloor, noiseOfPart(measured, slice)?.relativeL2 ?? 0);
	const emulated = emulatedRounding(rounding, { output: name, slice, precision });
	return { noise, rounding: Math.max(noise, emulated ?? usualRoundings[precision]) };
}

function wholeErrors({
	expected,
	got,
	base,
}: ErrorSides): Partial<Pick<GoldenCheck, "existing" | "slice">> & { now?: number; before?: number } {
	const [now, before] = [distance(expected, got), distance(expected, base)];
	return now === null || before === null ? {} : { now: now.relativeL2, before: before.relativeL2 };
}

function finite(value: GoldenCheck["base"]): number {
	return typeof value === "number" && Number.isFinite(value) ? value : Number.NaN;
}

/** A check that the base fails too still fails the head where the head is far worse: by the loss, where more is better. */
export function existingGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const failing = checks.filter(
		({ existing, metric, allowed }) => existing === true && metric !== relativeL2 && allowed !== null,
	);
	return failing.flatMap((check) => {
		const { output, slice, metric, bound, elements } = check;
		const errorOf = (value: GoldenCheck["base"]) => (bound === "at-most" ? finite(value) : 1 - finite(value));
		const floor = errorOf(check.allowed);
		// Decibels have no loss.
		if (floor < 0) return [];
		const label = bound === "at-most" ? metricLabelOf(metric) : `loss of ${metricLabelOf(metric)}`;
		const about = { output, slice, label, elements, noise: floor, rounding: floor, existing: true };
		return growthCheck({ ...about, now: errorOf(check.got), before: errorOf(check.base) }, rule);
	});
}

function metricLabelOf(metric: string): string {
	const labels: Readonly<Record<string, string>> = metricLabels;
	return Object.hasOwn(labels, metric) ? (labels[metric] ?? metric) : metric;
}

/** Errors of matched boxes, with the difference that two correct engines show. */
const boxErrors: Readonly<Record<string, { label: string; floor: number; errorOf(value: number): number }>> =
	{
		"box-score": { label: "largest score difference", floor: 1e-4, errorOf: (score) => score },
		"box-iou": { label: "largest loss of overlap", floor: 1e-3, errorOf: (iou) => 1 - iou },
	};

/**
 * The same for detections, based on their comparators because boxes come in any order; the first that grew. It only warns:
 * the worst box of a picture scatters more than a norm over all of an output.
 */
export function boxGrowthChecks(checks: readonly GoldenCheck[], rule: GrowthRule): GoldenCheck[] {
	const grown = checks.flatMap(({ metric, got, base, output, elements, existing = false }) => {
		const error = Object.hasOwn(boxErrors, metric) ? boxErrors[metric] : undefined;
		if (error === undefined || existing) return [];
		const { label, floor, errorOf } = error;
		const errors = {
			now: errorOf(finite(got)),
			before: errorOf(finite(base)),
			noise: floor,
			rounding: floor,
		};
		const { fail: _, ...limits } = rule.limits;
		return growthCheck(
			{ output, slice: undefined, label, elements, existing, ...errors },
			{ ...rule, limits },
		);
	});
	return [...grown, ...existingGrowthChecks(checks, rule)].slice(0, 1);
}

/** An error below the noise is none, so growth is measured from there. NaN on either side exceeds nothing. */
function growthCheck(errors: Errors, { limits, precision, hasOtherBase = false }: GrowthRule): GoldenCheck[] {
	const { now, before, noise, rounding } = errors;
	const certain = now / Math.max(before, rounding);
	const growth = hasOtherBase ? certain : now / Math.max(before, noise);
	const fails = limits.fail !== undefined && certain > limits.fail;
	const allowed = fails ? limits.fail : limits.warn;
	if (!(now > noise) || allowed === undefined || !(growth > allowed)) return [];
	return [
		{
			output: errors.output,
			slice: errors.slice,
			metric: "error-growth",
			got: toNumeric(growth),
			allowed,
			bound: "at-most",
			pass: false,
			severity: fails ? "fail" : "warn",
			elements: errors.elements,
			detail: detailOf(errors, { growth, precision, limits }),
		},
	];
}

function detailOf(errors: Errors, of: { growth: number; precision: Precision; limits: Threshold }): string {
	const { label, now, before, noise, existing } = errors;
	const { warn, fail } = of.limits;
	const from = before > noise ? twoDigits(before) : `noise (${twoDigits(before)})`;
	const limits = [
		warn === undefined ? [] : `${formatTimes(warn)} warns`,
		fail === undefined ? [] : `${formatTimes(fail)} fails`,
	].flat();
	const within = existing ? "" : ", still within the limits of the golden";
	return `the ${of.precision} error grew ${formatTimes(of.growth)}: its ${label} went from ${from} in the base to ${twoDigits(now)}${within}; growth above ${limits.join(", above ")}`;
}

// Compares an engine's error with its base's error: growth beyond a factor warns, even within the limits.
import type { NoiseFloor, Precision } from "../../schema/golden.ts";
import type { GoldenCheck } from "../../schema/result.ts";
import { distance, leastErrorFloor } from "../record/noise-floor.ts";
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
	/** Largest allowed multiple of the base's error; default 2. */
	most: number | undefined;
}

/** Different kernel choices change the error by less than a factor of two. */
const defaultMost = 2;

/** The check that warns, or null where the error did not grow, or is no larger than noise. */
export function errorGrowthCheck({ name, expected, got, base }: ErrorSides, rule: GrowthRule): GoldenCheck | null {
	if (!isFloating(expected.dtype)) return null;
	const now = distance(expected, got)?.relativeL2;
	const before = distance(expected, base)?.relativeL2;
	if (now === undefined || before === undefined || !Number.isFinite(now) || !Number.isFinite(before)) return null;
	const measured = Object.hasOwn(rule.noiseFloor?.outputs ?? {}, name) ? rule.noiseFloor?.outputs[name]?.relativeL2 : undefined;
	const floor = Math.max(leastErrorFloor, measured ?? 0);
	const most = rule.most ?? defaultMost;
	// An error below the floor is noise, so growth is measured from the floor.
	const growth = now / Math.max(before, floor);
	if (!(now > floor) || growth <= most) return null;
	const from = before > floor ? figure(before) : `noise (${figure(before)})`;
	return {
		...warning(name, { growth, most, elements: elementCount(expected.shape) }),
		detail: `the ${rule.precision} error grew ${figure(growth)}×: its relative L2 went from ${from} in the base to ${figure(now)}, still within the limits`,
	};
}

function warning(output: string, of: { growth: number; most: number; elements: number }) {
	const { growth, most, elements } = of;
	return {
		output,
		metric: "error-growth",
		got: toNumeric(growth),
		allowed: most,
		bound: "at-most",
		pass: false,
		severity: "warn",
		elements,
	} as const;
}

/** Errors of matched boxes, with the difference that two correct engines show. */
const boxErrors: Readonly<Record<string, { label: string; floor: number; errorOf(value: number): number }>> = {
	"box-score": { label: "largest score difference", floor: 1e-4, errorOf: (score) => score },
	"box-iou": { label: "largest loss of overlap", floor: 1e-3, errorOf: (iou) => 1 - iou },
};

/** The same check for detections, based on their comparators because boxes come in any order. */
export function boxGrowthCheck(checks: readonly GoldenCheck[], rule: Omit<GrowthRule, "noiseFloor">): GoldenCheck | null {
	const most = rule.most ?? defaultMost;
	for (const { metric, got, base, output, elements } of checks) {
		const error = Object.hasOwn(boxErrors, metric) ? boxErrors[metric] : undefined;
		if (error === undefined || typeof got !== "number" || typeof base !== "number") continue;
		const [now, before] = [error.errorOf(got), error.errorOf(base)];
		const growth = now / Math.max(before, error.floor);
		if (!(now > error.floor) || growth <= most) continue;
		const from = before > error.floor ? figure(before) : `noise (${figure(before)})`;
		return {
			...warning(output, { growth, most, elements }),
			detail: `the ${rule.precision} error grew ${figure(growth)}×: the ${error.label} went from ${from} in the base to ${figure(now)}, still within the limits`,
		};
	}
	return null;
}

function figure(value: number): string {
	return String(Number(value.toPrecision(2)));
}

// Judges an engine's error by the error that its base already had: three times as far from the golden is news, even under the limit.
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
	/** How many times the base's error is too many; absent: 2, the factor between an engine and one of half its digits. */
	most: number | undefined;
}

/** Kernels of another choice differ by less than twofold. */
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
	// An error below the floor is chance: growth counts from there.
	const growth = now / Math.max(before, floor);
	if (!(now > floor) || growth <= most) return null;
	const from = before > floor ? figure(before) : `chance (${figure(before)})`;
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

/** Of pairs of boxes: how far off they are, and what two right engines differ by. */
const boxErrors: Readonly<Record<string, { words: string; floor: number; errorOf(value: number): number }>> = {
	"box-score": { words: "largest score difference", floor: 1e-4, errorOf: (score) => score },
	"box-iou": { words: "largest loss of overlap", floor: 1e-3, errorOf: (iou) => 1 - iou },
};

/** The same of detections, by the numbers of their own comparators: their elements come in any order. */
export function boxGrowthCheck(checks: readonly GoldenCheck[], rule: Omit<GrowthRule, "noiseFloor">): GoldenCheck | null {
	const most = rule.most ?? defaultMost;
	for (const { metric, got, base, output, elements } of checks) {
		const error = Object.hasOwn(boxErrors, metric) ? boxErrors[metric] : undefined;
		if (error === undefined || typeof got !== "number" || typeof base !== "number") continue;
		const [now, before] = [error.errorOf(got), error.errorOf(base)];
		const growth = now / Math.max(before, error.floor);
		if (!(now > error.floor) || growth <= most) continue;
		const from = before > error.floor ? figure(before) : `chance (${figure(before)})`;
		return {
			...warning(output, { growth, most, elements }),
			detail: `the ${rule.precision} error grew ${figure(growth)}×: the ${error.words} went from ${from} in the base to ${figure(now)}, still within the limits`,
		};
	}
	return null;
}

function figure(value: number): string {
	return String(Number(value.toPrecision(2)));
}

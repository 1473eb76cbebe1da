// Compares facts that have no noise, or whose noise has a known bound: engine size, memory.
import type { Comparison } from "../schema/result.ts";

export interface ExactOptions {
	/** What is compared, for sentences: `engine size`. */
	what: string;
	/** A difference up to the larger of the two tolerances is none; both 0 by default. */
	toleranceBytes?: number;
	/** Share of the base. */
	toleranceFraction?: number;
}

/** Observed peak memory comes in steps of a MiB and moves with the driver's lazy loading. */
export const observedMemory: ExactOptions = { what: "GPU memory", toleranceBytes: 2 * 2 ** 20, toleranceFraction: 0.005 };

function isSize(value: number | null): value is number {
	return value !== null && Number.isFinite(value) && value >= 0;
}

function verdictOf(change: number, tolerance: number): Comparison["verdict"] {
	if (Math.abs(change) <= tolerance) return "unchanged";
	return change > 0 ? "regressed" : "improved";
}

/** Why two sizes cannot be compared; null when they can. A value that vanished is worse than one that never was. */
function obstacle(base: number | null, head: number | null, what: string): { verdict: Comparison["verdict"]; reason: string } | null {
	if (base === null && head === null) return { verdict: "missing", reason: `Neither arm reports its ${what}.` };
	if (base === null) return { verdict: "missing", reason: `The base reports no ${what}: there is nothing to compare with.` };
	if (head === null) return { verdict: "not-comparable", reason: `The base reports its ${what}, the head does not.` };
	if (!isSize(base)) return { verdict: "not-comparable", reason: `The base's ${what} is ${base}, not a size.` };
	if (!isSize(head)) return { verdict: "not-comparable", reason: `The head's ${what} is ${head}, not a size.` };
	if (base === 0 && head > 0) return { verdict: "not-comparable", reason: `The base's ${what} is 0: no ratio exists.` };
	return null;
}

/** Larger is worse. `minimalEffect` of the result is the tolerance as a share of the base, `level` 1, `pairs` 0: nothing was sampled. */
export function compareExact(base: number | null, head: number | null, options: ExactOptions): Comparison {
	const { what, toleranceBytes = 0, toleranceFraction = 0 } = options;
	const blank = { estimate: null, interval: null, pairs: 0, excluded: null, minimalEffect: toleranceFraction, level: 1 };
	const fault = obstacle(base, head, what);
	if (fault !== null || base === null || head === null) return { ...blank, verdict: "missing", ...fault };
	const tolerance = Math.max(toleranceBytes, toleranceFraction * base);
	const estimate = base === 0 ? 0 : (head - base) / base;
	return {
		verdict: verdictOf(head - base, tolerance),
		estimate,
		interval: [estimate, estimate],
		pairs: 0,
		excluded: Math.abs(estimate),
		minimalEffect: base === 0 ? toleranceFraction : tolerance / base,
		level: 1,
	};
}

// Group-sequential looks: after how many pairs a verdict is computed, and how much of the error each look may spend.

export const defaultLooks: readonly number[] = [5, 8, 12, 16];
export const defaultAlpha = 0.01;

/**
 * How a workload's error is split between the two figures that can fail the job. The verdict and the number of pairs hang on
 * the latency, so it gets most; P99 has a limit five times as wide.
 */
const figureShares = { latency: 0.8, p99: 0.2 } as const;

export function errorShare(figure: keyof typeof figureShares, family: number): number {
	return figureShares[figure] / family;
}

function ascending(looks: readonly number[]): readonly number[] {
	return [...new Set(looks)].sort((left, right) => left - right);
}

/**
 * The two-sided p at which `pairs` pairs are judged: that of the last look they reach. Null below the first look.
 *
 * Each look spends in proportion to the pairs that it adds (Kim and DeMets, Biometrika 74, 1987, with exponent 1). Together
 * the looks spend `alpha`, so by the union bound no more, however they hang together and however small `alpha` is. A
 * boundary calibrated for one alpha cannot be scaled down: looks reject together the less the smaller the error.
 */
export function nominalP(looks: readonly number[], pairs: number, alpha: number): number | null {
	const sorted = ascending(looks);
	const reached = sorted.findLastIndex((look) => look <= pairs);
	const [look, last] = [sorted[reached], sorted.at(-1)];
	return look === undefined || last === undefined
		? null
		: (alpha * (look - (sorted[reached - 1] ?? 0))) / last;
}

export function nextLook(looks: readonly number[], pairs: number): number | null {
	return ascending(looks).find((look) => look > pairs) ?? null;
}

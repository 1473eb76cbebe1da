// Group-sequential looks, and the error that each may spend.

export const defaultLooks: readonly number[] = [5, 8, 12, 16];
export const defaultAlpha = 0.01;

/** The latency decides the verdict and the number of pairs; the limit of P99 is five times as wide. */
const figureShares = { latency: 0.8, p99: 0.2 } as const;

export function errorShare(figure: keyof typeof figureShares, family: number): number {
	return figureShares[figure] / family;
}

function ascending(looks: readonly number[]): readonly number[] {
	return [...new Set(looks)].sort((left, right) => left - right);
}

/**
 * The two-sided p at the last look that `pairs` pairs reach; null before the first. Each look spends in proportion to
 * the pairs that it adds (Kim and DeMets, Biometrika 74, 1987, exponent 1), so by the union bound at most `alpha` in
 * all, however the looks correlate.
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

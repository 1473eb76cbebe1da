// Euclidean norms of values of any size: squares of binary64 values outside 2^±400 vanish or overflow.

export interface Norm {
	/** Of the values times the scale. */
	sumSquared: number;
	/** A power of two; 1 unless squares would leave binary64. */
	scale: number;
}

export const noNorm: Norm = { sumSquared: 0, scale: 1 };

const mostExponent = 400;

/** What brings values of this size near 1; 1 where their squares are safe. */
export function scaleFor(largest: number): number {
	if (largest === 0) return 1;
	const exponent = Math.floor(Math.log2(largest));
	return Math.abs(exponent) <= mostExponent ? 1 : 2 ** -Math.max(-1000, Math.min(1000, exponent));
}

/** Whether a sum of plain squares lost nothing that counts. */
export function isSafeSum(sumSquared: number): boolean {
	return sumSquared >= 2 ** -900 && sumSquared <= 2 ** 1000;
}

export function normRatio(left: Norm, right: Norm): number {
	return (Math.sqrt(left.sumSquared) / Math.sqrt(right.sumSquared)) * (right.scale / left.scale);
}

/** The norm of all values of both. */
export function joinNorms(left: Norm, right: Norm): Norm {
	if (left.sumSquared === 0) return right;
	const scale = Math.min(left.scale, right.scale);
	const at = (norm: Norm): number => norm.sumSquared * (scale / norm.scale) ** 2;
	return { sumSquared: at(left) + at(right), scale };
}

export function longerNorm(left: Norm, right: Norm): Norm {
	return normRatio(left, right) > 1 ? left : right;
}

// Cosine similarity of an output.
import type { Pair } from "../compare/difference.ts";
import { pairChunks } from "../tensor/values.ts";
import type { Measured } from "./measured.ts";

/**
 * Σ g·c / (‖g‖ ‖c‖), as 1 − (1 − cos), of which the latter is kept to full precision. Both zero: 1; one zero: 0 (the convention of
 * Polygraphy). Pairs that are not finite are left out.
 */
export function cosine(pair: Pair): Measured {
	const { elements, maxAbsAt } = pair.difference();
	const distance = cosineDistance(pair);
	return {
		value: 1 - distance,
		elements,
		worstAt: maxAbsAt,
		detail: `1 − cosine is ${Number(distance.toPrecision(4))}`,
	};
}

/**
 * 1 − cos. Both sides are scaled to about unit length first: the cosine does not change, and neither side is lost beside the other.
 * With d = c − g and its part at right angles to g, d⊥ = d − g · (g·d)/‖g‖², Lagrange's identity gives
 * 1 − cos = ‖g‖² ‖d⊥‖² / (‖c‖‖g‖ · (‖c‖‖g‖ + g·c)), in which nothing cancels where the product form would.
 */
export function cosineDistance(pair: Pair): number {
	const sizes = sizesOf(pair);
	if (sizes === null) return 0;
	let gg = 0;
	let cc = 0;
	let gc = 0;
	let gd = 0;
	forEachPair(pair, (expected, got) => {
		const g = expected / sizes.expected;
		const c = got / sizes.got;
		gg += g * g;
		cc += c * c;
		gc += g * c;
		gd += g * (c - g);
	});
	if (gg === 0 || cc === 0) return 1;
	const lengths = Math.sqrt(gg) * Math.sqrt(cc);
	if (gc <= 0) return 1 - Math.max(-1, gc / lengths);
	let across = 0;
	forEachPair(pair, (expected, got) => {
		const g = expected / sizes.expected;
		across += (got / sizes.got - g - g * (gd / gg)) ** 2;
	});
	return (gg * across) / (lengths * (lengths + gc));
}

/** Sides whose peaks are no further apart are divided by one size, so that what they differ by is exact. */
const sameSize = 4;

/** Powers of two that both sides are divided by, so that no square leaves binary64; null where both are zero. */
function sizesOf(pair: Pair): { expected: number; got: number } | null {
	let expectedPeak = 0;
	let gotPeak = 0;
	forEachPair(pair, (expected, got) => {
		expectedPeak = Math.max(expectedPeak, Math.abs(expected));
		gotPeak = Math.max(gotPeak, Math.abs(got));
	});
	if (expectedPeak === 0 && gotPeak === 0) return null;
	const own = { expected: sizeOf(expectedPeak), got: sizeOf(gotPeak) };
	const [less, more] = own.expected < own.got ? [own.expected, own.got] : [own.got, own.expected];
	return more / less > sameSize ? own : { expected: more, got: more };
}

function sizeOf(peak: number): number {
	return peak === 0 ? 1 : 2 ** Math.min(1023, Math.floor(Math.log2(peak)));
}

function forEachPair(pair: Pair, visit: (expected: number, got: number) => void): void {
	for (const { expected, got } of pairChunks(pair)) {
		for (let i = 0; i < expected.length; i += 1) {
			const a = expected[i] as number;
			const b = got[i] as number;
			if (Number.isFinite(a) && Number.isFinite(b)) visit(a, b);
		}
	}
}

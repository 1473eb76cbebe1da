// Cosine similarity of an output.
import type { Pair } from "../compare/difference.ts";
import { pairChunks } from "../tensor/values.ts";
import type { Measured } from "./measured.ts";

/** Σ g·c / (‖g‖ ‖c‖) over finite pairs. Both zero: 1; one zero: 0 (the convention of Polygraphy). */
export function cosine(pair: Pair): Measured {
	const { elements, maxAbsAt } = pair.difference();
	const distance = cosineDistance(pair);
	const detail = `1 − cosine is ${Number(distance.toPrecision(4))}`;
	return { value: 1 - distance, elements, worstAt: maxAbsAt, detail };
}

/**
 * 1 − cos to full precision. Both sides are scaled to about unit length first, which keeps the cosine and all digits. With
 * d = c − g and its part at right angles to g, d⊥ = d − g · (g·d)/‖g‖², Lagrange's identity gives
 * 1 − cos = ‖g‖² ‖d⊥‖² / (‖c‖‖g‖ · (‖c‖‖g‖ + g·c)), in which nothing cancels.
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

/** Sides whose peaks differ by less are divided by the same size, which keeps their difference exact. */
const sameSize = 4;

/** Powers of two to divide both sides by, so that no square leaves binary64; null if both are zero. */
function sizesOf(pair: Pair): { expected: number; got: number } | null {
	let expectedPeak = 0;
	let gotPeak = 0;
	forEachPair(pair, (expected, got) => {
		expectedPeak = Math.max(expectedPeak, Math.abs(expected));
		gotPeak = Math.max(gotPeak, Math.abs(got));
	});
	if (expectedPeak === 0 && gotPeak === 0) return null;
	const own = { expected: sizeOf(expectedPeak), got: sizeOf(gotPeak) };
	const larger = Math.max(own.expected, own.got);
	return larger / Math.min(own.expected, own.got) > sameSize ? own : { expected: larger, got: larger };
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

// Cosine similarity of an output.
import type { Pair } from "../difference.ts";
import { elementCount } from "../tensor.ts";
import { float64Reader, forEachChunk } from "../values.ts";
import type { Measured } from "./measured.ts";

/**
 * Σ g·c / (‖g‖ ‖c‖), as 1 − (1 − cos), of which the latter is kept to full precision. Both zero: 1; one zero: 0 (the convention of
 * Polygraphy). Pairs that are not finite are left out.
 */
export function cosine(pair: Pair): Measured {
	const { elements, maxAbsAt } = pair.difference();
	const distance = cosineDistance(pair);
	return { value: 1 - distance, elements, worstAt: maxAbsAt, detail: `1 − cosine is ${Number(distance.toPrecision(4))}` };
}

/**
 * 1 − cos. Both sides are scaled to about unit length first: the cosine does not change, and neither side is lost beside the other.
 * With d = c − g and its part at right angles to g, d⊥ = d − g · (g·d)/‖g‖², Lagrange's identity gives
 * 1 − cos = ‖g‖² ‖d⊥‖² / (‖c‖‖g‖ · (‖c‖‖g‖ + g·c)), in which nothing cancels where the product form would.
 */
export function cosineDistance(pair: Pair): number {
	const scales = scalesOf(pair);
	if (scales === null) return 0;
	let gg = 0;
	let cc = 0;
	let gc = 0;
	let gd = 0;
	forEachPair(pair, (expected, got) => {
		const g = expected * scales.expected;
		const c = got * scales.got;
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
		const g = expected * scales.expected;
		across += (got * scales.got - g - g * (gd / gg)) ** 2;
	});
	return (gg * across) / (lengths * (lengths + gc));
}

/** Sides whose peaks are no further apart share a scale, so that what they differ by is exact. */
const sameSize = 4;

/** Powers of two that bring both sides near 1, so that no square leaves binary64; null where both are zero. */
function scalesOf(pair: Pair): { expected: number; got: number } | null {
	let expectedPeak = 0;
	let gotPeak = 0;
	forEachPair(pair, (expected, got) => {
		expectedPeak = Math.max(expectedPeak, Math.abs(expected));
		gotPeak = Math.max(gotPeak, Math.abs(got));
	});
	if (expectedPeak === 0 && gotPeak === 0) return null;
	const own = { expected: scaleOf(expectedPeak), got: scaleOf(gotPeak) };
	const common = Math.min(own.expected, own.got);
	return Math.max(own.expected, own.got) > sameSize * common ? own : { expected: common, got: common };
}

function scaleOf(peak: number): number {
	return peak === 0 ? 1 : 2 ** -Math.max(-1000, Math.min(1000, Math.floor(Math.log2(peak))));
}

function forEachPair(pair: Pair, visit: (expected: number, got: number) => void): void {
	const readExpected = float64Reader(pair.expected);
	const readGot = float64Reader(pair.got);
	forEachChunk(elementCount(pair.expected.shape), (start, count) => {
		const expected = readExpected(start, count);
		const got = readGot(start, count);
		for (let i = 0; i < count; i += 1) {
			const a = expected[i] as number;
			const b = got[i] as number;
			if (Number.isFinite(a) && Number.isFinite(b)) visit(a, b);
		}
	});
}

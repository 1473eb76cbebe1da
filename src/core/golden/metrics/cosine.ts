// Cosine similarity of an output.
import type { Pair } from "../difference.ts";
import { elementCount } from "../tensor.ts";
import { float64Reader, forEachChunk } from "../values.ts";
import type { Measured } from "./measured.ts";

/**
 * Σ g·c / (‖g‖ ‖c‖), as 1 − ‖c/‖c‖ − g/‖g‖‖² / 2, which keeps 1 − cos where it is below 1e-9 and the product form
 * cancels. Both zero: 1; one zero: 0 (the convention of Polygraphy). Pairs that are not finite are left out.
 */
export function cosine(pair: Pair): Measured {
	const { elements, maxAbsAt } = pair.difference();
	const distance = cosineDistance(pair);
	return { value: 1 - distance, elements, worstAt: maxAbsAt, detail: `1 − cosine is ${Number(distance.toPrecision(4))}` };
}

/** 1 − cosine, to full precision near 0. */
export function cosineDistance(pair: Pair): number {
	const peak = { expected: 0, got: 0 };
	forEachPair(pair, (expected, got) => {
		peak.expected = Math.max(peak.expected, Math.abs(expected));
		peak.got = Math.max(peak.got, Math.abs(got));
	});
	if (peak.expected === 0 && peak.got === 0) return 0;
	if (peak.expected === 0 || peak.got === 0) return 1;
	// Divided by the peaks first, so that no square leaves binary64.
	const sums = { expected: 0, got: 0 };
	forEachPair(pair, (expected, got) => {
		sums.expected += (expected / peak.expected) ** 2;
		sums.got += (got / peak.got) ** 2;
	});
	const lengths = { expected: Math.sqrt(sums.expected), got: Math.sqrt(sums.got) };
	let apart = 0;
	forEachPair(pair, (expected, got) => {
		apart += (got / peak.got / lengths.got - expected / peak.expected / lengths.expected) ** 2;
	});
	return apart / 2;
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

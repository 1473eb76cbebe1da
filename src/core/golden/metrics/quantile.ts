// A quantile of the absolute error: the largest error but for a share of outliers.
import { type Pair, wideReader } from "../compare/difference.ts";
import { elementCount } from "../tensor/tensor.ts";
import { chunkElements, forEachChunk } from "../tensor/values.ts";
import type { Measured, Question } from "./measured.ts";

/**
 * The smallest e such that a share of at least `quantile` of the elements has |got − expected| ≤ e
 * (numpy: `quantile(abs(c - g), q, method="inverted_cdf")`). Exact, in memory that does not grow with the output.
 */
export function errorQuantile(pair: Pair, question: Question): Measured {
	const { elements, maxAbs, maxAbsAt } = pair.difference();
	const rank = Math.max(1, Math.ceil(question.quantile * elements - rankSlack * elements));
	const value = elements === 0 ? Number.NaN : selectRank(pair, rank);
	return { value, elements, worstAt: maxAbsAt, detail: `the largest error is ${Number(maxAbs.toPrecision(4))}` };
}

/** 0.9 × 10 is 9 and not the next above, whatever binary64 makes of the product. */
const rankSlack = 2 ** -50;
/** Values are told apart by this many bits in one pass. */
const bitsPerPass = 16;

/**
 * The value of a rank (from 1) among the absolute errors. Positive binary64 numbers are in the order of their bit patterns,
 * so four passes that each count 16 bits find the pattern.
 */
function selectRank(pair: Pair, rank: number): number {
	const found = new Uint16Array(4);
	let rest = rank;
	for (let level = 3; level >= 0; level -= 1) {
		const counts = countLevel(pair, found, level);
		let bucket = 0;
		while (bucket < counts.length - 1 && rest > (counts[bucket] as number)) {
			rest -= counts[bucket] as number;
			bucket += 1;
		}
		found[level] = bucket;
	}
	return new Float64Array(found.buffer)[0] as number;
}

/** How many errors that agree with `found` above the level have each pattern in it. Words lie little-endian. */
function countLevel(pair: Pair, found: Uint16Array, level: number): Float64Array {
	const counts = new Float64Array(2 ** bitsPerPass);
	const read = wideReader(pair.expected, pair.got);
	const errors = new Float64Array(Math.min(chunkElements, elementCount(pair.expected.shape)));
	const words = new Uint16Array(errors.buffer);
	forEachChunk(elementCount(pair.expected.shape), (start, count) => {
		const { expected, got, difference } = read(start, count);
		for (let i = 0; i < count; i += 1) errors[i] = Math.abs(difference[i] as number);
		for (let i = 0; i < count; i += 1) {
			if (Number.isFinite(expected[i]) && Number.isFinite(got[i]) && agrees(words, i * 4, { found, level })) {
				const word = words[i * 4 + level] as number;
				counts[word] = (counts[word] as number) + 1;
			}
		}
	});
	return counts;
}

function agrees(words: Uint16Array, at: number, { found, level }: { found: Uint16Array; level: number }): boolean {
	for (let above = 3; above > level; above -= 1) if (words[at + above] !== found[above]) return false;
	return true;
}

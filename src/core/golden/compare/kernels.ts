// The inner loops of the difference pass: small, one array type each, called per chunk, state in a typed array.
import { blockDifference, blockElements, isSupported, stepElements } from "../simd/difference.ts";

/** Places in the state of a pass. */
export const slot = {
	rtol: 0,
	atol: 1,
	/** Flat index of the chunk's first element. */
	start: 2,
	sumSquaredDifference: 3,
	sumSquaredExpected: 4,
	maxAbs: 5,
	maxAbsAt: 6,
	outside: 7,
	excluded: 8,
	nonFiniteExpected: 9,
	nonFiniteGot: 10,
	nonFiniteDiffering: 11,
	nonFiniteFirst: 12,
	/** Of binary64 values before they are squared. */
	differenceScale: 13,
	expectedScale: 14,
} as const;

export const stateLength = 15;

interface Sums {
	difference: number;
	expected: number;
	max: number;
	/** Within the chunk; -1 where the state's maximum stands. */
	at: number;
	outside: number;
}

interface Block {
	expected: Float32Array;
	got: Float32Array;
	/** Place of the first element in the chunk. */
	start: number;
}

/** For fewer elements the call of the vector kernel costs more than it saves. */
const minVectorElements = 1024;

/**
 * Adds a chunk of binary32 values to the state: long runs by the vector kernel, all else in binary64. Either way
 * the count outside is that of binary64; sums and the largest difference are within a relative 6e-7 of it.
 * @returns false, and nothing added, where the chunk holds a NaN or an infinity.
 */
export function addNarrow(expected: Float32Array, got: Float32Array, state: Float64Array): boolean {
	const closeness = { rtol: state[slot.rtol] as number, atol: state[slot.atol] as number };
	const sums: Sums = { difference: 0, expected: 0, max: state[slot.maxAbs] as number, at: -1, outside: 0 };
	const vectors = isSupported(closeness);
	for (let start = 0; start < expected.length; start += blockElements) {
		const end = Math.min(expected.length, start + blockElements);
		const middle = vectors && end - start >= minVectorElements ? end - ((end - start) % stepElements) : start;
		const part = (from: number, to: number): Block => ({ expected: expected.subarray(from, to), got: got.subarray(from, to), start: from });
		if (middle > start) addVectors(part(start, middle), closeness, sums);
		if (end > middle) addScalars(part(middle, end), closeness, sums);
	}
	return addSums(state, sums);
}

function addVectors(block: Block, closeness: { rtol: number; atol: number }, sums: Sums): void {
	const found = blockDifference(block, closeness);
	if (found === null) {
		addScalars(block, closeness, sums);
		return;
	}
	sums.difference += found.sumSquaredDifference;
	sums.expected += found.sumSquaredExpected;
	sums.outside += found.outside ?? countOutside(block, closeness);
	// As binary32 sees it, or every block of a tensor whose differences are all of one step would be searched.
	if (found.largest > Math.fround(sums.max)) findLargest(block, sums);
}

function findLargest({ expected, got, start }: Block, sums: Sums): void {
	let max = sums.max;
	let at = -1;
	for (let i = 0; i < expected.length; i += 1) {
		const difference = Math.abs((got[i] as number) - (expected[i] as number));
		if (difference > max) {
			max = difference;
			at = i;
		}
	}
	if (at < 0) return;
	sums.max = max;
	sums.at = start + at;
}

function countOutside({ expected, got }: Block, { rtol, atol }: { rtol: number; atol: number }): number {
	let outside = 0;
	for (let i = 0; i < expected.length; i += 1) {
		const a = expected[i] as number;
		// Counted without a branch: where many elements are out of tolerance, a branch is guessed wrong every other time.
		outside = (outside + Number(Math.abs((got[i] as number) - a) > atol + rtol * Math.abs(a))) | 0;
	}
	return outside;
}

function addScalars(block: Block, closeness: { rtol: number; atol: number }, sums: Sums): void {
	const { expected, got } = block;
	let difference = 0;
	let squares = 0;
	for (let i = 0; i < expected.length; i += 1) {
		const a = expected[i] as number;
		const d = (got[i] as number) - a;
		difference += d * d;
		squares += a * a;
	}
	sums.difference += difference;
	sums.expected += squares;
	sums.outside += countOutside(block, closeness);
	findLargest(block, sums);
}

function addSums(state: Float64Array, sums: Sums): boolean {
	// A NaN or an infinity shows in the sums, never in the comparisons.
	if (!Number.isFinite(sums.difference + sums.expected)) return false;
	state[slot.sumSquaredDifference] = (state[slot.sumSquaredDifference] as number) + sums.difference;
	state[slot.sumSquaredExpected] = (state[slot.sumSquaredExpected] as number) + sums.expected;
	state[slot.outside] = (state[slot.outside] as number) + sums.outside;
	if (sums.at >= 0) {
		state[slot.maxAbs] = sums.max;
		state[slot.maxAbsAt] = (state[slot.start] as number) + sums.at;
	}
	return true;
}

/**
 * Adds a chunk whose two sides have the same bytes.
 * @returns false, and nothing added, where the chunk holds a NaN or an infinity.
 */
export function addSame(expected: Float32Array, state: Float64Array): boolean {
	const even = expected.length & ~1;
	let sum0 = 0;
	let sum1 = 0;
	for (let i = 0; i < even; i += 2) {
		const a = expected[i] as number;
		const b = expected[i + 1] as number;
		sum0 += a * a;
		sum1 += b * b;
	}
	if (even < expected.length) sum0 += (expected[even] as number) ** 2;
	if (!Number.isFinite(sum0 + sum1)) return false;
	state[slot.sumSquaredExpected] = (state[slot.sumSquaredExpected] as number) + sum0 + sum1;
	const none = (state[slot.maxAbs] as number) < 0 && expected.length > 0;
	if (none) {
		state[slot.maxAbs] = 0;
		state[slot.maxAbsAt] = state[slot.start] as number;
	}
	return true;
}

/** Both sides of a chunk and their differences, which for 64-bit integers are exact where the sides are not. */
export interface WideChunk {
	expected: Float64Array;
	got: Float64Array;
	difference: Float64Array;
}

/** Adds a chunk of binary64 values; pairs with a NaN or an infinity are counted and left out of the sums. */
export function addWide(chunk: WideChunk, state: Float64Array): void {
	const rtol = state[slot.rtol] as number;
	const atol = state[slot.atol] as number;
	const differenceScale = state[slot.differenceScale] as number;
	const expectedScale = state[slot.expectedScale] as number;
	let differences = 0;
	let squares = 0;
	let outside = 0;
	for (let i = 0; i < chunk.expected.length; i += 1) {
		const expected = chunk.expected[i] as number;
		const got = chunk.got[i] as number;
		const difference = Math.abs(chunk.difference[i] as number);
		if (!Number.isFinite(expected) || !Number.isFinite(got)) {
			addNonFinite(state, i, { expected, got });
			continue;
		}
		// Of opposite values near the end of binary64 the scaled difference is finite, though the difference is not.
		const scaled =
			difference < Number.POSITIVE_INFINITY ? difference * differenceScale : got * differenceScale - expected * differenceScale;
		differences += scaled * scaled;
		squares += (expected * expectedScale) ** 2;
		if (difference > (state[slot.maxAbs] as number)) {
			state[slot.maxAbs] = difference;
			state[slot.maxAbsAt] = (state[slot.start] as number) + i;
		}
		if (!(difference <= atol + rtol * Math.abs(expected))) outside += 1;
	}
	state[slot.sumSquaredDifference] = (state[slot.sumSquaredDifference] as number) + differences;
	state[slot.sumSquaredExpected] = (state[slot.sumSquaredExpected] as number) + squares;
	state[slot.outside] = (state[slot.outside] as number) + outside;
}

function addNonFinite(state: Float64Array, i: number, pair: { expected: number; got: number }): void {
	state[slot.excluded] = (state[slot.excluded] as number) + 1;
	if (!Number.isFinite(pair.expected)) state[slot.nonFiniteExpected] = (state[slot.nonFiniteExpected] as number) + 1;
	if (!Number.isFinite(pair.got)) state[slot.nonFiniteGot] = (state[slot.nonFiniteGot] as number) + 1;
	if (Object.is(pair.expected, pair.got)) return;
	if (state[slot.nonFiniteDiffering] === 0) state[slot.nonFiniteFirst] = (state[slot.start] as number) + i;
	state[slot.nonFiniteDiffering] = (state[slot.nonFiniteDiffering] as number) + 1;
}

/** Whether two ranges of bytes are the same; words where both lie on a boundary of four. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
	if (left.length !== right.length) return false;
	const words = left.byteOffset % 4 === 0 && right.byteOffset % 4 === 0 ? left.length >> 2 : 0;
	if (words > 0 && !sameWords(new Int32Array(left.buffer, left.byteOffset, words), new Int32Array(right.buffer, right.byteOffset, words))) {
		return false;
	}
	for (let i = words * 4; i < left.length; i += 1) if (left[i] !== right[i]) return false;
	return true;
}

function sameWords(left: Int32Array, right: Int32Array): boolean {
	const fours = left.length & ~3;
	for (let i = 0; i < fours; i += 4) {
		const differing =
			((left[i] as number) ^ (right[i] as number)) |
			((left[i + 1] as number) ^ (right[i + 1] as number)) |
			((left[i + 2] as number) ^ (right[i + 2] as number)) |
			((left[i + 3] as number) ^ (right[i + 3] as number));
		if (differing !== 0) return false;
	}
	for (let i = fours; i < left.length; i += 1) if (left[i] !== right[i]) return false;
	return true;
}

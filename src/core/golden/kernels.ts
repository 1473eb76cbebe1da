// The inner loops of the difference pass: small, one array type each, called per chunk, state in a typed array.

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
} as const;

export const stateLength = 13;

/**
 * Adds a chunk of binary32 values to the state, arithmetic in binary64. Two elements a turn, because a sum in one
 * register waits for itself. A NaN or infinity shows in the sums, never in the comparisons.
 * @returns false, and nothing added, where the chunk holds a NaN or an infinity.
 */
export function addNarrow(expected: Float32Array, got: Float32Array, state: Float64Array): boolean {
	const rtol = state[slot.rtol] as number;
	const atol = state[slot.atol] as number;
	const before = state[slot.maxAbs] as number;
	const even = expected.length & ~1;
	let difference0 = 0;
	let difference1 = 0;
	let expected0 = 0;
	let expected1 = 0;
	let max = before;
	let at = -1;
	let outside = 0;
	for (let i = 0; i < even; i += 2) {
		const a = expected[i] as number;
		const b = expected[i + 1] as number;
		const da = Math.abs((got[i] as number) - a);
		const db = Math.abs((got[i + 1] as number) - b);
		difference0 += da * da;
		difference1 += db * db;
		expected0 += a * a;
		expected1 += b * b;
		if (da > max) {
			max = da;
			at = i;
		}
		if (db > max) {
			max = db;
			at = i + 1;
		}
		// Counted without a branch: where many elements lie outside, a branch is guessed wrong every other time.
		outside = (outside + Number(da > atol + rtol * Math.abs(a)) + Number(db > atol + rtol * Math.abs(b))) | 0;
	}
	if (even < expected.length) {
		const a = expected[even] as number;
		const da = Math.abs((got[even] as number) - a);
		difference0 += da * da;
		expected0 += a * a;
		if (da > max) {
			max = da;
			at = even;
		}
		outside += Number(da > atol + rtol * Math.abs(a));
	}
	return addSums(state, { difference: difference0 + difference1, expected: expected0 + expected1, max, at, outside });
}

interface ChunkSums {
	difference: number;
	expected: number;
	max: number;
	/** Within the chunk; -1 where the state's maximum stands. */
	at: number;
	outside: number;
}

function addSums(state: Float64Array, sums: ChunkSums): boolean {
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
		differences += difference * difference;
		squares += expected * expected;
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

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
	/** Of binary64 values before they are squared. */
	differenceScale: 13,
	expectedScale: 14,
} as const;

export const stateLength = 15;

/**
 * Adds a chunk of binary32 values to the state.
 * @returns false, and nothing added, where the chunk holds a NaN or an infinity.
 */
export function addNarrow(expected: Float32Array, got: Float32Array, state: Float64Array): boolean {
	const rtol = state[slot.rtol] as number;
	const atol = state[slot.atol] as number;
	let [differences, squares, outside, max, maxAt] = [0, 0, 0, state[slot.maxAbs] as number, -1];
	for (let i = 0; i < expected.length; i += 1) {
		const value = expected[i] as number;
		const difference = Math.abs((got[i] as number) - value);
		differences += difference * difference;
		squares += value * value;
		// Counted without a branch: where many elements are out of tolerance, a branch is guessed wrong every other time.
		outside = (outside + Number(difference > atol + rtol * Math.abs(value))) | 0;
		if (difference > max) [max, maxAt] = [difference, i];
	}
	// A NaN or an infinity shows in the sums, never in the comparisons.
	if (!Number.isFinite(differences + squares)) return false;
	state[slot.sumSquaredDifference] = (state[slot.sumSquaredDifference] as number) + differences;
	state[slot.sumSquaredExpected] = (state[slot.sumSquaredExpected] as number) + squares;
	state[slot.outside] = (state[slot.outside] as number) + outside;
	if (maxAt >= 0) {
		state[slot.maxAbs] = max;
		state[slot.maxAbsAt] = (state[slot.start] as number) + maxAt;
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
			difference < Number.POSITIVE_INFINITY
				? difference * differenceScale
				: got * differenceScale - expected * differenceScale;
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
	if (!Number.isFinite(pair.expected))
		state[slot.nonFiniteExpected] = (state[slot.nonFiniteExpected] as number) + 1;
	if (!Number.isFinite(pair.got)) state[slot.nonFiniteGot] = (state[slot.nonFiniteGot] as number) + 1;
	if (Object.is(pair.expected, pair.got)) return;
	if (state[slot.nonFiniteDiffering] === 0) state[slot.nonFiniteFirst] = (state[slot.start] as number) + i;
	state[slot.nonFiniteDiffering] = (state[slot.nonFiniteDiffering] as number) + 1;
}

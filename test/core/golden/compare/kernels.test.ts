// The pass over binary32 beside plain sums, over lengths, scales and values at the edge of the tolerance.
import fc from "fast-check";
import { expect, it } from "vitest";
import { addNarrow, slot, stateLength } from "../../../../src/core/golden/compare/kernels.ts";

interface Closeness {
	rtol: number;
	atol: number;
}

function stateFor({ rtol, atol }: Closeness): Float64Array {
	const state = new Float64Array(stateLength);
	state[slot.rtol] = rtol;
	state[slot.atol] = atol;
	state[slot.maxAbs] = -1;
	state[slot.maxAbsAt] = -1;
	return state;
}

function plainly(expected: Float32Array, got: Float32Array, { rtol, atol }: Closeness) {
	const differences = Array.from(expected, (value, at) => Math.abs((got[at] ?? 0) - value));
	const sum = (values: readonly number[]): number =>
		values.reduce((total, value) => total + value * value, 0);
	return {
		difference: sum(differences),
		expected: sum([...expected]),
		max: Math.max(-1, ...differences),
		outside: differences.filter((difference, at) => difference > atol + rtol * Math.abs(expected[at] ?? 0))
			.length,
	};
}

/** Repeatable values of about one size, a fifth of them zero. */
function values(length: number, seed: number, size: number): Float32Array {
	return Float32Array.from({ length }, (_, at) => (at % 5 === 3 ? 0 : Math.sin(seed + at * 1.7) * size));
}

function expectPlain(expected: Float32Array, got: Float32Array, closeness: Closeness): void {
	const state = stateFor(closeness);
	expect(addNarrow(expected, got, state)).toBe(true);
	const plain = plainly(expected, got, closeness);
	const near = (value: number | undefined, wanted: number): void => {
		expect(Math.abs((value ?? Number.NaN) - wanted)).toBeLessThanOrEqual(6e-7 * Math.abs(wanted));
	};
	near(state[slot.sumSquaredDifference], plain.difference);
	near(state[slot.sumSquaredExpected], plain.expected);
	near(state[slot.maxAbs], plain.max);
	expect(state[slot.outside]).toBe(plain.outside);
	const at = state[slot.maxAbsAt] ?? -1;
	if (expected.length > 0) expect(Math.abs((got[at] ?? 0) - (expected[at] ?? 0))).toBe(state[slot.maxAbs]);
}

it.each([0, 1, 2, 1023, 16_384])(
	"the pass over binary32 agrees with plain sums over %i elements",
	(length) => {
		const expected = values(length, 1, 3);
		const got = expected.map((value, at) => value * (1 + 1e-3 * Math.cos(at)) + 1e-6);
		expectPlain(expected, got, { rtol: 5e-4, atol: 1e-6 });
	},
);

it.each([1e-30, 1e-20, 1e-16, 1e-8, 1, 1e8, 1e18])(
	"the pass over binary32 agrees with plain sums at values around %g",
	(size) => {
		const expected = values(5000, 2, size);
		const got = expected.map((value, at) => value * (1 + 1e-2 * Math.sin(at * 3)));
		expectPlain(expected, got, { rtol: 5e-3, atol: 0 });
	},
);

it("the pass over binary32 counts what lies on the very edge of the closeness as binary64 does", () => {
	const expected = new Float32Array(4096).fill(1);
	const edge = 1 + 1e-3;
	const got = expected.map((_, at) => edge + ((at % 9) - 4) * 2 ** -23);
	expectPlain(expected, got, { rtol: 1e-3, atol: 0 });
	expectPlain(expected, got, { rtol: 0, atol: 1e-3 });
});

it("the pass over binary32 agrees with plain sums whatever the length, noise and closeness", () => {
	const closeness = fc.record({
		rtol: fc.constantFrom(0, 1e-7, 1e-3, 1),
		atol: fc.constantFrom(0, 1e-38, 1e-6, 1, Number.POSITIVE_INFINITY),
	});
	const drawn = fc.tuple(
		fc.integer({ min: 1000, max: 20_000 }),
		fc.integer({ min: 0, max: 1000 }),
		fc.constantFrom(0, 1e-7, 1e-3, 2),
		closeness,
	);
	fc.assert(
		fc.property(drawn, ([length, seed, noise, close]) => {
			const expected = values(length, seed, 3);
			const got = expected.map((value, at) => value + noise * Math.cos(seed + at));
			expectPlain(expected, got, close);
		}),
		{ numRuns: 30 },
	);
});

it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
	"the pass over binary32 adds nothing where any element of either side is %d",
	(odd) => {
		for (const at of [0, 5, 1023, 4000, 4095]) {
			for (const side of ["expected", "got"] as const) {
				const sides = { expected: values(4096, 3, 1), got: values(4096, 4, 1) };
				sides[side][at] = odd;
				const state = stateFor({ rtol: 1, atol: 1 });
				expect(addNarrow(sides.expected, sides.got, state)).toBe(false);
				expect([...state]).toEqual([...stateFor({ rtol: 1, atol: 1 })]);
			}
		}
	},
);

// Properties of the metrics for all values.
import fc from "fast-check";
import { expect, it } from "vitest";
import { makePair, type Pair } from "../../../../src/golden/core/compare/difference.ts";
import {
	klDivergence,
	topIndices,
	topKAgreement,
} from "../../../../src/golden/core/metrics/classification.ts";
import {
	allclose,
	cosine,
	defaultMetricOptions,
	maxAbs,
	relativeL2,
} from "../../../../src/golden/core/metrics/element-errors.ts";
import { float32, float64 } from "../../../support/golden-tensors.ts";

const options = defaultMetricOptions;
// Multiples of 2^-10, so that no test meets subnormal numbers by chance.
const value = fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((count) => count / 1024);
const pairs = fc.array(fc.tuple(value, value), { minLength: 2, maxLength: 40 });

function expectNear(got: number, wanted: number): void {
	if (Number.isFinite(wanted)) expect(Math.abs(got - wanted)).toBeLessThanOrEqual(1e-12 * Math.abs(wanted));
	else expect(got).toBe(wanted);
}

const columns = (rows: readonly (readonly [number, number])[]): [number[], number[]] => [
	rows.map(([a]) => a),
	rows.map(([, b]) => b),
];

it("every metric of elements is the same in any order of the elements", () => {
	fc.assert(
		fc.property(pairs, fc.infiniteStream(fc.nat()), (rows, keys) => {
			const shuffled = rows
				.map((row) => ({ row, key: keys.next().value as number }))
				.sort((a, b) => a.key - b.key)
				.map(({ row }) => row);
			const [one, other] = [rows, shuffled].map((list) => {
				const [g, c] = columns(list);
				return makePair(float64(g), float64(c));
			});
			if (!one || !other) return;
			expectNear(relativeL2(other).value, relativeL2(one).value);
			expect(maxAbs(other).value).toBe(maxAbs(one).value);
			const close = { ...options, rtol: 0.1, atol: 1 };
			expect(allclose(other, close).value).toBe(allclose(one, close).value);
			expect(cosine(other).value).toBeCloseTo(cosine(one).value, 9);
			expect(klDivergence(other, options).value).toBeCloseTo(klDivergence(one, options).value, 6);
		}),
	);
});

it("relative L2 and cosine do not change when both tensors are scaled by a power of two, however far", () => {
	fc.assert(
		fc.property(pairs, fc.integer({ min: -900, max: 900 }), (rows, exponent) => {
			const [g, c] = columns(rows.map(([a, b]) => [Math.round(a), Math.round(b)] as const));
			const scaled = makePair(
				float64(g.map((x) => x * 2 ** exponent)),
				float64(c.map((x) => x * 2 ** exponent)),
			);
			const plain = makePair(float64(g), float64(c));
			const wanted = relativeL2(plain).value;
			expectNear(relativeL2(scaled).value, wanted);
			expect(cosine(scaled).value).toBeCloseTo(cosine(plain).value, 12);
		}),
	);
});

it("relative L2 and cosine of opposite tensors are 2 and −1", () => {
	const pair = makePair(float32([1, -2, 3]), float32([-1, 2, -3]));
	expect(relativeL2(pair).value).toBe(2);
	expect(cosine(pair).value).toBeCloseTo(-1, 15);
});

it("relative L2 and cosine follow their conventions if a side is zero", () => {
	const [zero, one] = [float32([0, -0]), float32([1, 0])];
	const both = (pair: Pair) => [relativeL2(pair).value, cosine(pair).value];
	expect(both(makePair(zero, zero))).toEqual([0, 1]);
	expect(both(makePair(zero, one))).toEqual([Number.POSITIVE_INFINITY, 0]);
	expect(both(makePair(one, zero))).toEqual([1, 0]);
});

it("top-k orders as a stable descending sort does, by insertion and by sorting alike", () => {
	fc.assert(
		fc.property(
			fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 80 }),
			fc.integer({ min: 1, max: 80 }),
			(numbers, k) => {
				const wanted = numbers
					.map((_, index) => index)
					.sort((a, b) => (numbers[b] ?? 0) - (numbers[a] ?? 0) || a - b);
				expect(topIndices(Float64Array.from(numbers), k)).toEqual(wanted.slice(0, k));
			},
		),
	);
});

it("top-k compares infinities like other values", () => {
	const infinity = Number.POSITIVE_INFINITY;
	expect(topIndices(Float64Array.of(1, -infinity, infinity, infinity), 2)).toEqual([2, 3]);
});

it("top-k does not depend on the order of classes if no two are equal", () => {
	fc.assert(
		fc.property(
			fc.uniqueArray(fc.integer(), { minLength: 3, maxLength: 20 }),
			fc.integer({ min: 1, max: 5 }),
			(numbers, k) => {
				const noisy = numbers.map((x, i) => x + (i % 3));
				const agree = (g: number[], c: number[]): number =>
					topKAgreement(makePair(float64(g), float64(c)), { ...options, k }).value;
				if (new Set(noisy).size === noisy.length)
					expect(agree(numbers.toReversed(), noisy.toReversed())).toBe(agree(numbers, noisy));
			},
		),
	);
});

it("top-k reports how clear the golden's lead was in the rows that differ", () => {
	const pair = makePair(float32([3, 1, 5, 4.5], [2, 2]), float32([1, 3, 4, 5], [2, 2]));
	const detail = expect.stringMatching(/^2 of 2 rows differ.*clearest of them is 2$/);
	expect(topKAgreement(pair, options)).toMatchObject({ value: 0, worstAt: 0, detail });
});

it("KL divergence is never negative", () => {
	fc.assert(
		fc.property(pairs, (rows) => {
			const [g, c] = columns(rows);
			expect(klDivergence(makePair(float64(g), float64(c)), options).value).toBeGreaterThanOrEqual(-1e-15);
		}),
	);
});

it("KL divergence takes masked logits as probability 0 on both sides", () => {
	const masked = float32([1, 2, Number.NEGATIVE_INFINITY]);
	expect(klDivergence(makePair(masked, masked), options).value).toBe(0);
	expect(klDivergence(makePair(float32([1, 2, 3]), masked), options).value).toBe(Number.POSITIVE_INFINITY);
});

const klOf = (expected: readonly number[], got: readonly number[], zeroProbability = 0) =>
	klDivergence(makePair(float64(expected), float64(got)), {
		...options,
		input: "probabilities",
		zeroProbability,
	});

it.each([[[0.5, 0.9]], [[-0.1, 1.1]], [[0, 0]]])("KL divergence of %j, no distribution, is NaN", (broken) => {
	const { value, detail } = klOf([0.5, 0.5], broken);
	expect(value).toBeNaN();
	expect(detail).toContain("not a distribution");
});

it("KL divergence reads a 0 of the engine as an underflow, if configured", () => {
	const rare = [1e-9, 1 - 1e-9];
	expect(klOf(rare, [0, 1]).value).toBe(Number.POSITIVE_INFINITY);
	expect(klOf(rare, [0, 1], 2 ** -24).value).toBeLessThan(1e-6);
	expect(klOf([0.5, 0.5], [0, 1], 2 ** -24).value).toBeGreaterThan(5);
});

it("KL divergence adds nothing for 0 against 0, and scales what it reads a 0 as", () => {
	const sparse = [0.75, 0.25, ...new Array<number>(1000).fill(0)];
	expect(klOf(sparse, sparse, 2 ** -10).value).toBe(0);
	// Read as 1/1024 beside 1, of 1025/1024 in all.
	const lost = 0.5 * Math.log(0.5 * 1025) + 0.5 * Math.log((0.5 * 1025) / 1024);
	expect(klOf([0.5, 0.5], [0, 1], 2 ** -10).value).toBeCloseTo(lost, 12);
	expect(klOf([1 - 2 ** -12, 2 ** -12], [1, 0], 2 ** -10).value).toBeLessThan(1e-7);
});

it("KL divergence walks rows along an inner axis as along the last", () => {
	const inner = makePair(float64([1, 5, 2, 6, 3, 7], [3, 2]), float64([1.5, 5, 2, 6.5, 3, 7], [3, 2]));
	const last = makePair(float64([1, 2, 3, 5, 6, 7], [2, 3]), float64([1.5, 2, 3, 5, 6.5, 7], [2, 3]));
	const wanted = klDivergence(last, options).value;
	expect(klDivergence(inner, { ...options, axis: 0 }).value).toBeCloseTo(wanted, 14);
});

it("KL divergence reads rows longer than a chunk", () => {
	const long = Array.from({ length: 150_000 }, (_, index) => (index === 149_999 ? 30 : index % 7));
	const pair = makePair(float32(long), float32(long.map((x, index) => (index === 149_999 ? 29 : x))));
	expect(klDivergence(pair, options)).toMatchObject({ elements: 150_000, worstAt: 149_999 });
	expect(topKAgreement(pair, options).value).toBe(1);
});

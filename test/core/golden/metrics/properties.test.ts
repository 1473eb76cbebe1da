// What holds of the metrics for all values.
import fc from "fast-check";
import { expect, it } from "vitest";
import { makePair } from "../../../../src/core/golden/compare/difference.ts";
import { topIndices, topKAgreement } from "../../../../src/core/golden/metrics/classification.ts";
import { cosine } from "../../../../src/core/golden/metrics/cosine.ts";
import { klDivergence } from "../../../../src/core/golden/metrics/divergence.ts";
import { allclose, maxAbs, relativeL2 } from "../../../../src/core/golden/metrics/element-errors.ts";
import { defaultMetricOptions } from "../../../../src/core/golden/metrics/measured.ts";
import { float32, float64 } from "../../../support/golden-tensors.ts";

const options = defaultMetricOptions;
// Multiples of 2^-10, so that no test meets subnormal numbers by chance.
const value = fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((count) => count / 1024);
const values = fc.array(value, { minLength: 1, maxLength: 40 });
const pairs = fc.array(fc.tuple(value, value), { minLength: 2, maxLength: 40 });

function expectNear(got: number, wanted: number): void {
	if (Number.isFinite(wanted)) expect(Math.abs(got - wanted)).toBeLessThanOrEqual(1e-12 * Math.abs(wanted));
	else expect(got).toBe(wanted);
}

const columns = (rows: readonly (readonly [number, number])[]): [number[], number[]] => [
	rows.map(([a]) => a),
	rows.map(([, b]) => b),
];

it("every metric finds nothing between a tensor and itself", () => {
	fc.assert(
		fc.property(values, (numbers) => {
			const pair = makePair(float32(numbers), float32(numbers));
			expect(relativeL2(pair).value).toBe(0);
			expect(maxAbs(pair).value).toBe(0);
			expect(allclose(pair, options).value).toBe(0);
			expect(cosine(pair).value).toBe(1);
			expect(topKAgreement(pair, options).value).toBe(1);
			expect(klDivergence(pair, options).value).toBe(0);
		}),
	);
});

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
			expect(allclose(other, { ...options, rtol: 0.1, atol: 1 }).value).toBe(
				allclose(one, { ...options, rtol: 0.1, atol: 1 }).value,
			);
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

it("relative L2 and cosine grow and fall with the noise", () => {
	fc.assert(
		fc.property(
			pairs,
			fc.double({ min: 0, max: 1, noNaN: true }),
			fc.double({ min: 1, max: 10, noNaN: true }),
			(rows, noise, more) => {
				const [g, direction] = columns(rows);
				const at = (size: number) =>
					makePair(float64(g), float64(g.map((x, i) => x + size * (direction[i] ?? 0))));
				expect(relativeL2(at(noise)).value).toBeLessThanOrEqual(
					relativeL2(at(noise * more)).value * (1 + 1e-9) + 1e-12,
				);
				expect(maxAbs(at(noise)).value).toBeLessThanOrEqual(
					maxAbs(at(noise * more)).value * (1 + 1e-9) + 1e-9,
				);
			},
		),
	);
});

it("relative L2 and cosine of opposite tensors are 2 and −1", () => {
	const pair = makePair(float32([1, -2, 3]), float32([-1, 2, -3]));
	expect(relativeL2(pair).value).toBe(2);
	expect(cosine(pair).value).toBeCloseTo(-1, 15);
});

it("relative L2 and cosine follow their conventions where a side is zero", () => {
	const zero = float32([0, -0]);
	const one = float32([1, 0]);
	expect([relativeL2(makePair(zero, zero)).value, cosine(makePair(zero, zero)).value]).toEqual([0, 1]);
	expect([relativeL2(makePair(zero, one)).value, cosine(makePair(zero, one)).value]).toEqual([
		Number.POSITIVE_INFINITY,
		0,
	]);
	expect([relativeL2(makePair(one, zero)).value, cosine(makePair(one, zero)).value]).toEqual([1, 0]);
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

it("top-k takes infinities as the values they are", () => {
	expect(
		topIndices(
			Float64Array.of(1, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
			2,
		),
	).toEqual([2, 3]);
});

it("top-k does not depend on the order of classes where no two are equal", () => {
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
	const measured = topKAgreement(
		makePair(float32([3, 1, 5, 4.5], [2, 2]), float32([1, 3, 4, 5], [2, 2])),
		options,
	);
	expect(measured).toMatchObject({
		value: 0,
		worstAt: 0,
		detail: expect.stringContaining("2 of 2 rows differ"),
	});
	expect(measured.detail).toContain("clearest of them is 2");
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

it("KL divergence of what is no distribution is NaN, with the reason", () => {
	const probabilities = { ...options, input: "probabilities" as const };
	for (const broken of [
		[0.5, 0.9],
		[-0.1, 1.1],
		[0, 0],
	]) {
		const measured = klDivergence(makePair(float32([0.5, 0.5]), float32(broken)), probabilities);
		expect(measured.value).toBeNaN();
		expect(measured.detail).toContain("not a distribution");
	}
});

it("KL divergence reads a 0 of the engine as an underflow, if configured", () => {
	const pair = makePair(float64([1e-9, 1 - 1e-9]), float64([0, 1]));
	const probabilities = { ...options, input: "probabilities" as const };
	expect(klDivergence(pair, probabilities).value).toBe(Number.POSITIVE_INFINITY);
	expect(klDivergence(pair, { ...probabilities, zeroProbability: 2 ** -24 }).value).toBeLessThan(1e-6);
	const lost = makePair(float64([0.5, 0.5]), float64([0, 1]));
	expect(klDivergence(lost, { ...probabilities, zeroProbability: 2 ** -24 }).value).toBeGreaterThan(5);
});

it("KL divergence adds nothing for 0 against 0, and scales what it reads a 0 as", () => {
	const probabilities = { ...options, input: "probabilities" as const, zeroProbability: 2 ** -10 };
	const sparse = float64([0.75, 0.25, ...new Array<number>(1000).fill(0)]);
	expect(klDivergence(makePair(sparse, sparse), probabilities).value).toBe(0);
	// Read as 1/1024 beside 1, of 1025/1024 in all.
	const lost = klDivergence(makePair(float64([0.5, 0.5]), float64([0, 1])), probabilities);
	expect(lost.value).toBeCloseTo(0.5 * Math.log(0.5 * 1025) + 0.5 * Math.log((0.5 * 1025) / 1024), 12);
	const tiny = float64([1 - 2 ** -12, 2 ** -12]);
	expect(klDivergence(makePair(tiny, float64([1, 0])), probabilities).value).toBeLessThan(1e-7);
});

it("KL divergence walks rows along an inner axis as along the last", () => {
	const inner = makePair(float64([1, 5, 2, 6, 3, 7], [3, 2]), float64([1.5, 5, 2, 6.5, 3, 7], [3, 2]));
	const last = makePair(float64([1, 2, 3, 5, 6, 7], [2, 3]), float64([1.5, 2, 3, 5, 6.5, 7], [2, 3]));
	expect(klDivergence(inner, { ...options, axis: 0 }).value).toBeCloseTo(
		klDivergence(last, options).value,
		14,
	);
});

it("KL divergence reads rows longer than a chunk", () => {
	const long = Array.from({ length: 150_000 }, (_, index) => (index === 149_999 ? 30 : index % 7));
	const pair = makePair(float32(long), float32(long.map((x, index) => (index === 149_999 ? 29 : x))));
	expect(klDivergence(pair, options)).toMatchObject({ elements: 150_000, worstAt: 149_999 });
	expect(topKAgreement(pair, options).value).toBe(1);
});

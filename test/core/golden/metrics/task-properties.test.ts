// What holds of the task metrics for all values, and of what they say.
import fc from "fast-check";
import { expect, it } from "vitest";
import { makePair, type Pair } from "../../../../src/core/golden/compare/difference.ts";
import { accuracy, tokenAgreement } from "../../../../src/core/golden/metrics/classification.ts";
import { jsDivergence } from "../../../../src/core/golden/metrics/divergence.ts";
import { errorQuantile, psnr, ulpDistance } from "../../../../src/core/golden/metrics/element-errors.ts";
import {
	defaultMetricOptions,
	type Measured,
	type MetricOptions,
} from "../../../../src/core/golden/metrics/measured.ts";
import { recallAtK } from "../../../../src/core/golden/metrics/neighbours.ts";
import { dice, meanIou, pixelDisagreement } from "../../../../src/core/golden/metrics/segmentation.ts";
import { ssim } from "../../../../src/core/golden/metrics/ssim.ts";
import { float32, float64, int64 } from "../../../support/golden-tensors.ts";

type Metric = (pair: Pair, options: MetricOptions) => Measured;

const side = 12;
const value = fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((count) => count / 1024);
const image = fc.array(value, { minLength: side * side, maxLength: side * side });
const shape = [side, side];
const labels = Array.from({ length: side }, (_, row) => row % 3);
const options: MetricOptions = { ...defaultMetricOptions, k: 2, dataRange: 2048, labels };

const distances: Record<string, Metric> = { jsDivergence, ulpDistance, errorQuantile, pixelDisagreement };
const likenesses: Record<string, Metric> = { ssim, meanIou, dice, recallAtK, tokenAgreement };
const symmetric: Record<string, Metric> = { ...distances, ...likenesses, psnr };

it("every task metric finds nothing between a tensor and itself", () => {
	fc.assert(
		fc.property(image, (numbers) => {
			const pair = makePair(float32(numbers, shape), float32(numbers, shape));
			for (const metric of Object.values(distances)) expect(metric(pair, options).value).toBe(0);
			for (const metric of Object.values(likenesses)) expect(metric(pair, options).value).toBeCloseTo(1, 9);
			expect(psnr(pair, options).value).toBe(Number.POSITIVE_INFINITY);
		}),
		{ numRuns: 40 },
	);
});

it.each(Object.entries(symmetric))(
	"every task metric is the same with both sides turned round: %s",
	(_, metric) => {
		fc.assert(
			fc.property(image, image, (left, right) => {
				const [a, b] = [float32(left, shape), float32(right, shape)];
				expect(metric(makePair(a, b), options).value).toBeCloseTo(metric(makePair(b, a), options).value, 9);
			}),
			{ numRuns: 25 },
		);
	},
);

it("every task metric of elements grows with the noise", () => {
	fc.assert(
		fc.property(image, image, fc.double({ min: 1, max: 9, noNaN: true }), (golden, noise, more) => {
			const at = (size: number): Pair =>
				makePair(
					float64(golden, shape),
					float64(
						golden.map((x, i) => x + size * (noise[i] ?? 0)),
						shape,
					),
				);
			for (const metric of [errorQuantile, ulpDistance]) {
				expect(metric(at(1), options).value).toBeLessThanOrEqual(
					metric(at(more), options).value * (1 + 1e-9) + 1e-9,
				);
			}
			expect(psnr(at(1), options).value).toBeGreaterThanOrEqual(psnr(at(more), options).value - 1e-9);
		}),
		{ numRuns: 40 },
	);
});

it("the conventions of JS: never more than ln 2, and NaN for what is no distribution", () => {
	const probabilities = { ...defaultMetricOptions, input: "probabilities" as const };
	expect(jsDivergence(makePair(float64([1, 0]), float64([0, 1])), probabilities).value).toBeCloseTo(
		Math.LN2,
		15,
	);
	const broken = jsDivergence(makePair(float64([0.5, 0.5]), float64([0.5, 0.9])), probabilities);
	expect(broken).toMatchObject({ value: Number.NaN, detail: expect.stringContaining("not a distribution") });
	const masked = float64([1, 2, Number.NEGATIVE_INFINITY]);
	expect(jsDivergence(makePair(masked, masked), defaultMetricOptions).value).toBe(0);
});

it("the conventions of ULP: −0 is 0, the smallest numbers of both signs are two apart, and pairs that are not finite are left out", () => {
	expect(ulpDistance(makePair(float32([-0, 1]), float32([0, 1]))).value).toBe(0);
	expect(ulpDistance(makePair(float32([2 ** -149]), float32([-(2 ** -149)]))).value).toBe(2);
	expect(ulpDistance(makePair(float64([1]), float64([1 + 2 ** -52]))).value).toBe(1);
	expect(ulpDistance(makePair(float32([Number.NaN, 1]), float32([Number.NaN, 1]))).value).toBe(0);
	expect(ulpDistance(makePair(int64([5n]), int64([9n]))).value).toBe(4);
});

it("the conventions of segmentation: absent classes do not count, empty masks agree, and what is not a class is NaN", () => {
	const ids = (values: readonly number[]) => int64(values.map(BigInt));
	expect(meanIou(makePair(ids([7, 7, 9, 9]), ids([7, 9, 9, 9])), defaultMetricOptions).value).toBeCloseTo(
		(1 / 2 + 2 / 3) / 2,
		15,
	);
	const mask = { ...defaultMetricOptions, threshold: 0.5 };
	expect(dice(makePair(float32([0, 0]), float32([0.2, 0.5])), mask).value).toBe(1);
	expect(dice(makePair(float32([0, 0]), float32([0, 1])), mask).value).toBe(0);
	expect(meanIou(makePair(ids([-1, 2]), ids([2, 2])), defaultMetricOptions)).toMatchObject({
		value: Number.NaN,
		detail: "-1 is not a class from 0 to 65535",
	});
	expect(meanIou(makePair(ids([-1, 2]), ids([2, 2])), { ...defaultMetricOptions, ignore: -1 }).value).toBe(1);
	expect(pixelDisagreement(makePair(ids([70_000]), ids([1])), defaultMetricOptions).value).toBeNaN();
	expect(meanIou(makePair(ids([1, 2, 3]), ids([1, 3, 3])), defaultMetricOptions)).toMatchObject({
		worstAt: 1,
		detail: expect.stringContaining("0 of class 2; 1 of 3 pixels"),
	});
});

it("the conventions of SSIM: an image smaller than its window is NaN, and channels may come last", () => {
	const small = float32(new Array<number>(60).fill(1), [6, 10]);
	expect(ssim(makePair(small, small), defaultMetricOptions)).toMatchObject({
		value: Number.NaN,
		detail: expect.stringContaining("11 × 11"),
	});
	const numbers = Array.from({ length: 2 * 12 * 13 }, (_, i) => Math.sin(i * i));
	const noisy = numbers.map((x, i) => x + 0.1 * Math.cos(i));
	const last = (list: readonly number[]): number[] =>
		list.map((_, i) => list[(i % 2) * 156 + Math.floor(i / 2)] ?? 0);
	const first = ssim(
		makePair(float64(numbers, [2, 12, 13]), float64(noisy, [2, 12, 13])),
		defaultMetricOptions,
	);
	const turned = ssim(makePair(float64(last(numbers), [12, 13, 2]), float64(last(noisy), [12, 13, 2])), {
		...defaultMetricOptions,
		channels: "last",
	});
	expect(turned.value).toBeCloseTo(first.value, 12);
});

it("the conventions of recall: one vector, or too many, is NaN; vectors of zeros are like nothing", () => {
	expect(
		recallAtK(makePair(float32([1, 2], [1, 2]), float32([1, 2], [1, 2])), defaultMetricOptions).value,
	).toBeNaN();
	const many = float32(new Array<number>(2049).fill(1), [2049, 1]);
	expect(recallAtK(makePair(many, many), defaultMetricOptions)).toMatchObject({
		value: Number.NaN,
		detail: "more than 2048 vectors",
	});
	const zeros = float32([0, 0, 1, 0, 0, 1], [3, 2]);
	expect(recallAtK(makePair(zeros, zeros), defaultMetricOptions).value).toBe(1);
});

it("the conventions of tokens: padding is left out, and the first that differs is named", () => {
	const pair = makePair(int64([5n, 6n, 0n, 0n]), int64([5n, 7n, 9n, 0n]));
	expect(tokenAgreement(pair, defaultMetricOptions)).toMatchObject({ value: 0.5, worstAt: 1, elements: 4 });
	expect(tokenAgreement(pair, { ...defaultMetricOptions, ignore: 0 })).toMatchObject({
		value: 0.5,
		elements: 2,
	});
	expect(tokenAgreement(pair, { ...defaultMetricOptions, ignore: 0 }).detail).toContain(
		"1 of 2 tokens differ",
	);
});

it("the conventions of accuracy: labels that do not fit are NaN, and a row that only the golden got right is shown", () => {
	const pair = makePair(float32([3, 1, 1, 3], [2, 2]), float32([3, 1, 3, 1], [2, 2]));
	expect(accuracy(pair, { ...defaultMetricOptions, labels: [0, 1] })).toMatchObject({
		value: 0.5,
		worstAt: 3,
		detail: "1 of 2 right; the golden has 2",
	});
	expect(accuracy(pair, { ...defaultMetricOptions, labels: [0] })).toMatchObject({
		value: Number.NaN,
		detail: "2 rows, but 1 labels",
	});
	expect(accuracy(pair, { ...defaultMetricOptions, labels: [0, -1], ignore: -1 }).value).toBe(1);
	expect(
		accuracy(makePair(int64([4n, 5n]), int64([4n, 6n])), { ...defaultMetricOptions, labels: [4, 6] }).value,
	).toBe(1);
});

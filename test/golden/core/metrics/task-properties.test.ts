// Properties of the task metrics for all values, and of their details.
import fc from "fast-check";
import { expect, it } from "vitest";
import { makePair, type Pair } from "../../../../src/golden/core/compare/difference.ts";
import { accuracy, tokenAgreement } from "../../../../src/golden/core/metrics/classification.ts";
import {
	defaultMetricOptions,
	type MetricOptions,
	psnr,
} from "../../../../src/golden/core/metrics/element-errors.ts";
import { recallAtK } from "../../../../src/golden/core/metrics/neighbours.ts";
import { meanIou, pixelDisagreement } from "../../../../src/golden/core/metrics/segmentation.ts";
import { ssim } from "../../../../src/golden/core/metrics/ssim.ts";
import { float32, float64, int64 } from "../../../support/golden-tensors.ts";

const side = 12;
const value = fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((count) => count / 1024);
const image = fc.array(value, { minLength: side * side, maxLength: side * side });
const shape = [side, side];
const ids = (values: readonly number[]) => int64(values.map(BigInt));
const optionsOf = (more: Partial<MetricOptions>): MetricOptions => ({ ...defaultMetricOptions, ...more });

it("PSNR falls with the noise", () => {
	fc.assert(
		fc.property(image, image, fc.double({ min: 1, max: 9, noNaN: true }), (golden, noise, more) => {
			const at = (size: number): Pair => {
				const got = golden.map((x, i) => x + size * (noise[i] ?? 0));
				return makePair(float64(golden, shape), float64(got, shape));
			};
			const options = optionsOf({ dataRange: 2048 });
			expect(psnr(at(1), options).value).toBeGreaterThanOrEqual(psnr(at(more), options).value - 1e-9);
		}),
		{ numRuns: 40 },
	);
});

it("segmentation ignores absent classes, lets empty masks agree, and gives NaN for a value that is not a class", () => {
	const iou = (expected: number[], got: number[], more: Partial<MetricOptions> = {}) =>
		meanIou(makePair(ids(expected), ids(got)), optionsOf(more));
	expect(iou([7, 7, 9, 9], [7, 9, 9, 9]).value).toBeCloseTo((1 / 2 + 2 / 3) / 2, 15);
	const mask = (got: number[]) =>
		meanIou(makePair(float32([0, 0]), float32(got)), optionsOf({ threshold: 0.5 }));
	expect(mask([0.2, 0.5]).value).toBe(1);
	expect(mask([0, 1]).value).toBe(0);
	expect(iou([-1, 2], [2, 2])).toMatchObject({
		value: Number.NaN,
		detail: "-1 is not a class from 0 to 65535",
	});
	expect(iou([-1, 2], [2, 2], { ignore: -1 }).value).toBe(1);
	expect(pixelDisagreement(makePair(ids([70_000]), ids([1])), optionsOf({})).value).toBeNaN();
	expect(iou([1, 2, 3], [1, 3, 3])).toMatchObject({
		worstAt: 1,
		detail: expect.stringContaining("0 of class 2; 1 of 3 pixels"),
	});
});

it("SSIM of an image smaller than its window is NaN, and channels may come last", () => {
	const small = float32(new Array<number>(60).fill(1), [6, 10]);
	expect(ssim(makePair(small, small), optionsOf({}))).toMatchObject({
		value: Number.NaN,
		detail: expect.stringContaining("11 × 11"),
	});
	const numbers = Array.from({ length: 2 * 12 * 13 }, (_, i) => Math.sin(i * i));
	const noisy = numbers.map((x, i) => x + 0.1 * Math.cos(i));
	const last = (list: readonly number[]): number[] =>
		list.map((_, i) => list[(i % 2) * 156 + Math.floor(i / 2)] ?? 0);
	const first = ssim(makePair(float64(numbers, [2, 12, 13]), float64(noisy, [2, 12, 13])), optionsOf({}));
	const turned = makePair(float64(last(numbers), [12, 13, 2]), float64(last(noisy), [12, 13, 2]));
	expect(ssim(turned, optionsOf({ channels: "last" })).value).toBeCloseTo(first.value, 12);
});

it("recall of one vector, or of too many, is NaN, and vectors of zeros are like nothing", () => {
	const one = float32([1, 2], [1, 2]);
	expect(recallAtK(makePair(one, one), optionsOf({})).value).toBeNaN();
	const many = float32(new Array<number>(2049).fill(1), [2049, 1]);
	expect(recallAtK(makePair(many, many), optionsOf({}))).toMatchObject({
		value: Number.NaN,
		detail: "more than 2048 vectors",
	});
	const zeros = float32([0, 0, 1, 0, 0, 1], [3, 2]);
	expect(recallAtK(makePair(zeros, zeros), optionsOf({})).value).toBe(1);
});

it("token agreement leaves padding out and names the first token that differs", () => {
	const pair = makePair(int64([5n, 6n, 0n, 0n]), int64([5n, 7n, 9n, 0n]));
	expect(tokenAgreement(pair, optionsOf({}))).toMatchObject({ value: 0.5, worstAt: 1, elements: 4 });
	expect(tokenAgreement(pair, optionsOf({ ignore: 0 }))).toMatchObject({
		value: 0.5,
		elements: 2,
		detail: expect.stringContaining("1 of 2 tokens differ"),
	});
});

it("accuracy is NaN if labels do not fit, and shows a row that only the golden got right", () => {
	const pair = makePair(float32([3, 1, 1, 3], [2, 2]), float32([3, 1, 3, 1], [2, 2]));
	expect(accuracy(pair, optionsOf({ labels: [0, 1] }))).toMatchObject({
		value: 0.5,
		worstAt: 3,
		detail: "1 of 2 right; the golden has 2",
	});
	expect(accuracy(pair, optionsOf({ labels: [0] }))).toMatchObject({
		value: Number.NaN,
		detail: "2 rows, but 1 labels",
	});
	expect(accuracy(pair, optionsOf({ labels: [0, -1], ignore: -1 })).value).toBe(1);
	expect(accuracy(makePair(ids([4, 5]), ids([4, 6])), optionsOf({ labels: [4, 6] })).value).toBe(1);
});

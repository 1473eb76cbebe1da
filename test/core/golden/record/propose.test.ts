// Outputs are taken for what they are, and their proposed limits hold what they should.
import { describe, expect, it } from "vitest";
import type { DType } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/golden-validator.js";
import { findRuleProblem } from "../../../../src/core/golden/manifest/rules.ts";
import { encodeTensor } from "../../../../src/core/golden/record/generators/encode.ts";
import { splitMix64 } from "../../../../src/core/golden/record/generators/split-mix.ts";
import { isBatched, proposeOutput } from "../../../../src/core/golden/record/propose.ts";
import { findWeaknesses } from "../../../../src/core/golden/record/sensitivity.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { float32, manifestOf } from "../../../support/golden-tensors.ts";

function noise(dtype: DType, shape: number[], scale = 1): Tensor {
	const random = splitMix64(5, shape);
	return encodeTensor(dtype, shape, () =>
		dtype.startsWith("int") ? random.below(4) : scale * random.normal(),
	);
}

function softmax(rows: number, classes: number): Tensor {
	const logits = Array.from({ length: rows * classes }, (_, index) => Math.exp(Math.sin(index * 1.7)));
	const sums = Array.from({ length: rows }, (_, row) =>
		logits.slice(row * classes, (row + 1) * classes).reduce((a, b) => a + b, 0),
	);
	return float32(
		logits.map((value, index) => value / (sums[Math.floor(index / classes)] ?? 1)),
		[rows, classes],
	);
}

const unitRows = (rows: number) =>
	float32(
		Array.from({ length: rows }, (_, row) => {
			const values = Array.from({ length: 16 }, (_value, index) => Math.sin(index * (row + 1) + 1));
			return values.map((value) => value / Math.hypot(...values));
		}).flat(),
		[rows, 16],
	);

it.each<[string, Tensor, string, string[]]>([
	["logits", noise("float32", [2, 1000]), "logits", ["relative-l2", "top-k", "kl"]],
	["probabilities", softmax(3, 7), "probabilities", ["relative-l2", "top-k", "kl"]],
	["a picture", noise("float32", [1, 3, 16, 16]), "image", ["relative-l2", "psnr", "ssim"]],
	["a picture, channels last", noise("float32", [1, 16, 16, 3]), "image", ["relative-l2", "psnr", "ssim"]],
	["a small picture", noise("float32", [1, 3, 8, 8]), "image", ["relative-l2", "psnr"]],
	["bytes of a picture", encodeTensor("uint8", [1, 16, 16, 3], (at) => at % 251), "image", ["max-abs", "psnr", "ssim"]],
	["labels in bytes", encodeTensor("uint8", [1, 1, 16, 16], (at) => at % 5), "mask", ["pixel-disagreement", "miou"]],
	["labels", noise("int32", [1, 16, 16]), "mask", ["pixel-disagreement", "miou"]],
	["negative labels", encodeTensor("int32", [1, 16, 16], (at) => -(at % 3)), "mask", ["allclose"]],
	["ids", noise("int64", [1, 5]), "ids", ["allclose"]],
	["a vector of length 1", unitRows(1), "embedding", ["relative-l2", "cosine"]],
	["vectors of length 1", unitRows(5), "embedding", ["relative-l2", "cosine", "rank-agreement"]],
	["many of them", unitRows(64), "embedding", ["relative-l2", "cosine", "rank-agreement", "recall-at-k"]],
	["other numbers", noise("float32", [1, 5, 7]), "tensor", ["relative-l2"]],
	["one row", noise("float32", [1, 256]), "tensor", ["relative-l2"]],
])("proposeOutput takes %s for what it is", (_, tensor, semantic, kinds) => {
	const { output } = proposeOutput({ tensors: [tensor], batched: tensor.shape.length > 1 });
	expect(output.semantic).toBe(semantic);
	expect(output.comparators?.map(({ kind }) => kind)).toEqual(kinds);
	const manifest = manifestOf({ y: tensor }, { y: output });
	expect(validate(manifest), JSON.stringify(validate.errors)).toBe(true);
	expect(findRuleProblem(manifest)).toBeNull();
});

it("proposeOutput knows the axis of samples by its name, or by a 1 on both sides", () => {
	expect(isBatched(["batch", 8], [["batch", 3, 8, 8]])).toBe(true);
	expect(isBatched([1, 8], [[1, 3, 8, 8]])).toBe(true);
	expect(isBatched([256, 4], [[1, 3, 8, 8]])).toBe(false);
	expect(isBatched([64], [["batch", 8]])).toBe(false);
	expect(isBatched(null, [["batch", 8]])).toBe(false);
});

describe("findWeaknesses", () => {
	it.each<[string, readonly Record<string, Tensor>[], string[]]>([
		["outputs that vary", [{ y: float32([1, 2, 3]) }, { y: float32([3, 1, 2]) }], []],
		["one case", [{ y: float32([1, 2, 3]) }], ["warn one-case"]],
		["an output that never changes", [{ y: float32([2, 2]) }, { y: float32([2, 2]) }], ["warn constant"]],
	])("findWeaknesses of %s", (_, outputs, found) => {
		const manifest = manifestOf(outputs[0] ?? {}, { y: {} });
		const [only] = manifest.cases;
		const [first = only, ...others] = outputs.map((_output, index) => ({ ...only, id: `case ${index}` }));
		const weaknesses = findWeaknesses({ ...manifest, cases: [first, ...others] }, outputs);
		expect(weaknesses.map(({ kind, severity }) => `${severity} ${kind}`)).toEqual(found);
	});
});

// Outputs are taken for what they are, and their proposed limits hold what they should.
import { describe, expect, it } from "vitest";
import type { DType, GoldenManifest } from "../../../../generated/golden.ts";
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

const unit = float32(
	Array.from({ length: 32 }, (_, index) => Math.sin(index + 1)).map(
		(value, _, all) => value / Math.hypot(...all),
	),
	[1, 32],
);

it.each<[string, Tensor, string, string[]]>([
	["logits", noise("float32", [2, 10]), "logits", ["relative-l2", "top-k", "kl"]],
	["output", noise("float32", [2, 1000]), "logits", ["relative-l2", "top-k", "kl"]],
	["anything", softmax(3, 7), "probabilities", ["relative-l2", "top-k", "kl"]],
	["boxes", noise("float32", [1, 9, 4]), "boxes", ["relative-l2", "max-abs"]],
	["restored", noise("float32", [1, 3, 16, 16]), "image", ["relative-l2", "psnr", "ssim"]],
	["restored", noise("float32", [1, 16, 16, 3]), "image", ["relative-l2", "psnr", "ssim"]],
	["small", noise("float32", [1, 3, 8, 8]), "image", ["relative-l2", "psnr"]],
	["frame", encodeTensor("uint8", [1, 16, 16, 3], (at) => at % 251), "image", ["max-abs", "psnr", "ssim"]],
	["labels", encodeTensor("uint8", [1, 1, 16, 16], (at) => at % 5), "mask", ["pixel-disagreement", "miou"]],
	["token_embedding", noise("float32", [5, 8]), "embedding", ["relative-l2", "cosine", "rank-agreement"]],
	[
		"token_embedding",
		noise("float32", [64, 8]),
		"embedding",
		["relative-l2", "cosine", "rank-agreement", "recall-at-k"],
	],
	["logits", noise("float32", [1, 4, 16, 16]), "logits", ["relative-l2", "pixel-disagreement", "miou"]],
	["labels", noise("int32", [1, 16, 16]), "mask", ["pixel-disagreement", "miou"]],
	["labels", encodeTensor("int32", [1, 16, 16], (at) => -(at % 3)), "mask", ["allclose"]],
	["ids", noise("int64", [1, 5]), "ids", ["allclose"]],
	["sentence_embedding", noise("float32", [1, 32]), "embedding", ["relative-l2", "cosine"]],
	["z", unit, "embedding", ["relative-l2", "cosine"]],
	["heads", noise("float32", [1, 5, 7]), "tensor", ["relative-l2"]],
	["scores", noise("float32", [1, 256]), "tensor", ["relative-l2"]],
])("proposeOutput takes %s for what it is", (name, tensor, semantic, kinds) => {
	const { output, why } = proposeOutput({ name, tensors: [tensor], batched: tensor.shape.length > 1 });
	expect(output.semantic).toBe(semantic);
	expect(output.comparators?.map(({ kind }) => kind)).toEqual(kinds);
	expect(why.length).toBeGreaterThan(0);
	const manifest = manifestOf({ [name]: tensor }, { [name]: output });
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

function weaknesses(outputs: readonly Record<string, Tensor>[], spec: GoldenManifest["outputs"]): string[] {
	const manifest = manifestOf(outputs[0] ?? {}, spec);
	const [only] = manifest.cases;
	const [first = only, ...others] = outputs.map((_, index) => ({ ...only, id: `case ${index}` }));
	return findWeaknesses({ ...manifest, cases: [first, ...others] }, outputs).map(
		({ kind, severity }) => `${severity} ${kind}`,
	);
}

describe("findWeaknesses", () => {
	const cases = [{ y: float32([1, 2, 3]) }, { y: float32([3, 1, 2]) }];
	const limit = (tolerance: number) =>
		({ y: { comparators: [{ kind: "relative-l2", tolerance }] } }) as GoldenManifest["outputs"];
	it.each<[string, readonly Record<string, Tensor>[], GoldenManifest["outputs"], string[]]>([
		["limits that tell", cases, limit(1e-3), []],
		["one case", cases.slice(0, 1), limit(1e-3), ["warn one-case"]],
		[
			"a softmax that is always certain",
			[{ y: float32([1, 0, 0], [1, 3]) }, { y: float32([0, 0.99999, 1e-5], [1, 3]) }],
			{ y: { semantic: "probabilities" } },
			["warn saturated"],
		],
		[
			"one class of logits",
			[{ y: float32([1, 2, 3]) }, { y: float32([0, 1, 5]) }],
			{ y: { semantic: "logits" } },
			["warn one-class"],
		],
		[
			"one class of what is no distribution",
			[{ y: float32([1, 2, 3]) }, { y: float32([0, 1, 5]) }],
			{ y: { semantic: "boxes" } },
			[],
		],
		[
			"classes along another axis",
			[{ y: float32([1, 9, 2, 0], [2, 2]) }, { y: float32([0, 9, 4, 5], [2, 2]) }],
			{ y: { semantic: "logits", comparators: [{ kind: "top-k", axis: 0 }] } },
			[],
		],
		[
			"an output that never changes",
			[{ y: float32([2, 2]) }, { y: float32([2, 2]) }],
			{ y: {} },
			["warn constant"],
		],
		[
			"a softmax that doubts",
			[{ y: float32([0.5, 0.3, 0.2], [1, 3]) }, { y: float32([0.2, 0.7, 0.1], [1, 3]) }],
			{ y: { semantic: "probabilities" } },
			[],
		],
	])("findWeaknesses of %s", (_, outputs, spec, found) => {
		expect(weaknesses(outputs, spec)).toEqual(found);
	});
});

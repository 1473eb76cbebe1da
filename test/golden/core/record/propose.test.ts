// Outputs are taken for what their shapes and values show, and their proposals are valid.
import { expect, it } from "vitest";
import type { DType } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/golden-validator.js";
import { findRuleProblem } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { encodeTensor } from "../../../../src/golden/core/record/generators/encode.ts";
import { splitMix64 } from "../../../../src/golden/core/record/generators/split-mix.ts";
import { isBatched, proposeOutput } from "../../../../src/golden/core/record/propose.ts";
import { findWeaknesses } from "../../../../src/golden/core/record/sensitivity.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { float32, manifestOf, zeros } from "../../../support/golden-tensors.ts";

function noise(dtype: DType, shape: number[], scale = 1): Tensor {
	const random = splitMix64(5, shape);
	return encodeTensor(dtype, shape, () =>
		dtype.startsWith("int") ? random.below(4) : scale * random.normal(),
	);
}

const floats = (shape: number[], valueAt: (index: number) => number) =>
	encodeTensor("float32", shape, valueAt);

/** Rows of two numbers and zeros. */
const unitRows = floats([5, 16], (at) => (at % 16 === 0 ? 0.6 : at % 16 === 7 ? 0.8 : 0));
const probabilities = floats([3, 7], (at) => (1 + (at % 7)) / 28);

const labels = ["pixel-disagreement", "miou"];
const mask = ["relative-l2", "pixel-disagreement", "miou"];
/** Lines of text in a map of probabilities, with soft edges. */
const textAt = (at: number) => [0.99, 0.99, 0.4, ...new Array(5).fill(1e-6)][Math.floor(at / 64) % 8];

it.each<[string, Tensor, string, string[]]>([
	["logits", noise("float32", [2, 1000]), "logits", ["relative-l2", "top-k", "kl"]],
	["probabilities", probabilities, "probabilities", ["relative-l2", "top-k", "kl"]],
	["a picture", noise("float32", [1, 3, 16, 16]), "image", ["relative-l2", "psnr", "ssim"]],
	["a picture, channels last", noise("float32", [1, 16, 16, 3]), "image", ["relative-l2", "psnr", "ssim"]],
	["a small picture", noise("float32", [1, 3, 8, 8]), "image", ["relative-l2", "psnr"]],
	[
		"a picture in bytes",
		encodeTensor("uint8", [1, 16, 16, 3], (at) => at % 251),
		"image",
		["max-abs", "psnr", "ssim"],
	],
	["labels in bytes", encodeTensor("uint8", [1, 1, 16, 16], (at) => at % 5), "mask", labels],
	["labels", noise("int32", [1, 16, 16]), "mask", labels],
	["negative labels", encodeTensor("int32", [1, 16, 16], (at) => -(at % 3)), "mask", ["allclose"]],
	["ids", noise("int64", [1, 5]), "ids", ["allclose"]],
	["flags of positions", zeros("bool", [1, 6]), "ids", ["allclose"]],
	["a map of text", floats([1, 1, 32, 64], textAt), "mask", mask],
	["a map without an axis of channels", floats([1, 32, 64], textAt), "mask", mask],
	["a map without a pixel of the mask", floats([1, 1, 32, 64], () => 1e-6), "image", ["relative-l2"]],
	["vectors of length 1", unitRows, "embedding", ["relative-l2", "cosine"]],
	["one row of numbers", noise("float32", [1, 256]), "tensor", ["relative-l2"]],
	["coordinates", noise("float32", [300, 4]), "tensor", ["relative-l2"]],
	["features of a text", noise("float32", [40, 1, 200]), "tensor", ["relative-l2"]],
	["a cache in the shape of a grey picture", noise("float32", [1, 64, 19, 1], 8), "tensor", ["relative-l2"]],
	[
		"scores in a narrow table",
		floats([1, 130, 10], (at) => (at % 37 ? 0.01 : 0.95)),
		"tensor",
		["relative-l2"],
	],
	["a single probability", float32([0.7], [1, 1]), "tensor", ["relative-l2"]],
])("proposeOutput takes %s for what it is", (_, tensor, semantic, kinds) => {
	const { output } = proposeOutput({ tensors: [tensor], batched: tensor.shape.length > 1 });
	expect([output.semantic, output.comparators?.map(({ kind }) => kind)]).toEqual([semantic, kinds]);
	const manifest = manifestOf({ y: tensor }, { y: output });
	expect(validate(manifest), JSON.stringify(validate.errors)).toBe(true);
	expect(findRuleProblem(manifest)).toBeNull();
});

it.each<[boolean, Parameters<typeof isBatched>]>([
	[true, [["batch", 8], [["batch", 3, 8, 8]]]],
	[true, [[1, 8], [[1, 3, 8, 8]]]],
	[false, [[256, 4], [[1, 3, 8, 8]]]],
	[false, [[64], [["batch", 8]]]],
	[false, [null, [["batch", 8]]]],
])("isBatched is %s for the axes %j", (batched, axes) => {
	expect(isBatched(...axes)).toBe(batched);
});

it.each<[string, readonly Record<string, Tensor>[], string[]]>([
	["outputs that vary", [{ y: float32([1, 2, 3]) }, { y: float32([3, 1, 2]) }], []],
	["one case", [{ y: float32([1, 2, 3]) }], ["one-case"]],
	["an output that never changes", [{ y: float32([2, 2]) }, { y: float32([2, 2]) }], ["constant"]],
])("findWeaknesses of %s", (_, outputs, found) => {
	const manifest = manifestOf(outputs[0] ?? {}, { y: {} });
	expect(findWeaknesses(manifest, outputs).map(({ kind }) => kind)).toEqual(found);
});

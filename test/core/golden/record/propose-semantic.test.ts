// Outputs whose values tell what they are, whatever their names: maps of text detectors, scores of characters, flags, states.
import { expect, it } from "vitest";
import { splitMix64 } from "../../../../src/core/golden/record/generators/split-mix.ts";
import { guessSemantic } from "../../../../src/core/golden/record/propose-semantic.ts";
import { elementCount, type Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { float32, zeros } from "../../../support/golden-tensors.ts";

function filled(shape: readonly number[], value: (at: number, normal: () => number) => number): Tensor {
	const random = splitMix64(3, shape);
	return float32(
		Array.from({ length: elementCount(shape) }, (_, at) => value(at, () => random.normal())),
		shape,
	);
}

/** Lines of text in a map of probabilities, with soft edges. */
const textMap = filled([1, 1, 32, 64], (at) =>
	Math.floor(at / 64) % 8 < 2 ? 0.99 : Math.floor(at / 64) % 8 < 3 ? 0.4 : 1e-6,
);
/** Each step of a line of text chooses one of many characters, mostly the blank. */
const characters = filled(
	[40, 1, 200],
	(at, normal) => normal() + (at % 200 === (Math.floor(at / 200) * 17) % 90 ? 30 : 0),
);
/** The same number stands out in every row, as in the hidden states of BERT. */
const outlier = filled([1, 40, 200], (at, normal) => normal() + (at % 200 === 77 ? 30 : 0));

it.each<[string, string, Tensor, object]>([
	["a map of text", "sigmoid_0.tmp_0", textMap, { semantic: "mask", threshold: 0.5 }],
	[
		"a map without an axis of channels",
		"map",
		{ ...textMap, shape: [1, 32, 64] },
		{ semantic: "mask", threshold: 0.5 },
	],
	[
		"which notes sound when",
		"notes",
		filled([1, 40, 200], (at) => (at % 200 === (Math.floor(at / 200) * 17) % 90 ? 0.9 : 0.01)),
		{ semantic: "mask", threshold: 0.5 },
	],
	["scores of characters", "387", characters, { semantic: "logits", axis: -1 }],
	[
		"logarithms of probabilities",
		"logprobs",
		filled([1, 60], (_, normal) => normal()),
		{ semantic: "logits", axis: -1 },
	],
	["flags of positions", "src_mask_out", zeros("bool", [1, 6]), { semantic: "ids" }],
])("guessSemantic by values takes %s for what it is", (_, name, tensor, guess) => {
	expect(guessSemantic(name, [tensor])).toMatchObject(guess);
});

it.each<[string, string, Tensor]>([
	["features of which always the same one stands out", "out", outlier],
	[
		"scores of a detector in a narrow table",
		"transpose_6",
		filled([1, 130, 10], (at) => (at % 37 === 0 ? 0.95 : 0.01)),
	],
	["a probability that is called logits", "logits", float32([0.7], [1, 1])],
	[
		"a cache of features in the shape of a grey picture",
		"out_cache0",
		filled([1, 64, 19, 1], (_, normal) => 8 * normal()),
	],
	["normal numbers", "387", filled([40, 1, 200], (_, normal) => normal())],
])("guessSemantic by values takes %s for plain numbers", (_, name, tensor) => {
	expect(guessSemantic(name, [tensor])).toMatchObject({ semantic: "tensor" });
});

it("guessSemantic by values takes a smooth map for a picture, and one without a pixel of the mask for no mask", () => {
	expect(guessSemantic("y", [filled([1, 1, 32, 64], (at) => 0.5 + 0.4 * Math.sin(at / 9))]).semantic).toBe(
		"image",
	);
	expect(guessSemantic("y", [filled([1, 1, 32, 64], () => 1e-6)]).semantic).toBe("image");
});

// Outputs are taken for what their shapes and values show.
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
const normals = (shape: readonly number[]) => filled(shape, (_, normal) => normal());

it.each<[string, Tensor, object]>([
	["a map of text", textMap, { semantic: "mask", threshold: 0.5 }],
	["a map without an axis of channels", { ...textMap, shape: [1, 32, 64] }, { semantic: "mask", threshold: 0.5 }],
	[
		"which notes sound when",
		filled([1, 40, 200], (at) => (at % 200 === (Math.floor(at / 200) * 17) % 90 ? 0.9 : 0.01)),
		{ semantic: "mask", threshold: 0.5 },
	],
	["rows that choose several classes", normals([4, 10]), { semantic: "logits", axis: -1 }],
	["flags of positions", zeros("bool", [1, 6]), { semantic: "ids" }],
	[
		"a smooth map",
		filled([1, 1, 32, 64], (at) => 0.5 + 0.4 * Math.sin(at / 9)),
		{ semantic: "image" },
	],
	["a map without a pixel of the mask", filled([1, 1, 32, 64], () => 1e-6), { semantic: "image" }],
	[
		"scores of a detector in a narrow table",
		filled([1, 130, 10], (at) => (at % 37 === 0 ? 0.95 : 0.01)),
		{ semantic: "tensor" },
	],
	["a single probability", float32([0.7], [1, 1]), { semantic: "tensor" }],
	["coordinates", normals([300, 4]), { semantic: "tensor" }],
	[
		"a cache of features in the shape of a grey picture",
		filled([1, 64, 19, 1], (_, normal) => 8 * normal()),
		{ semantic: "tensor" },
	],
	["normal numbers", normals([40, 1, 200]), { semantic: "tensor" }],
])("guessSemantic takes %s for what it is", (_, tensor, guess) => {
	expect(guessSemantic([tensor])).toMatchObject(guess);
});

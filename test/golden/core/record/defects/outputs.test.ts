// Defects of outputs do what they say, and mean nothing where they cannot.
import { expect, it } from "vitest";
import {
	damageOutput,
	type OutputDefectKind,
} from "../../../../../src/golden/core/record/defects/outputs.ts";
import { float32, int64, zeros } from "../../../../support/golden-tensors.ts";

const numbers = (data: Uint8Array): number[] => [...new Float32Array(data.slice().buffer)];
/** Two samples of three classes. */
const scores = float32([1, 2, 3, 4, 5, 6], [2, 3]);
/** One picture, two channels of two by three pixels: the channels are the shortest axis. */
const picture = float32([1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60], [1, 2, 3, 2]);

it.each<[OutputDefectKind, number[]]>([
	["output-scale-up", [1.5, 3, 4.5, 6, 7.5, 9]],
	["output-zero", [0, 0, 0, 0, 0, 0]],
	["channel-zero", [1, 2, 0, 4, 5, 0]],
	["channels-shuffled", [2, 3, 1, 5, 6, 4]],
])("damageOutput %s", (kind, expected) => {
	const damaged = damageOutput([scores], 0, kind);
	expect(numbers(damaged!.data)).toEqual(expected);
});

it("damageOutput moves whole channels of a picture", () => {
	const damaged = damageOutput([picture], 0, "channels-shuffled");
	expect(numbers(damaged!.data)).toEqual([10, 20, 30, 40, 50, 60, 1, 2, 3, 4, 5, 6]);
});

it("damageOutput gives each case the output of the next", () => {
	const other = float32([9, 8, 7, 6, 5, 4], [2, 3]);
	expect([0, 1].map((index) => damageOutput([scores, other], index, "other-case"))).toEqual([other, scores]);
});

it.each<[string, OutputDefectKind, ReturnType<typeof float32>[]]>([
	["one case", "other-case", [scores]],
	["cases of other shapes", "other-case", [scores, picture]],
	["one number", "channels-shuffled", [float32([1])]],
	["no elements", "output-zero", [zeros("float32", [0])]],
	["integers", "output-scale-up", [int64([1n, 2n])]],
	["labels of pixels", "channels-shuffled", [int64([1n, 2n, 3n, 4n], [1, 2, 2])]],
	["a map of one channel", "channels-shuffled", [zeros("float32", [1, 1, 8, 8])]],
])("damageOutput means nothing for %s", (_, kind, tensors) => {
	for (const index of tensors.keys()) expect(damageOutput(tensors, index, kind)).toBeNull();
});

// Defects of weights have the size they claim, hit the row they name, and spare what they should.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	damageOutput,
	type OutputDefectKind,
} from "../../../../../src/golden/core/record/defects/outputs.ts";
import {
	damageWeights,
	planDefects,
	type WeightDefect,
	type WeightDefectKind,
	type WeightDType,
	type WeightLocation,
	weightDefectKinds,
} from "../../../../../src/golden/core/record/defects/weights.ts";
import { encodeTensor } from "../../../../../src/golden/core/record/generators/encode.ts";
import { distance } from "../../../../../src/golden/core/record/noise-floor.ts";
import type { Tensor } from "../../../../../src/golden/core/tensor/tensor.ts";
import { float32, int64, zeros } from "../../../../support/golden-tensors.ts";

const defect = (kind: WeightDefectKind, more: Partial<WeightDefect> = {}): WeightDefect => ({
	kind,
	index: 0,
	axis: 0,
	row: 0,
	seed: 1,
	...more,
});

function damage(tensor: Tensor, of: WeightDefect): Tensor {
	const place = { dtype: tensor.dtype as WeightDType, dims: tensor.shape };
	return { ...tensor, data: damageWeights(tensor.data, place, of).bytes };
}

const numbers = ({ data }: Tensor): number[] => [...new Float32Array(data.slice().buffer)];
const matrix = float32([1, 2, 3, 4, 5, 6], [2, 3]);

it.each<[WeightDefectKind, Partial<WeightDefect>, number[]]>([
	["tensor-scale", {}, [1.5, 3, 4.5, 6, 7.5, 9]],
	["row-zero", { axis: 0, row: 1 }, [1, 2, 3, 0, 0, 0]],
	["row-zero", { axis: 1, row: 1 }, [1, 0, 3, 4, 0, 6]],
	["rows-permuted", { axis: 0 }, [4, 5, 6, 1, 2, 3]],
	["rows-permuted", { axis: 1 }, [2, 3, 1, 5, 6, 4]],
])("damageWeights %s %j", (kind, more, expected) => {
	expect(numbers(damage(matrix, defect(kind, more)))).toEqual(expected);
});

it.each<[WeightDType, WeightDefectKind, number, number]>([
	["float32", "tensor-noise", 0.01, 0.1],
	["float64", "tensor-noise", 0.01, 0.1],
	["float16", "tensor-noise", 0.01, 0.1],
	["bfloat16", "tensor-noise", 0.01, 0.5],
	["int8", "tensor-scale", 0.5, 0.5],
	["uint8", "tensor-scale", 0.5, 0.5],
])("damageWeights makes %s as wrong as %s claims", (dtype, kind, share, slack) => {
	const centre = dtype === "uint8" ? 128 : 0;
	const scale = dtype.endsWith("int8") ? 60 : 3;
	const weights = encodeTensor(dtype, [500], (index) => centre + Math.sin(index * 1.7) * scale);
	const zero = encodeTensor(dtype, [500], () => centre);
	const got = damage(weights, defect(kind));
	const whole = centre === 0 ? 1 : (distance(weights, zero)?.relativeL2 ?? 1);
	const size = (distance(weights, got)?.relativeL2 ?? Number.NaN) / whole;
	expect(Math.abs(size / share - 1)).toBeLessThan(slack);
});

it("planDefects gives every tensor one defect a round, so that a cut anywhere leaves a fair sample", () => {
	fc.assert(
		fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(), (tensors, seed) => {
			const places = Array.from({ length: tensors }, (_, index) => place(`w${index}`, [4, 4]));
			const plan = planDefects(places, seed);
			expect(plan).toHaveLength(tensors * weightDefectKinds.length);
			for (let round = 0; round < weightDefectKinds.length; round += 1) {
				const indices = plan.slice(round * tensors, (round + 1) * tensors).map(({ index }) => index);
				expect(new Set(indices).size).toBe(tensors);
			}
			expect(new Set(plan.map(({ index, kind }) => `${index} ${kind}`)).size).toBe(plan.length);
			expect(planDefects(places, seed)).toEqual(plan);
		}),
		{ numRuns: 30 },
	);
});

it("planDefects damages rows of the first axis that has several, and none of a single number", () => {
	const plan = planDefects([place("one", [1, 1, 5]), place("number", [])], 1);
	expect(plan.filter(({ kind }) => kind.startsWith("row")).map(({ index, axis }) => [index, axis])).toEqual([
		[0, 2],
		[0, 2],
	]);
});

function place(name: string, dims: number[]): WeightLocation {
	return { name, dtype: "float32", dims, file: null, offset: 0, bytes: 4 };
}

const floatsIn = (data: Uint8Array): number[] => [...new Float32Array(data.slice().buffer)];
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
	expect(floatsIn(damaged!.data)).toEqual(expected);
});

it("damageOutput moves whole channels of a picture", () => {
	const damaged = damageOutput([picture], 0, "channels-shuffled");
	expect(floatsIn(damaged!.data)).toEqual([10, 20, 30, 40, 50, 60, 1, 2, 3, 4, 5, 6]);
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

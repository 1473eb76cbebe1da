// Defects of weights have the size they claim, hit the row they name, and spare what they should.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planDefects } from "../../../../../src/core/golden/record/defects/plan.ts";
import {
	damageWeights,
	nudgedWeights,
	nudgeWeights,
	type WeightDefect,
	type WeightDefectKind,
	type WeightDType,
	weightDefectKinds,
} from "../../../../../src/core/golden/record/defects/weights.ts";
import { encodeTensor } from "../../../../../src/core/golden/record/generators/encode.ts";
import { distance } from "../../../../../src/core/golden/record/noise-floor.ts";
import type { Tensor } from "../../../../../src/core/golden/tensor/tensor.ts";
import { memorySource } from "../../../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../../../src/formats/onnx/reader.ts";
import { float32 } from "../../../../support/golden-tensors.ts";
import { attribute, node, model as onnx } from "../../../../support/onnx-writer.ts";

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

describe("planDefects", () => {
	const nodes = [
		node({ op: "MatMul", inputs: ["x", "matrix"], outputs: ["y"] }),
		node({ op: "Conv", inputs: ["y", "kernel"], outputs: ["z"] }),
		node({ op: "ConvTranspose", inputs: ["z", "up"], outputs: ["u"] }),
		node({
			op: "Gemm",
			inputs: ["u", "dense"],
			outputs: ["v"],
			attributes: [attribute.integer("transB", 1)],
		}),
	];
	const model = readOnnx(memorySource(onnx({ nodes })), "m.onnx");
	const place = (name: string, dims: number[]) => ({
		name,
		dtype: "float32" as const,
		dims,
		file: null,
		offset: 0,
		bytes: 4,
	});

	it("planDefects gives every tensor one defect a round, so that a cut anywhere leaves a fair sample", () => {
		fc.assert(
			fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(), (tensors, seed) => {
				const places = Array.from({ length: tensors }, (_, index) => place(`w${index}`, [4, 4]));
				const plan = planDefects(places, { model, seed });
				expect(plan).toHaveLength(tensors * weightDefectKinds.length);
				for (let round = 0; round < weightDefectKinds.length; round += 1) {
					const indices = plan.slice(round * tensors, (round + 1) * tensors).map(({ index }) => index);
					expect(new Set(indices).size).toBe(tensors);
				}
				expect(new Set(plan.map(({ index, kind }) => `${index} ${kind}`)).size).toBe(plan.length);
				expect(planDefects(places, { model, seed })).toEqual(plan);
			}),
			{ numRuns: 30 },
		);
	});

	it("planDefects takes the axis of the output channels for rows", () => {
		const places = [
			place("matrix", [8, 4]),
			place("kernel", [6, 3, 2, 2]),
			place("up", [3, 5, 2, 2]),
			place("dense", [7, 9]),
			place("one", [1, 1, 5]),
		];
		const axes = new Map(
			planDefects(places, { model, seed: 1 }).map(({ index, axis }) => [places[index]?.name, axis]),
		);
		expect(Object.fromEntries(axes)).toEqual({ matrix: 1, kernel: 0, up: 1, dense: 0, one: 2 });
	});
});

it.each([1, 16])("nudgeWeights moves each number %i floats up or down, and nothing else", (steps) => {
	const exact = [0, -0, Number.POSITIVE_INFINITY, Number.NaN, 1e-40];
	const before = new Uint32Array(
		float32([...Array.from({ length: 200 }, (_, at) => Math.sin(at + 1)), ...exact]).data.slice().buffer,
	);
	const after = new Uint32Array(nudgeWeights(new Uint8Array(before.buffer), steps).slice().buffer);
	const moved = [...after].map((pattern, at) => pattern - before[at]!);
	expect(new Set(moved.slice(0, 200))).toEqual(new Set([steps, -steps]));
	expect(moved.slice(200)).toEqual(exact.map(() => 0));
});

it.each([
	["a matrix", "float32", [3, 4], "w", [1]],
	["a vector, which may hold sizes", "float32", [4], "w", []],
	["the scales of normalised rows, which may be thousands of numbers long", "float32", [4], "scales", [16]],
	["fp16, whose last digit is large", "float16", [3, 4], "w", []],
	["integers", "int8", [3, 4], "w", []],
] as const)("nudgedWeights of %s", (_, dtype, dims, name, steps) => {
	const place = { name, dtype, dims, file: null, offset: 0, bytes: 4 };
	expect(nudgedWeights([place], new Set(["scales"])).map((one) => one.steps)).toEqual(steps);
});

// Noise: what differs between runs of one model, which elements and cases drown in it, and batches of cases.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../../../../src/core/errors.ts";
import { batchCases, splitBatch } from "../../../../src/core/golden/record/case-batch.ts";
import { dropNoiseCases, findNoiseCases } from "../../../../src/core/golden/record/noise-cases.ts";
import {
	measureNoise,
	type RunOutputs,
	signalFloor,
} from "../../../../src/core/golden/record/noise-floor.ts";
import { proposeOutput } from "../../../../src/core/golden/record/propose.ts";
import { unitRun } from "../../../../src/core/golden/record/unit-run.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import type { OnnxDim } from "../../../../src/core/onnx/model.ts";
import { memorySource } from "../../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../../src/formats/onnx/reader.ts";
import { detectorHead } from "../../../support/detector-heads.ts";
import { float32, int64 } from "../../../support/golden-tensors.ts";
import { model, value } from "../../../support/onnx-writer.ts";

const wave = (scale: number, elements = 50) =>
	float32(
		Array.from({ length: elements }, (_, at) => scale * Math.sin(1 + at)),
		[1, elements],
	);

function shaken(outputs: RunOutputs, by: number): RunOutputs {
	return outputs.map((named) =>
		Object.fromEntries(
			Object.entries(named).map(([name, tensor]) => {
				if (tensor.dtype !== "float32") return [name, tensor];
				const values = new Float32Array(
					tensor.data.buffer,
					tensor.data.byteOffset,
					tensor.data.byteLength / 4,
				);
				return [
					name,
					float32(
						Array.from(values, (number, at) => number + by * Math.cos(3 * at)),
						tensor.shape,
					),
				];
			}),
		),
	);
}

const placesOf = (reference: RunOutputs, by: number) =>
	findNoiseCases(reference, [{ label: "other", outputs: shaken(reference, by) }], {}).map(
		({ index }) => index,
	);

it("findNoiseCases finds the cases of a map that shows nothing beside one that does", () => {
	const map = [wave(1e-8), wave(1), float32(new Array(50).fill(0), [1, 50]), wave(1e-12)].map((y) => ({ y }));
	expect(placesOf(map, 1e-9)).toEqual([0, 2, 3]);
});

it("findNoiseCases keeps a case with signal in one output, and ignores integers", () => {
	const ids = int64([1n, 2n, 3n]);
	expect(
		placesOf(
			[
				{ y: wave(1e-9), z: wave(1) },
				{ y: wave(1), z: wave(1e-9) },
			],
			1e-12,
		),
	).toEqual([]);
	expect(
		placesOf(
			[
				{ y: wave(1e-9), ids },
				{ y: wave(1), ids },
			],
			1e-12,
		),
	).toEqual([]);
});

describe("dropNoiseCases", () => {
	const cases = [{ id: "a" }, { id: "b" }];
	it("dropNoiseCases names each case that is left out, with the reason", () => {
		const { kept, notes } = dropNoiseCases(cases, [{ index: 0, why: "the largest value is 0" }]);
		expect(kept.map(({ golden }) => golden.id)).toEqual(["b"]);
		expect(notes).toEqual(['Case "a" was left out, because it is noise: the largest value is 0.']);
	});

	it("dropNoiseCases refuses where none is left, and reports what would help", () => {
		const quiet = cases.map((_, index) => ({ index, why: "it is 1e-12" }));
		expect(() => dropNoiseCases(cases, quiet)).toThrow(ConfigError);
		expect(() => dropNoiseCases(cases, quiet)).toThrow(/every case is noise; of case "a", it is 1e-12/);
	});
});

it.each([
	["a hundred times the noise", 1, 1e-6, 1e-4],
	["a hundred roundings of the largest value, where runs agree to the bit", 200, 0, 2e-3],
	["a thousandth of the largest value, where noise grows with the values", 1, 0.02, 1e-3],
])("the floor of noise is %s", (_, peak, noise, floor) => {
	expect(signalFloor(peak, noise)).toBeCloseTo(floor, 12);
});

it("the floor of noise keeps an output that one case does not show from a limit of many times itself", () => {
	const reference: RunOutputs = [{ y: wave(1) }, { y: wave(1e-9) }];
	const noise = measureNoise(reference, [{ label: "other", outputs: shaken(reference, 1e-8) }]);
	expect(noise?.outputs["y"]?.relativeL2).toBeLessThan(1e-7);
	const { output, why } = proposeOutput({
		name: "y",
		tensors: reference.map(({ y }) => y as Tensor),
		noise: noise?.outputs["y"],
		batched: true,
	});
	expect(output.comparators?.[0]).toMatchObject({ kind: "relative-l2", floor: 1e-5 });
	expect(why.join(" ")).toContain("Elements below 0.00001 on both sides are noise");
	const loud = proposeOutput({ name: "y", tensors: [wave(1)], noise: noise?.outputs["y"], batched: true });
	expect(loud.output.comparators?.[0]).not.toHaveProperty("floor");
});

describe("unitRun", () => {
	const valuesOf = (tensor: Tensor | undefined) => [
		...new Float32Array(tensor?.data.slice().buffer ?? new ArrayBuffer(0)),
	];

	it("unitRun moves the scores of a detector by a rounding of 1, and nothing else", () => {
		const head = detectorHead({ anchors: 300, classes: 6, channels: "first", best: 0.9 }, 1);
		const [before, after] = [head, unitRun([{ y: head, z: wave(1) }])?.outputs[0]?.["y"]].map(valuesOf) as [
			number[],
			number[],
		];
		const moved = after.map((value, at) => Math.abs(value - (before[at] ?? 0)));
		expect(Math.max(...moved.slice(0, 4 * 300))).toBe(0);
		expect(Math.max(...moved)).toBeCloseTo(2 ** -24, 9);
		expect(moved.filter((size) => size > 0).length).toBe(6 * 300);
		expect(Math.min(...after)).toBeGreaterThanOrEqual(0);
	});
});

const graphOf = (...dims: (readonly OnnxDim[])[]) =>
	readOnnx(memorySource(model({ inputs: dims.map((shape, index) => value(`x${index}`, shape)) })), "x.onnx")
		.graph;

it("cases in one batch come apart as they went in", () => {
	const rows = fc.integer({ min: 1, max: 3 });
	fc.assert(
		fc.property(rows, fc.integer({ min: 2, max: 6 }), (size, count) => {
			const cases = Array.from({ length: count }, (_, index) => ({
				x0: { ...wave(index + 1, 4 * size), shape: [size, 4] },
			}));
			const batch = batchCases(graphOf(["batch", 4]), cases);
			expect(batch?.inputs["x0"]?.shape).toEqual([size * count, 4]);
			const outputs = splitBatch(
				batch as NonNullable<typeof batch>,
				{ x0: batch?.inputs["x0"] as Tensor, z: wave(1) },
				count,
			);
			expect(outputs.map((output) => Buffer.from(output["x0"]?.data ?? []))).toEqual(
				cases.map(({ x0 }) => Buffer.from(x0.data)),
			);
			expect(outputs.some((output) => Object.hasOwn(output, "z") && size * count !== 1)).toBe(false);
		}),
	);
});

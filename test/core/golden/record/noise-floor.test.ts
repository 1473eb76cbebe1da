// The noise floor is the widest spread of all runs.
import { expect, it } from "vitest";
import { measuredCases, measureNoise } from "../../../../src/core/golden/record/noise-floor.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { float32 } from "../../../support/golden-tensors.ts";

it("measureNoise keeps the widest spread of all runs and cases, by output", () => {
	const reference = [{ y: float32([1, 2]) }, { y: float32([3, 4]) }];
	const same = { label: "again", outputs: reference };
	const other = { label: "all", outputs: [{ y: float32([1, 2]) }, { y: float32([3, 4.5]) }] };
	const noise = measureNoise(reference, [same, other]);
	expect(noise?.runs).toEqual(["again", "all"]);
	expect(noise?.outputs["y"]).toEqual({ relativeL2: 0.1, maxAbs: 0.5 });
	expect(measureNoise(reference, [])).toBeNull();
});

it("measureNoise takes from a run whose differences grow with the values no absolute floor", () => {
	const reference = [{ y: float32([1, 1e6]) }];
	const nudged = { label: "nudged", outputs: [{ y: float32([1, 1e6 + 1]) }], isProportional: true } as const;
	const spread = measureNoise(reference, [nudged])?.outputs["y"];
	expect(spread?.maxAbs).toBe(0);
	expect(spread?.relativeL2).toBeCloseTo(1e-6, 9);
});

it.each([
	["all of small outputs", 8, [1, 960, 960], 8],
	["those whose outputs stay within 64 MiB", 8, [8, 960, 960], 2],
	["the first one, however large", 3, [32, 960, 960], 1],
])(
	"noise and rounding are measured on as many cases as their outputs allow: %s",
	(_, count, shape, measured) => {
		const y: Tensor = {
			dtype: "float32",
			shape,
			data: { length: 4 * shape.reduce((product, size) => product * size, 1) } as Uint8Array,
		};
		expect(measuredCases(Array.from({ length: count }, () => ({ y })))).toBe(measured);
	},
);

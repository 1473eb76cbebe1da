// The noise floor is the widest spread of all runs, and what lies below it does not count.
import { expect, it } from "vitest";
import { deriveLimits } from "../../../../src/golden/core/record/derive-limits.ts";
import {
	measuredCases,
	measureNoise,
	type RunOutputs,
	signalFloor,
} from "../../../../src/golden/core/record/noise-floor.ts";
import { proposeOutput } from "../../../../src/golden/core/record/propose.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { finish } from "../../../support/finish.ts";
import { float32, manifestOf } from "../../../support/golden-tensors.ts";

it("measureNoise keeps the widest spread of all runs and cases, by output", () => {
	const reference = [{ y: float32([1, 2]) }, { y: float32([3, 4]) }];
	const same = { label: "again", outputs: reference };
	const other = { label: "all", outputs: [{ y: float32([1, 2]) }, { y: float32([3, 4.5]) }] };
	const noise = measureNoise(reference, [same, other]);
	expect(noise?.runs).toEqual(["again", "all"]);
	expect(noise?.outputs["y"]).toEqual({ relativeL2: 0.1, maxAbs: 0.5 });
	expect(measureNoise(reference, [])).toBeNull();
});

it.each([
	["all of small outputs", 8, [1, 960, 960], 8],
	["those whose outputs stay within 64 MiB", 8, [8, 960, 960], 2],
	["the first one, however large", 3, [32, 960, 960], 1],
])("measuredCases takes %s", (_, count, shape, measured) => {
	const length = 4 * shape.reduce((product, size) => product * size, 1);
	const y: Tensor = { dtype: "float32", shape, data: { length } as Uint8Array };
	expect(measuredCases(Array.from({ length: count }, () => ({ y })))).toBe(measured);
});

it.each([
	["a hundred times the noise", 1, 1e-6, 1e-4],
	["a hundred roundings of the largest value, where runs agree to the bit", 200, 0, 2e-3],
	["a thousandth of the largest value, where noise grows with the values", 1, 0.02, 1e-3],
])("the floor of noise is %s", (_, peak, noise, floor) => {
	expect(signalFloor(peak, noise)).toBeCloseTo(floor, 12);
});

it("a case that shows nothing sets no limit", () => {
	const wave = (scale: number, shift = 0) =>
		float32(
			Array.from({ length: 50 }, (_, at) => scale * Math.sin(1 + at) + shift * Math.cos(3 * at)),
			[1, 50],
		);
	const reference: RunOutputs = [{ y: wave(1) }, { y: wave(1e-9) }];
	const runs = [{ label: "other", outputs: [{ y: wave(1, 1e-8) }, { y: wave(1e-9, 1e-8) }] }];
	const noise = measureNoise(reference, runs)?.outputs["y"];
	expect(noise?.relativeL2).toBeLessThan(1e-7);
	const { output, why } = proposeOutput({ tensors: [wave(1), wave(1e-9)], noise, batched: true });
	expect(output.comparators?.[0]).toMatchObject({ kind: "relative-l2", floor: 1e-5 });
	expect(why.join(" ")).toContain("Elements below 0.00001 on both sides are noise");
	const manifest = manifestOf({ y: wave(1) }, { y: output });
	const network = { isQuantised: false, normalisesInstances: false };
	const derived = finish(deriveLimits(manifest, { reference, noise: runs, rounded: [], network }));
	expect(derived.outputs["y"]?.comparators?.[0]?.tolerance).toEqual({ fp32: 2e-5 });
	const loud = proposeOutput({ tensors: [wave(1)], noise, batched: true });
	expect(loud.output.comparators?.[0]).not.toHaveProperty("floor");
});

import { expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import { deriveLimits } from "../../../../src/golden/core/record/derive-limits.ts";
import {
	measuredCases,
	measureNoise,
	type RunOutputs,
	signalFloor,
} from "../../../../src/golden/core/record/noise-floor.ts";
import { proposeOutput } from "../../../../src/golden/core/record/propose.ts";
import {
	findInsensitive,
	findNoiseCases,
	refuseInsensitive,
} from "../../../../src/golden/core/record/sensitivity.ts";
import { finish } from "../../../support/finish.ts";
import {
	float32,
	int64,
	manifestOf,
	manifestOfCases,
	type Outputs,
	type Tensor,
	zeros,
} from "../../../support/golden-tensors.ts";

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

const wave = (scale: number, noise = 0) =>
	float32(
		Array.from({ length: 50 }, (_, at) => scale * Math.sin(1 + at) + noise * Math.cos(3 * at)),
		[1, 50],
	);

it("a case that shows nothing sets no limit", () => {
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

const ids = int64([1n, 2n, 3n]);

type Scales = Record<string, number>;

function outputsOf(scales: Scales[], noise: number, other: Outputs = {}) {
	return scales.map((named) => {
		const tensors = Object.entries(named).map(([name, scale]) => [name, wave(scale, noise)]);
		return { ...Object.fromEntries(tensors), ...other };
	});
}

it.each<[string, Scales[], number, Outputs, number[]]>([
	["shows nothing beside others", [{ y: 1e-8 }, { y: 1 }, { y: 0 }, { y: 1e-12 }], 1e-9, {}, [0, 2, 3]],
	["differs between runs by more than 1 %", [{ y: 1 }, { y: 0.9 }], 0.05, {}, [0, 1]],
	[
		"has signal in another output",
		[
			{ y: 1e-9, z: 1 },
			{ y: 1, z: 1e-9 },
		],
		1e-12,
		{},
		[],
	],
	["has an integer output", [{ y: 1e-9 }, { y: 1 }], 1e-12, { ids }, []],
])("findNoiseCases judges a case that %s", (_, scales, noise, other, found) => {
	const runs = [{ label: "other", outputs: outputsOf(scales, noise, other) }];
	expect([...findNoiseCases(outputsOf(scales, 0, other), runs, {}).keys()]).toEqual(found);
});

const varied = float32([1, 2, 3]);
const other = float32([3, 1, 2]);
const dead = zeros("float32", [3]);
const nan = float32([1, NaN, 3]);
const onlyNan = float32([NaN, NaN]);

const beside = (y: Tensor) => [varied, other].map((z) => ({ y, z }));
const mustMatch = { y: { nonFinite: "must-match" } } as const;

it.each<[string, Outputs[], string[], Record<string, GoldenOutput>?]>([
	["outputs that vary", [{ y: varied }, { y: other }], []],
	["a single case that varies", [{ y: varied }], []],
	["a single number", [{ y: float32([2]) }], []],
	["one constant case among others", [{ y: dead }, { y: varied }], []],
	["zeros in all cases", [{ y: dead }, { y: dead }], ["constant y", "same-for-all"]],
	["a dead output beside one that varies", beside(dead), []],
	["integers that are constant and alone", [{ n: int64([5n, 5n]) }], ["constant n"]],
	["the same outputs for all inputs", [{ y: varied }, { y: varied }], ["same-for-all"]],
	["one output of two that does not change", beside(varied), []],
	["NaN where it must match", [{ y: nan }, { y: varied }], [], mustMatch],
	["nothing but NaN", [{ y: onlyNan }, { y: varied }], ["non-finite y"], mustMatch],
	["empty outputs beside others", beside(zeros("float32", [0])), []],
])("findInsensitive of %s", (_, cases, kinds, specs) => {
	const found = findInsensitive(manifestOfCases(cases, specs), cases);
	expect(found.map(({ kind, output }) => (output === undefined ? kind : `${kind} ${output}`))).toEqual(kinds);
});

it("refuseInsensitive names the golden, the output and what to do", () => {
	const cases = [{ y: dead }, { y: dead }];
	const manifest = manifestOfCases(cases);
	const refusal = expect.objectContaining({
		code: "golden-uninformative",
		fix: expect.stringContaining("Record the golden"),
		message: 'Golden net@1 cannot fail: output "y" is 0 everywhere in every case (and 1 more finding).',
	});
	expect(() => refuseInsensitive(manifest, findInsensitive(manifest, cases))).toThrow(refusal);
});

it("findInsensitive names each output that holds NaN once", () => {
	const cases = [nan, varied].map((z) => ({ y: nan, z }));
	const found = findInsensitive(manifestOfCases(cases), cases);
	expect(found.map(({ message }) => message)).toEqual([
		'output "y" of case "case-0" holds NaN or infinite values (1)',
		'output "z" of case "case-0" holds NaN or infinite values (1)',
	]);
	expect(found[0]?.fix).toContain("`--non-finite y` when recording");
});

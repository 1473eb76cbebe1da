import fc from "fast-check";
import { expect, it } from "vitest";
import type { GoldenOutput } from "../../../../../generated/golden.ts";
import { parseManifest } from "../../../../../src/golden/core/manifest/parse-manifest.ts";
import {
	brokenVerdict,
	type DefectState,
	type DefectVerdict,
	damageOutput,
	type OutputDefectKind,
	partKey,
	tryOutputDefects,
	watchDefect,
} from "../../../../../src/golden/core/record/defects/judge.ts";
import {
	countsAt,
	defaultLeastShares,
	describeSensitivity,
	emptyRecord,
	findSensitivityWeaknesses,
	shortfalls,
	withOutputDefects,
	withWeightDefect,
} from "../../../../../src/golden/core/record/defects/record.ts";
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
import {
	float32,
	int64,
	manifestOf,
	manifestOfCases,
	type Outputs,
	type Tensor,
	zeros,
} from "../../../../support/golden-tensors.ts";

const numbers = ({ data }: Tensor) => [...new Float32Array(data.slice().buffer)];
type Specs = Record<string, GoldenOutput>;
const trialOf = (cases: Outputs[], specs: Specs) => ({
	...{ manifest: manifestOfCases(cases, specs), reference: cases, relativeL2: {}, rounding: {} },
});

const limits = (fp32: number, fp16: number): Specs => ({
	y: { comparators: [{ kind: "relative-l2", tolerance: { fp32, fp16 } }] },
});
const cases = [{ y: float32([1, 2, 3]) }, { y: float32([3, 1, 2]) }];

const see = (by: number, rounding = {}): DefectVerdict => {
	const watch = watchDefect({ ...trialOf(cases, limits(1e-3, 1e-1)), rounding });
	for (const [index, { y }] of cases.entries())
		if (watch.see(index, { y: float32(numbers(y).map((value) => value * (1 + by))) })) break;
	return watch.verdict();
};
it.each([
	["what lies within rounding at both", 1e-5, {}, { fp32: "unmoved", fp16: "unmoved" }],
	["what moves at fp32 alone, within the limit", 5e-4, {}, { fp32: "missed", fp16: "unmoved" }],
	["what moves at fp32 alone, above the limit", 4e-3, {}, { fp32: "noticed", fp16: "unmoved" }],
	["what fp16 lets through", 5e-2, {}, { fp32: "noticed", fp16: "missed" }],
	["what all notice", 0.5, {}, { fp32: "noticed", fp16: "noticed" }],
	[
		"what the measured rounding hides",
		5e-2,
		{ fp16: { [partKey("y", undefined)]: 2e-2 } },
		{ fp32: "noticed", fp16: "unmoved" },
	],
])("watchDefect tells %s", (_, by, rounding, states) => {
	expect(see(by, rounding).states).toEqual(states);
});

it("watchDefect judges a defect of one output by that output alone", () => {
	const z = float32([NaN]);
	const watch = watchDefect(trialOf([{ ...cases[0]!, z }], { ...limits(1e-1, 1e-1), z: {} }));
	watch.see(0, { y: float32([1.01, 2.02, 3.03]), z });
	expect(watch.verdict().states).toMatchObject({ fp32: "missed" });
});

it("watchDefect needs no further case once all is settled", () => {
	const watch = watchDefect(trialOf(cases, limits(1e-3, 1e-1)));
	expect(watch.see(1, { y: float32([0, 0, 0]) })).toBe(true);
	expect(watch.verdict()).toEqual({ states: { fp32: "noticed", fp16: "noticed" }, change: 1 });
});

it("watchDefect evaluates comparators of the whole set after the last case", () => {
	const vectors = [
		[1, 0, 0],
		[0.9, 0.1, 0],
		[0, 1, 0.2],
		[0.1, 0.2, 1],
	].map((values) => ({ y: float32(values, [1, 3]) }));
	const comparators: GoldenOutput["comparators"] = [
		{ kind: "rank-agreement", scope: "set", tolerance: 0.99 },
	];
	const watch = watchDefect(trialOf(vectors, { y: { comparators } }));
	for (const index of vectors.keys())
		expect(watch.see(index, vectors[(index + 1) % 4 === 0 ? 1 : (index * 2) % 4] ?? {})).toBe(false);
	expect(watch.verdict().states).toEqual({ fp32: "noticed", fp16: "noticed" });
});

const empty = emptyRecord({ seed: 1, planned: 8, tensors: 4 });
const tried = (weight: string, fp32: DefectState, kind: "tensor-scale" | "row-zero" = "tensor-scale") => {
	return { kind, weight, verdict: { states: { fp32 }, change: 0.1 } };
};
const record = [
	tried("a", "noticed"),
	tried("b", "missed"),
	tried("c", "unmoved"),
	{ kind: "tensor-scale" as const, weight: "zeros", verdict: null },
	tried("d", "noticed", "row-zero"),
].reduce(withWeightDefect, empty);

it("the record of the trial counts by kind, and names what was missed", () => {
	const kinds = {
		"tensor-scale": { tried: 3, moving: 2, noticed: 1 },
		"row-zero": { tried: 1, moving: 1, noticed: 1 },
	};
	const missed = [{ kind: "tensor-scale", weight: "b", change: 0.1 }];
	expect(record).toMatchObject({ tested: 5, precisions: { fp32: { kinds, missed } } });
	expect(countsAt(record, "fp32").weights).toEqual({ tried: 4, moving: 3, noticed: 2 });
});

it("the record of the trial fits the schema of manifests, also if a model broke", () => {
	const verdict = brokenVerdict(trialOf(cases, {}));
	const broken = withWeightDefect(record, { kind: "tensor-noise", weight: "b", verdict });
	const manifest = { ...manifestOf(cases[0]!, limits(1, 1)), sensitivity: broken };
	parseManifest(JSON.stringify(manifest), "golden.json");
	expect(JSON.parse(JSON.stringify(broken))).toEqual(broken);
});

it("the record of the trial describes what was tried, what it notices and what it misses", () => {
	expect(describeSensitivity({ ...record, state: "sampled" })).toEqual([
		"5 of 8 defects of 4 weight tensors were tried.",
		'The golden notices 2 of 3 defects that move an output beyond rounding at fp32, but not "b" scaled by 1.5 (an output moves by 0.1).',
	]);
	expect(describeSensitivity(empty)).toEqual(["Defects of the weights were not tested yet."]);
});

it.each([
	["all that move are noticed", limits(1e-6, 1e-2), []],
	["the limit at fp16 lets too much through", limits(1e-6, 2), ["fp16"]],
	["no limit holds anything back", limits(2, 2), ["fp32", "fp16"]],
])("the record of the trial finds that %s", (_, specs, short) => {
	const found = withOutputDefects(empty, [...tryOutputDefects(trialOf(cases, specs))]);
	expect(shortfalls(found, defaultLeastShares).map(({ precision }) => precision)).toEqual(short);
});

it.each<[string, number, number, object[], Outputs?]>([
	["noticing too little", 40, 30, [{ kind: "unnoticed", severity: "refuse" }]],
	["integers that show few defects", 4, 4, [{ kind: "unseen", severity: "refuse" }], { best: int64([1n]) }],
	["numbers that few defects move", 4, 4, [{ kind: "unseen", severity: "warn" }]],
	["enough", 30, 30, []],
])("findSensitivityWeaknesses of %s", (_, moving, noticed, found, outputs = { y: float32([1]) }) => {
	const kinds = { "tensor-noise": { tried: 40, moving, noticed } };
	const counted = { ...empty, precisions: { fp32: { kinds, missed: [] } } };
	expect(findSensitivityWeaknesses(counted, [outputs], { fp32: 1 })).toMatchObject(found);
});

function damage(tensor: Tensor, kind: WeightDefectKind, more: Partial<WeightDefect> = {}) {
	const place = { dtype: tensor.dtype as WeightDType, dims: tensor.shape };
	const defect = { kind, index: 0, axis: 0, row: 0, seed: 1, ...more };
	return { ...tensor, data: damageWeights(tensor.data, place, defect).bytes };
}

const matrix = float32([1, 2, 3, 4, 5, 6], [2, 3]);

it.each<[WeightDefectKind, Partial<WeightDefect>, number[]]>([
	["tensor-scale", {}, [1.5, 3, 4.5, 6, 7.5, 9]],
	["row-zero", { axis: 0, row: 1 }, [1, 2, 3, 0, 0, 0]],
	["row-zero", { axis: 1, row: 1 }, [1, 0, 3, 4, 0, 6]],
	["rows-permuted", { axis: 0 }, [4, 5, 6, 1, 2, 3]],
	["rows-permuted", { axis: 1 }, [2, 3, 1, 5, 6, 4]],
])("damageWeights %s %j", (kind, more, expected) => {
	expect(numbers(damage(matrix, kind, more))).toEqual(expected);
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
	const got = damage(weights, kind);
	const whole = centre === 0 ? 1 : (distance(weights, zero)?.relativeL2 ?? 1);
	const size = (distance(weights, got)?.relativeL2 ?? NaN) / whole;
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

/** Its two channels are the shortest axis. */
const picture = float32([1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60], [1, 2, 3, 2]);

it.each<[OutputDefectKind, number[]]>([
	["output-scale-up", [1.5, 3, 4.5, 6, 7.5, 9]],
	["output-zero", [0, 0, 0, 0, 0, 0]],
	["channel-zero", [1, 2, 0, 4, 5, 0]],
	["channels-shuffled", [2, 3, 1, 5, 6, 4]],
])("damageOutput %s", (kind, expected) => {
	expect(numbers(damageOutput([matrix], 0, kind)!)).toEqual(expected);
});

it("damageOutput moves whole channels of a picture", () => {
	expect(numbers(damageOutput([picture], 0, "channels-shuffled")!)).toEqual([
		10, 20, 30, 40, 50, 60, 1, 2, 3, 4, 5, 6,
	]);
});

it("damageOutput gives each case the output of the next", () => {
	const other = float32([9, 8, 7, 6, 5, 4], [2, 3]);
	expect([0, 1].map((index) => damageOutput([matrix, other], index, "other-case"))).toEqual([other, matrix]);
});

it.each<[string, OutputDefectKind, Tensor[]]>([
	["one case", "other-case", [matrix]],
	["cases of other shapes", "other-case", [matrix, picture]],
	["one number", "channels-shuffled", [float32([1])]],
	["no elements", "output-zero", [zeros("float32", [0])]],
	["integers", "output-scale-up", [int64([1n, 2n])]],
	["labels of pixels", "channels-shuffled", [int64([1n, 2n, 3n, 4n], [1, 2, 2])]],
	["a map of one channel", "channels-shuffled", [zeros("float32", [1, 1, 8, 8])]],
])("damageOutput means nothing for %s", (_, kind, tensors) => {
	for (const index of tensors.keys()) expect(damageOutput(tensors, index, kind)).toBeNull();
});

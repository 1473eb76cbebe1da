// The trial counts what moves an output and what is noticed; too little is refused with what would help.

import { expect, it } from "vitest";
import type { GoldenOutput } from "../../../../../generated/golden.ts";
import { parseManifest } from "../../../../../src/golden/core/manifest/parse-manifest.ts";
import {
	brokenVerdict,
	type DefectState,
	type DefectVerdict,
	partKey,
	watchDefect,
} from "../../../../../src/golden/core/record/defects/judge.ts";
import { tryOutputDefects } from "../../../../../src/golden/core/record/defects/outputs.ts";
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
import type { Tensor } from "../../../../../src/golden/core/tensor/tensor.ts";
import { float32, int64, manifestOf, manifestOfCases } from "../../../../support/golden-tensors.ts";

const trialOf = (cases: readonly Record<string, Tensor>[], specs: Record<string, GoldenOutput>) => ({
	manifest: manifestOfCases(cases, specs),
	reference: cases,
	relativeL2: {},
	rounding: {},
});

const limits = (fp32: number, fp16: number): Record<string, GoldenOutput> => ({
	y: { comparators: [{ kind: "relative-l2", tolerance: { fp32, fp16 } }] },
});
const cases = [{ y: float32([1, 2, 3]) }, { y: float32([3, 1, 2]) }];

const see = (by: number, rounding = {}): DefectVerdict => {
	const watch = watchDefect({ ...trialOf(cases, limits(1e-3, 1e-1)), rounding });
	for (const [index, { y }] of cases.entries()) {
		const values = [...new Float32Array(y.data.slice().buffer)].map((value) => value * (1 + by));
		if (watch.see(index, { y: float32(values) })) break;
	}
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
	const z = float32([Number.NaN]);
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
	const watch = watchDefect(
		trialOf(vectors, { y: { comparators: [{ kind: "rank-agreement", scope: "set", tolerance: 0.99 }] } }),
	);
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
	expect(record).toMatchObject({
		tested: 5,
		precisions: {
			fp32: {
				kinds: {
					"tensor-scale": { tried: 3, moving: 2, noticed: 1 },
					"row-zero": { tried: 1, moving: 1, noticed: 1 },
				},
				missed: [{ kind: "tensor-scale", weight: "b", change: 0.1 }],
			},
		},
	});
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

it.each<[string, number, number, object[], Record<string, Tensor>?]>([
	["noticing too little", 40, 30, [{ kind: "unnoticed", severity: "refuse" }]],
	["integers that show few defects", 4, 4, [{ kind: "unseen", severity: "refuse" }], { best: int64([1n]) }],
	["numbers that few defects move", 4, 4, [{ kind: "unseen", severity: "warn" }]],
	["enough", 30, 30, []],
])("findSensitivityWeaknesses of %s", (_, moving, noticed, found, outputs = { y: float32([1]) }) => {
	const kinds = { "tensor-noise": { tried: 40, moving, noticed } };
	const counted = { ...empty, precisions: { fp32: { kinds, missed: [] } } };
	expect(findSensitivityWeaknesses(counted, [outputs], { fp32: 1 })).toMatchObject(found);
});

import { expect, it } from "vitest";
import { underRulesOf } from "../../src/core/config/rules.ts";
import { engineSpecs, makePlan, type Plan, underNameOf } from "../../src/core/plan/plan.ts";
import type { BuiltEngine } from "../../src/ports/backend.ts";
import { compareInterfaces, type PreparedModel } from "../../src/stages/prepared.ts";
import { shapeWorkloads, timedWorkloads } from "../../src/stages/workloads.ts";
import { loaded, withModel } from "../core/config/load.ts";
import { type Dim, inspectedOf, modelOf, value } from "../support/onnx-writer.ts";

interface Side {
	/** Keys of the model in YAML's flow style. */
	config?: string;
	inputs?: Readonly<Record<string, readonly Dim[] | null>>;
	dtype?: number;
}

const batch = (min: number, opt: number, max: number) =>
	`dims: { batch: { min: ${min}, opt: ${opt}, max: ${max} } }`;
const wide = batch(1, 8, 32);
const one = "{ name: one, batch: 1 }";
const big = "{ name: big, batch: 32 }";

function sideOf({ config = wide, inputs = { x: ["batch", 4] }, dtype = 1 }: Side) {
	const messages = Object.entries(inputs).map(([name, dims]) => value(name, dims, dtype));
	return { config: loaded(withModel(config)), onnx: modelOf({ inputs: messages }) };
}

function prepared(baseSide: Side, headSide: Side): { plan: Plan; models: PreparedModel[] } {
	const [base, head] = [sideOf(baseSide), sideOf(headSide)];
	const config = underRulesOf(base.config, head.config, new Map([["net/fp32", "net/fp32"]]));
	const [spec] = engineSpecs(config);
	const [own] = engineSpecs(base.config);
	const models: PreparedModel[] = [
		{ state: "ready", arm: "base", spec: underNameOf(spec!, own!), model: inspectedOf(base.onnx) },
		{ state: "ready", arm: "head", spec: spec!, model: inspectedOf(head.onnx) },
	];
	return { plan: makePlan({ config, arms: ["base", "head"], cases: new Map(), seed: "s" }), models };
}

function shape(base: Side, head: Side) {
	const { plan, models } = prepared(base, head);
	const { shapes, lost } = shapeWorkloads(plan, models, { sources: {} });
	const shown = [...shapes].map(([id, { inputs, ...differences }]) => ({
		id: id.slice("net/fp32/".length),
		shapes: Object.fromEntries(inputs.map(({ name, shape: sizes }) => [name, sizes])),
		...differences,
	}));
	return { shown, lost };
}

it("shapeWorkloads times the base's workloads at the base's sizes on both sides", () => {
	const workloads = (size: number) => `${wide}, workloads: [{ name: big, batch: ${size} }]`;
	expect(shape({ config: workloads(32) }, { config: workloads(1) })).toEqual({
		shown: [{ id: "big", shapes: { x: [32, 4] } }],
		lost: [],
	});
});

it("shapeWorkloads keeps the base's optimum if a workload leaves a size out and the head has another", () => {
	const { shown } = shape({ config: batch(1, 16, 32) }, { config: batch(1, 2, 32) });
	expect(shown.map(({ shapes }) => shapes)).toContainEqual({ x: [16, 4] });
});

it("shapeWorkloads reports a workload of the base that the head's engine does not hold, and times it nowhere", () => {
	const base = { config: `${wide}, workloads: [${one}, ${big}]` };
	const head = { config: `${batch(1, 4, 16)}, workloads: [${one}]` };
	const { shown, lost } = shape(base, head);
	const why = "input x [32, 4] is outside what the head's engine holds, [1, 4] to [16, 4]";
	expect(shown).toEqual([
		{ id: "one", shapes: { x: [1, 4] } },
		{ id: "big", shapes: { x: [32, 4] }, headDiffers: why },
	]);
	const row = { side: "workload", base: { name: "big", dtype: "workload", shape: why }, head: null };
	expect(lost).toEqual([{ model: "net", engine: "fp32", rows: [row] }]);
	const { plan, models } = prepared(base, head);
	const engines = models.flatMap(({ arm, spec }) => ({ arm, spec }) as BuiltEngine);
	const timed = timedWorkloads(plan, engines, shapeWorkloads(plan, models, { sources: {} }).shapes);
	expect(timed.map(({ workload }) => workload.config.name)).toEqual(["one"]);
});

it("shapeWorkloads takes a size that any of several profiles holds", () => {
	const profiles = (list: string) => `${wide}, profiles: [${list}], workloads: [${big}]`;
	const two = profiles("{ batch: 1 }, { batch: { min: 2, opt: 8, max: 32 } }");
	const single = profiles("{ batch: { min: 1, opt: 8, max: 32 } }");
	expect(shape({ config: single }, { config: two }).lost).toEqual([]);
});

it.each<[why: string, head: Side]>([
	["the head has no input x", { inputs: { z: ["batch", 4] } }],
	["input x is double in the head", { dtype: 11 }],
	["input x has another shape in the head", { inputs: { x: ["batch", 5] } }],
	["input x has another shape in the head", { inputs: { x: ["batch", 4, 1] } }],
	["the head has one more input, z", { inputs: { x: ["batch", 4], z: [1] } }],
])("shapeWorkloads reports each workload of the base as lost if %s", (why, head) => {
	const { shown, lost } = shape({}, head);
	expect(shown.map(({ headDiffers }) => headDiffers)).toEqual([why]);
	expect(lost.flatMap(({ rows }) => rows.map(({ base }) => base?.shape))).toEqual([why]);
});

it("shapeWorkloads names the config's key, and no option, if a profile contradicts the head's fixed axis", () => {
	const config = `${batch(1, 1, 8)}, inputs: { x: { shape: [batch, 4] } }, workloads: [${one}]`;
	const { plan, models } = prepared({ config }, { config, inputs: { x: [1, 4] } });
	const [, head] = shapeWorkloads(plan, models, { sources: {} }).models;
	expect(head).toMatchObject({
		state: "broken",
		fault: { message: expect.stringMatching(/^inputs\.x\.shape contradicts .*axis 0: it has 8/) },
	});
});

it("shapeWorkloads finds no difference between two inputs of a type that cannot be fed", () => {
	const text = { dtype: 8 };
	expect(shape(text, text).lost).toEqual([]);
	expect(shape(text, {}).shown.map(({ headDiffers }) => headDiffers)).toEqual([
		"input x is float in the head",
	]);
});

it("shapeWorkloads compares nothing at a size that only the head's engine holds", () => {
	const base = { config: `${batch(1, 4, 8)}, workloads: [${one}]` };
	const head = { config: `${wide}, workloads: [${one}, ${big}]` };
	const { shown, lost } = shape(base, head);
	expect(lost).toEqual([]);
	const baseDiffers = "input x [32, 4] is outside what the base's engine holds, [1, 4] to [8, 4]";
	expect(shown).toEqual([
		{ id: "one", shapes: { x: [1, 4] } },
		{ id: "big", shapes: { x: [32, 4] }, baseHoldsOtherSizes: true, baseDiffers },
	]);
});

const rows = (base: Side, head: Side) => {
	const { changes, engines } = compareInterfaces(prepared(base, head).models);
	return { rows: changes.flatMap((change) => change.rows), engines: [...engines] };
};

it.each<[string, string, string]>([
	[batch(1, 8, 32), batch(1, 8, 16), "1 to 16, optimum 8"],
	[batch(1, 8, 32), batch(2, 8, 32), "2 to 32, optimum 8"],
	[batch(1, 8, 32), "dims: { batch: 8 }", "8"],
])("compareInterfaces reports a profile that holds less: %s, then %s", (base, head, shown) => {
	const size = (text: string) => ({ name: "batch", dtype: "sizes", shape: text });
	// Both sides have the same inputs and outputs, so that goldens are compared as usual.
	expect(rows({ config: base }, { config: head })).toEqual({
		rows: [{ side: "size", base: size("1 to 32, optimum 8"), head: size(shown) }],
		engines: [],
	});
});

it("compareInterfaces is silent on a profile that holds more, or is tuned for another size", () => {
	expect(rows({ config: batch(2, 8, 16) }, { config: batch(1, 4, 32) }).rows).toEqual([]);
	expect(rows({}, {}).rows).toEqual([]);
});

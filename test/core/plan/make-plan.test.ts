import { expect, it } from "vitest";
import { firstArms } from "../../../src/core/compare/pairs.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { engineSpecs, makePlan, type PlanInput, runsWithoutBase } from "../../../src/core/plan/plan.ts";
import { renderPlan } from "../../../src/core/plan/render.ts";
import { loaded } from "../config/load.ts";

const config = loaded(`version: 1
backend: onnxruntime
models:
  one:
    onnx: one.onnx
    prepare: python export.py
    dims: { batch: { min: 1, opt: 8, max: 32 } }
    engines: { fp16: { precision: fp16 }, int8: { precision: int8, onnx: q.onnx } }
    workloads: [{ batch: 1 }, { batch: 8, streams: 2 }]
  two: { onnx: two.onnx }
gates: { memory: { fail: off } }
`);
const input: PlanInput = {
	config,
	arms: ["base", "head"],
	cases: new Map([["one/fp16", ["a", "b"]]]),
	seed: "seed",
};

it("makePlan derives an order for each workload from the seed", () => {
	const measured = makePlan(input).steps.filter((step) => step.kind === "measure");
	expect(measured).not.toEqual([]);
	for (const step of measured) expect(step.firstArms).toEqual(firstArms(`seed:${step.workloadId}`, 16));
	expect(makePlan(input)).toEqual(makePlan(input));
	expect(makePlan({ ...input, seed: "other" }).steps).not.toEqual(makePlan(input).steps);
});

it("makePlan runs only the head if there is no base", () => {
	const plan = makePlan({ ...input, arms: ["head"] });
	expect(plan.steps.every((step) => !("arm" in step) || step.arm === "head")).toBe(true);
	const measured = plan.steps.filter((step) => step.kind === "measure");
	expect(measured).not.toEqual([]);
	for (const step of measured)
		expect([step.pairs, step.firstArms]).toEqual([runsWithoutBase, ["head", "head", "head"]]);
});

it("makePlan refuses to check nothing", () => {
	const untimed = loaded("version: 1\nmodels: { a: { onnx: b, workloads: [] } }");
	const nothing = { ...input, config: untimed, cases: new Map() };
	expect(() => makePlan(nothing)).toThrow(ConfigError);
	expect(() => makePlan(nothing)).toThrow(/requests nothing/);
	expect(makePlan({ ...nothing, cases: new Map([["a/fp32", ["x"]]]) }).workloads).toEqual([]);
});

it("renderPlan shows what would be done and where settings come from", async () => {
	await expect(renderPlan(makePlan(input), config, config.backend)).toMatchFileSnapshot("./plan.txt");
});

it("renderPlan shows each side's build by its own recipe and name", () => {
	const of = (text: string) => loaded(`version: 1\nmodels: { net: ${text} }`);
	const [base, head] = [
		of("{ onnx: old.onnx, engines: { e: { precision: fp32 } } }"),
		of("{ onnx: net.onnx, engines: { e: { precision: fp16 } } }"),
	];
	const plan = {
		...makePlan({ ...input, config: head, cases: new Map() }),
		baseEngines: engineSpecs(base).map((spec) => ({ ...spec, was: "old/e" })),
	};
	const text = renderPlan(plan, head, "tensorrt");
	expect(text).toMatch(/build +base +old\/e · fp32 · old\.onnx/);
	expect(text).toMatch(/build +head +net\/e · fp16 · net\.onnx/);
});

it("renderPlan lets no name break a line or reach the terminal", () => {
	const hostile = loaded('version: 1\nmodels: { "a<b>": { onnx: x, prepare: "echo\\e[31m\\nrm -rf /" } }');
	const cases = new Map([["a<b>/fp32", ["case\u202e\u001b[2J"]]]);
	const plan = makePlan({ ...input, config: hostile, cases });
	const text = renderPlan(plan, hostile, "tensorrt");
	expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
	expect(text).toMatch(/prepare.*rm -rf/);
});

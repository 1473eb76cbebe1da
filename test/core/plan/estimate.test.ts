// What steps are expected to take before anything is built.
import { expect, it } from "vitest";
import { type Known, stepKey } from "../../../src/core/plan/estimate.ts";
import { makePlan } from "../../../src/core/plan/make-plan.ts";
import { loaded } from "../config/load.ts";

function stepsOf(known?: Known) {
	const config = loaded(
		"version: 1\nbackend: tensorrt\nmodels: { net: { onnx: a.onnx } }\nmeasure: { rebuilds: 3 }",
	);
	return makePlan({
		config,
		arms: ["base", "head"],
		cases: new Map([["net/fp32", ["a"]]]),
		seed: "",
		...(known && { known }),
	}).steps;
}

function timesOf(known?: Known): Record<string, [number, boolean]> {
	const steps = stepsOf(known).filter(({ kind }) => kind !== "preflight");
	return Object.fromEntries(
		steps.map((step) => [
			`${stepKey(step)} ${"arm" in step ? step.arm : ""}`,
			[step.estimateMs, step.isKnown],
		]),
	);
}

it("a step is expected to take what it took in the last run, a verification for both sides at once", () => {
	const times = {
		"build net/fp32 (base)": 47_000,
		"verify net/fp32": 4000,
		"measure net/fp32/default": 12_000,
	};
	expect(timesOf({ times, unchanged: new Set() })).toEqual({
		"build net/fp32 (base) base": [47_000, true],
		"build net/fp32 (head) head": [3 * 30_000, false],
		"verify net/fp32 base": [0, true],
		"verify net/fp32 head": [4000, true],
		"measure net/fp32/default ": [12_000, true],
	});
});

it("an engine that serves both sides is built once and not timed", () => {
	const times = timesOf({ times: {}, unchanged: new Set(["net/fp32"]) });
	expect(times["build net/fp32 (base) base"]).toEqual([90_000, false]);
	expect(times["build net/fp32 (head) head"]).toEqual([0, true]);
	expect(times["measure net/fp32/default "]).toEqual([0, true]);
});

it("the name of a step is no key of an object's prototype", () => {
	const config = loaded("version: 1\nmodels: { net: { onnx: a.onnx } }");
	const known = {
		times: Object.create({ "build net/fp32 (head)": 1 }) as Record<string, number>,
		unchanged: new Set<string>(),
	};
	const { steps } = makePlan({ config, arms: ["head"], cases: new Map(), seed: "", known });
	expect(steps.find(({ kind }) => kind === "build")?.isKnown).toBe(false);
});

// What builds are expected to take before anything is built.
import { expect, it } from "vitest";
import { coldBuildMs, secondBuildMs } from "../../../src/core/plan/build-time.ts";
import type { EngineFacts } from "../../../src/core/plan/estimate.ts";
import { makePlan } from "../../../src/core/plan/make-plan.ts";
import { loaded } from "../config/load.ts";

const small = { convolutions: 5, groupedConvolutions: 0 };
const large = { convolutions: 60, groupedConvolutions: 14 };
const ready: EngineFacts = {
	...{ isShared: false, sharesTimings: true },
	...{ sha256: { base: "b", head: "h" }, work: { base: small, head: large } },
};
const engine = loaded("version: 1\nmodels: { net: { onnx: a.onnx } }").models[0]!.engines[0]!;

it.each<[string, Partial<EngineFacts>, number, { base: number; head: number }]>([
	["of each side's own model", {}, 1, { base: coldBuildMs(small, engine), head: secondBuildMs(large, engine) }],
	[
		"with kernel timings of its own for each side",
		{ sharesTimings: false },
		1,
		{ base: coldBuildMs(small, engine), head: coldBuildMs(large, engine) },
	],
	["of a new model", { sharesTimings: false, sha256: { head: "h" } }, 1, { base: 0, head: coldBuildMs(large, engine) }],
	["three times each", {}, 3, { base: 3 * coldBuildMs(small, engine), head: 3 * coldBuildMs(large, engine) }],
	["of one model for both, once", { isShared: true }, 3, { base: coldBuildMs(small, engine), head: 0 }],
])("builds %s", (_, change, rebuilds, expected) => {
	const config = loaded(`version: 1\nbackend: tensorrt\nmodels: { net: { onnx: a.onnx } }\nmeasure: { rebuilds: ${rebuilds} }`);
	const known = { times: {}, engines: new Map([["net/fp32", { ...ready, ...change }]]) };
	const { steps } = makePlan({ config, arms: ["base", "head"], cases: new Map(), seed: "", known });
	const builds = steps.filter((step) => step.kind === "build");
	expect(Object.fromEntries(builds.map(({ arm, estimateMs }) => [arm, estimateMs]))).toEqual(expected);
	const guesses = builds.filter(({ isKnown }) => !isKnown);
	for (const { spread } of guesses) expect(spread).toBeGreaterThan(0);
	if (rebuilds > 1) expect(new Set(guesses.map(({ spread }) => spread)).size).toBe(1);
});

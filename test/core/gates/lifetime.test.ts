import { expect, it } from "vitest";
import type { Comparison, MemoryGrowthResult } from "../../../generated/result.ts";
import { judgeMemoryGrowth, judgeStartUp } from "../../../src/core/gates/lifetime.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildComparison } from "../../support/build-result.ts";

const slower = (estimate: number): Partial<Comparison> => ({
	verdict: "regressed",
	estimate,
	interval: [estimate - 0.01, estimate + 0.01],
});

it.each<[found: Partial<Comparison>, status: string | undefined, yaml?: string]>([
	[{}, "pass"],
	[slower(0.2), "warn"],
	[slower(0.6), "warn"],
	[slower(0.6), "fail", "gates: { start-up: { fail: 50% } }"],
	[slower(0.6), undefined, "gates: { start-up: { warn: off } }"],
	[{ verdict: "improved", estimate: -0.2 }, "pass"],
	[{ verdict: "inconclusive", reason: "Noise." }, "inconclusive"],
	[{ verdict: "inconclusive", reason: "Noise." }, "fail", "gates: { inconclusive: fail }"],
	[{ verdict: "not-comparable", reason: "No base." }, "inconclusive"],
	[{ verdict: "missing", reason: "New.", estimate: null, interval: null }, undefined],
])("a start-up of %j: %s", (found, status, yaml = "") => {
	const config = buildConfig(yaml);
	const [spec] = engineSpecs(config);
	const result = {
		model: "net",
		engine: "plain",
		comparison: buildComparison(found),
		base: null,
		head: null,
	};
	const gates = judgeStartUp(result, config, spec!.engine);
	expect(gates.map((gate) => gate.status)).toEqual(status === undefined ? [] : [status]);
	for (const gate of gates) expect(gate.message).toMatch(/^Time to the first inference: /);
});

it.each<[state: MemoryGrowthResult["state"], status: string, yaml?: string]>([
	["steady", "pass"],
	["grows", "fail"],
	["unknown", "inconclusive"],
	["unknown", "fail", "gates: { inconclusive: fail }"],
])("memory that %s: %s", (state, status, yaml = "") => {
	const config = buildConfig(yaml);
	const result = { model: "net", engine: "plain", state, message: "So it is.", phases: [] };
	expect(judgeMemoryGrowth(result, config, engineSpecs(config)[0]!.engine)).toMatchObject([
		{ gate: "memory-growth", status, message: "So it is.", engine: "plain" },
	]);
});

import { expect, it } from "vitest";
import { renderWork, workText } from "../../../src/core/compare/sentence.ts";
import { compareWork, doubtOfWork } from "../../../src/core/compare/work.ts";
import type { OnnxModel } from "../../../src/core/onnx/model.ts";

const steady = (instructions: number) => ({ instructions, otherInput: instructions });
const model = (...ops: string[]) =>
	({ graph: { nodes: ops.map((op) => ({ op })), subgraphs: [] }, functions: [] }) as unknown as OnnxModel;

it.each([
	[1e6, "unchanged", 0],
	[1e6 + 9, "unchanged", 0],
	[1e6 + 11, "unchanged", 1.1e-5],
	[1_019_999, "unchanged", 0.019999],
	[1_020_001, "regressed", 0.020001],
	[979_999, "improved", -0.020001],
	[1_419_000, "regressed", 0.419],
] as const)("a head of %i instructions against a million is %s", (head, verdict, estimate) => {
	const got = compareWork({ base: steady(1e6), head: steady(head) }, 0.02);
	expect(got.verdict).toBe(verdict);
	expect(got.estimate).toBeCloseTo(estimate, 12);
	expect(got.interval).toEqual([got.estimate, got.estimate]);
});

it("a count that depends on the values is a range", () => {
	const works = { base: steady(1e6), head: { instructions: 1.1e6, otherInput: 1.3e6 } };
	const got = compareWork(works, 0.02);
	expect(got.verdict).toBe("regressed");
	expect(got.interval?.map((bound) => bound.toFixed(3))).toEqual(["0.100", "0.300"]);
	expect(workText(got)).toBe(
		"1.000 M → 1.100 M instructions, +10.0 % (+10.0 to +30.0 % by the values of the inputs)",
	);
	expect(doubtOfWork(works, { base: model(), head: model() })).toMatch(
		/^The work depends on the values: .* 18\.18 %/,
	);
});

it.each([0, Number.NaN])("a base of %d instructions cannot be compared", (base) => {
	expect(compareWork({ base: steady(base), head: steady(1) }, 0.02)).toMatchObject({
		verdict: "not-comparable",
		estimate: null,
	});
});

it.each([
	[["Conv"], ["Conv", "Erf", "Erf"], "2 more Erf"],
	[["Sigmoid", "Conv"], ["Conv"], "1 fewer Sigmoid"],
	[
		["MatMul"],
		["DynamicQuantizeLinear", "MatMulInteger"],
		"1 more DynamicQuantizeLinear, 1 more MatMulInteger",
	],
	[["Conv"], ["Loop"], "1 more Loop"],
])("a change from %j to %j is doubtful", (base, head, says) => {
	const works = { base: steady(1e6), head: steady(2e6) };
	const doubt = doubtOfWork(works, { base: model(...base), head: model(...head) });
	expect(doubt).toBe(`Counts follow the time of such nodes poorly: ${says}.`);
	expect(renderWork(compareWork(works, 0.02), doubt ?? undefined)).toContain("It only warns.");
});

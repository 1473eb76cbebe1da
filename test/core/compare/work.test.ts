import { expect, it } from "vitest";
import { renderWork, workText } from "../../../src/core/compare/sentence.ts";
import {
	canExplain,
	compareWork,
	doubtOfNodes,
	doubtOfValues,
	hasPlainNames,
} from "../../../src/core/compare/work.ts";
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
	expect(doubtOfValues(works)).toMatch(/^The work depends on the values: .* 18\.18 %/);
});

it.each([
	["no values", 1.5, 1.5, false],
	["values that may bring it below", 1.5, 1.55, true],
	["a few values beside much more work", 4.98, 4.99, false],
	["values that move all of it", 4.98, 3, true],
])("a change that should fail is in doubt by %s as far as they go", (_, own, other, isDoubtful) => {
	const works = { base: steady(1e6), head: { instructions: own * 1e6, otherInput: other * 1e6 } };
	expect(doubtOfValues(works, 0.1) !== null).toBe(isDoubtful);
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
	const doubt = doubtOfNodes({ base: model(...base), head: model(...head) });
	expect(doubt).toBe(`Counts follow the time of such nodes poorly: ${says}.`);
	expect(renderWork(compareWork(works, 0.02), doubt ?? undefined)).toContain("It only warns.");
});

type Split = Readonly<Record<string, number>>;

it.each<[string, Split, Split, boolean]>([
	["one Tanh of one element beside +398 %", { Conv: 1e6 }, { Conv: 4.98e6, Tanh: 60 }, false],
	["an If with a trivial body beside +398 %", { Conv: 1e6 }, { Conv: 4.98e6, If: 900, Add: 40 }, false],
	["a body of an If with the work itself", { Conv: 1e6 }, { Conv: 4.98e6, If: 900 }, false],
	["one quantised node beside +398 %", { Conv: 1e6 }, { Conv: 4.98e6, MatMulInteger: 500 }, false],
	["one softmax gone beside +398 %", { Conv: 999_940, Softmax: 60 }, { Conv: 4.98e6 }, false],
	["a Gelu in place of Erf parts beside +90 %", { Conv: 8e5, Erf: 2e5 }, { Conv: 1.7e6, Gelu: 2e5 }, false],
	["a Gelu in place of Erf", { Conv: 5e5, Erf: 4e5, Add: 1e5 }, { Conv: 5e5, Gelu: 6.5e5 }, true],
	["Erf in place of Relu", { Conv: 9e5, Relu: 1e5 }, { Conv: 9e5, Erf: 5e5 }, true],
	["int8 in place of fp32", { Conv: 1e6 }, { QLinearConv: 1.3e6 }, true],
	["half of all softmax gone", { Conv: 5e5, Softmax: 5e5 }, { Conv: 9e5, Softmax: 2.5e5 }, true],
	["a loop that costs as much itself", { Conv: 1e6 }, { Conv: 1e6, Loop: 3e5 }, true],
	["Tanh for ten times the limit", { Conv: 1e6 }, { Conv: 1e6, Tanh: 1.01e6 }, false],
	["9 % more Conv and much Tanh", { Conv: 1e6 }, { Conv: 1.09e6, Tanh: 9e4 }, true],
	["no nodes, as the profile was not read", {}, {}, false],
])("%s: misjudged nodes can explain a change above 10 %%", (_, base, head, expected) => {
	const sum = (split: Split) => Object.values(split).reduce((all, own) => all + own, 0);
	const works = { base: steady(sum(base) || 1e6), head: steady(sum(head) || 2e6) };
	const operators = { base: new Map(Object.entries(base)), head: new Map(Object.entries(head)) };
	expect(canExplain(works, operators, 0.1)).toBe(expected);
});

it.each([
	["/neck/reduce/Conv:0", true],
	['a"b', false],
	["a\n{", false],
])("a model with the name %j is split by its profile: %s", (name, isPlain) => {
	const { graph, ...rest } = model("Tanh");
	const nodes = graph.nodes.map((node) => ({ ...node, name }));
	expect(hasPlainNames({ ...rest, graph: { ...graph, nodes } })).toBe(isPlain);
});

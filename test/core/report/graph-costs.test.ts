// What graphs cost in every report: one line in a comment where multiply-adds changed, nothing where they did not.
import { expect, it } from "vitest";
import type { GraphCost, GraphFigures, NodeCostChange } from "../../../generated/result.ts";
import { validate } from "../../../generated/result-validator.js";
import { nodeChangeText } from "../../../src/core/report/sections/graph-costs.ts";
import { buildResult } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";
import { shownLines } from "../../support/shown-lines.ts";

const figures: GraphFigures = {
	...{ nodes: 54, multiplyAdds: 3.2e9, unknownNodes: 0, parameters: 1e6, weightBytes: 4e6 },
	...{ activationBytes: 9e6, tensors: 60, unknownTensors: 0 },
};
const node = { operator: "Conv", multiplyAdds: 1.23e6, weights: 6400, output: "[1, 64, 80, 80]" };
const larger = { ...node, multiplyAdds: 9.31e6, weights: 596_224 };
const change: NodeCostChange = { node: "/neck/reduce/Conv", base: node, head: larger };

const cost = (over: Partial<GraphCost> = {}): GraphCost => ({
	...{ model: "det", workloads: ["det/fp16/default"], shapes: { images: [1, 3, 640, 640] }, base: figures },
	...{ head: { ...figures, multiplyAdds: 4.1e9, unknownNodes: 3 }, changes: [change], changed: 1 },
	...over,
});
const reports = (...graphCosts: GraphCost[]) => inEveryFormat({ ...buildResult(), graphCosts });

it("a graph that does more work is one folded line of a comment, and every report names the node", () => {
	const costs = [cost(), cost({ shapes: { images: [8, 3, 640, 640] } })];
	expect(validate({ ...buildResult(), graphCosts: costs }), JSON.stringify(validate.errors)).toBe(true);
	const { markdown, html, terminal } = reports(...costs);
	expect(shownLines(markdown).filter((line) => line.includes("multiply-adds"))).toEqual([
		expect.stringContaining("Graph work: 3.20 G → ≥ 4.10 G multiply-adds (+28.1 %)"),
	]);
	const text = "1.23 M → 9.31 M multiply-adds: weights 6,400 → 596,224";
	expect(markdown).toContain(`- \`/neck/reduce/Conv\` ${text}`);
	for (const shown of [html, terminal]) expect(shown).toContain(text);
	for (const shown of ["/neck/reduce/Conv", "multiply-adds of 3 of 54 nodes"]) expect(html).toContain(shown);
});

it("a comment counts several changed models, and has a row for each, however many sizes were timed", () => {
	const { markdown } = reports(...["a", "b", "a"].map((model) => cost({ model })));
	expect(markdown).toContain("Graph work: 2 models changed");
	expect(markdown.match(/^\| [ab], images 1×3×640×640 \|/gm)).toHaveLength(2);
});

it("a graph that did not change, or without a base, appears only on the page", () => {
	const { markdown, html, terminal } = reports(cost({ head: figures, changes: [], changed: 0 }));
	for (const text of [markdown, terminal]) expect(text).not.toContain("multiply-adds");
	expect(html).toContain("<summary>Work by the graph</summary>");
	const alone = reports(cost({ base: null, changes: [], changed: 0 }));
	expect(alone.markdown).not.toContain("multiply-adds");
	expect(alone.html).toContain("≥ 4.10 G");
});

it("names from a model file cannot become markup", () => {
	const hostile = "<img src=x>|`@everyone`";
	const { markdown, html } = reports(cost({ model: hostile, changes: [{ ...change, node: hostile }] }));
	expect(html).not.toContain("<img src=x>");
	expect(markdown).not.toMatch(/(?<!\\)<img/);
});

const quantised = { ...larger, operator: "QLinearConv", output: "[1, 64, 40, 40]", multiplyAdds: 2.33e6 };

it.each<[Partial<NodeCostChange>, string]>([
	[{ base: null }, "added: 9.31 M multiply-adds, 596,224 weights"],
	[{ head: null }, "removed: 1.23 M multiply-adds, 6,400 weights"],
	[{ base: { ...larger, multiplyAdds: null } }, "unknown → 9.31 M multiply-adds"],
	[
		{ base: larger, head: quantised },
		"9.31 M → 2.33 M multiply-adds: Conv → QLinearConv, output [1, 64, 80, 80] → [1, 64, 40, 40]",
	],
])("a changed node reads as what changed: %#", (over, text) => {
	expect(nodeChangeText({ ...change, ...over })).toBe(text);
});

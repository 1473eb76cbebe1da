// What graphs cost in every report: one line in a comment where multiply-adds changed, nothing where they did not.

import { describe, expect, it } from "vitest";
import type { GraphCost, GraphFigures, NodeCostChange } from "../../../generated/result.ts";
import { validate } from "../../../generated/result-validator.js";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { nodeChangeText } from "../../../src/core/report/sections/graph-costs.ts";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import { buildResult } from "../../support/build-result.ts";
import { shownLines } from "../../support/shown-lines.ts";

const figures: GraphFigures = {
	nodes: 54,
	multiplyAdds: 3.2e9,
	unknownNodes: 0,
	parameters: 1e6,
	weightBytes: 4e6,
	activationBytes: 9e6,
	tensors: 60,
	unknownTensors: 0,
};

const change: NodeCostChange = {
	node: "/neck/reduce/Conv",
	base: { operator: "Conv", multiplyAdds: 1.23e6, weights: 6400, output: "[1, 64, 80, 80]" },
	head: { operator: "Conv", multiplyAdds: 9.31e6, weights: 596_224, output: "[1, 64, 80, 80]" },
};

function cost(over: Partial<GraphCost> = {}): GraphCost {
	return {
		model: "det",
		workloads: ["det/fp16/default"],
		shapes: { images: [1, 3, 640, 640] },
		base: figures,
		head: { ...figures, multiplyAdds: 4.1e9, unknownNodes: 3 },
		changes: [change],
		changed: 1,
		...over,
	};
}

const reports = (graphCosts: GraphCost[]) => {
	const result = { ...buildResult(), graphCosts };
	return {
		result,
		markdown: renderMarkdown(result),
		html: renderHtml(result),
		terminal: renderTerminal(result, { color: false, columns: 140 }),
	};
};

describe("a graph that does more work", () => {
	const { result, markdown, html, terminal } = reports([
		cost(),
		cost({ shapes: { images: [8, 3, 640, 640] } }),
	]);

	it("the schema accepts its facts", () => {
		expect(validate(result), JSON.stringify(validate.errors)).toBe(true);
	});

	it("a comment folds it under one line, and names the node inside", () => {
		const title = "Graph work: 3.20 G → ≥ 4.10 G multiply-adds (+28.1 %)";
		expect(shownLines(markdown).filter((line) => line.includes("multiply-adds"))).toEqual([
			expect.stringContaining(title),
		]);
		expect(markdown).toContain(
			"- `/neck/reduce/Conv` 1.23 M → 9.31 M multiply-adds: weights 6,400 → 596,224",
		);
	});

	it("the page and the terminal name the node and what changed it", () => {
		const text = "1.23 M → 9.31 M multiply-adds: weights 6,400 → 596,224";
		for (const shown of [html, terminal]) expect(shown).toContain(text);
		expect(html).toContain("/neck/reduce/Conv");
		expect(html).toContain("multiply-adds of 3 of 54 nodes");
	});
});

it("a comment counts several changed models, and has a row for each, however many sizes were timed", () => {
	const { markdown } = reports(["a", "b", "a"].map((model) => cost({ model })));
	expect(markdown).toContain("Graph work: 2 models changed");
	expect(markdown.match(/^\| [ab], images 1×3×640×640 \|/gm)).toHaveLength(2);
});

it("an unchanged graph appears only on the page, folded", () => {
	const { markdown, html, terminal } = reports([cost({ head: figures, changes: [], changed: 0 })]);
	expect(markdown).not.toContain("multiply-adds");
	expect(terminal).not.toContain("multiply-adds");
	expect(html).toContain("<summary>Work by the graph</summary>");
});

it("without a base the page shows the head's figures", () => {
	const { markdown, html } = reports([cost({ base: null, changes: [], changed: 0 })]);
	expect(markdown).not.toContain("multiply-adds");
	expect(html).toContain("≥ 4.10 G");
});

it("names from a model file cannot become markup", () => {
	const hostile = "<img src=x>|`@everyone`";
	const { markdown, html } = reports([cost({ model: hostile, changes: [{ ...change, node: hostile }] })]);
	expect(html).not.toContain("<img src=x>");
	expect(markdown).not.toMatch(/(?<!\\)<img/);
});

it.each<[NodeCostChange, string]>([
	[{ ...change, base: null }, "added: 9.31 M multiply-adds, 596,224 weights"],
	[{ ...change, head: null }, "removed: 1.23 M multiply-adds, 6,400 weights"],
	[
		{ node: "a", base: { ...change.head!, multiplyAdds: null }, head: change.head },
		"unknown → 9.31 M multiply-adds",
	],
	[
		{
			node: "a",
			base: change.head,
			head: { ...change.head!, operator: "QLinearConv", output: "[1, 64, 40, 40]", multiplyAdds: 2.33e6 },
		},
		"9.31 M → 2.33 M multiply-adds: Conv → QLinearConv, output [1, 64, 80, 80] → [1, 64, 40, 40]",
	],
])("a changed node reads as what changed: %#", (given, text) => {
	expect(nodeChangeText(given)).toBe(text);
});

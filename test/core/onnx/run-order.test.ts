import { expect, it } from "vitest";
import { nodesInRunOrder, producersOf, scopesOf } from "../../../src/core/onnx/walk.ts";
import { graph, modelOf, nodes, value } from "../../support/onnx-writer.ts";

it("nodesInRunOrder puts nodes on and behind cycles last, in the file's order", () => {
	const file = `
		[behind] b = Add(round); [round] round = Add(round, first); [second] s = Add(first); [first] first = Add(x)
	`;
	const names = nodesInRunOrder(scopesOf(modelOf({ nodes: file }))[0]).map(({ name }) => name);
	expect(names).toEqual(["first", "second", "behind", "round"]);
});

it("producersOf handles bodies that read more names than a call takes arguments", () => {
	const names = Array.from({ length: 300_000 }, (_, at) => `t${at}`);
	const inner = graph({ inputs: [], nodes: "r = Add(a)", outputs: [value("r")] });
	const middle = graph({ inputs: [], nodes: nodes("q = If<body=$0>()", inner), outputs: [value("q")] });
	const outer = modelOf({ nodes: nodes("a = Add(); y = If<then_branch=$0>()", middle) });
	const reader = outer.graph.subgraphs[0]?.graph.subgraphs[0]?.graph.nodes[0];
	Object.assign(reader!, { inputs: [...names, "a"] });
	expect(producersOf(scopesOf(outer)[0])).toEqual([[], [0]]);
});

import { resolve } from "node:path";
import { expect, it } from "vitest";
import { cost } from "../../../src/app/commands/cost.ts";
import { renderCosts } from "../../../src/core/report/sections/graph-costs.ts";
import { expectSchema } from "../../support/expect-schema.ts";
import { expectFault } from "../../support/project.ts";
import { testTerminal } from "../../support/test-terminal.ts";

async function run(...argv: string[]) {
	let written = "";
	const terminal = testTerminal(resolve("test/fixtures/models"), (text) => {
		written += text;
	});
	await cost(argv, terminal);
	return written;
}

const two = ["head-classifier-wider.onnx", "classifier.onnx", "--dims", "batch=8"];

it("one model: totals, operators, and the nodes with most multiply-adds", async () => {
	const text = await run("segmenter.onnx", "--top", "2");
	expect(text).toContain(
		"multiply-adds  17.1 M\nparameters     14.6 k\nweights        57.2 KiB\nlive tensors   1.50 MiB",
	);
	expect(text).toContain("Conv × 4: 17.1 M multiply-adds (100 %), 14,630 weights");
	expect(text).toContain("mid (Conv) 9.44 M multiply-adds, 9,248 weights, output [1, 32, 32, 32]");
	expect(text).toContain("… and 2 more; --json lists all");
});

it("two models: each figure of base and head, and the changed nodes by name", async () => {
	const text = await run(...two);
	expect(text).toContain("multiply-adds  17.7 M → 56.6 M (+220 %)");
	expect(text).toContain("block1 9.44 M → 37.7 M multiply-adds: weights 4,640 → 18,464");
});

const costs = (multiplyAdds: number, unknownNodes: number) => ({
	path: "m.onnx",
	shapes: {},
	figures: {
		...{ nodes: 9, multiplyAdds, unknownNodes, parameters: 1, weightBytes: 4 },
		...{ activationBytes: 4, tensors: 2, unknownTensors: 0 },
	},
	operators: [],
	nodes: [],
});

it.each([
	[costs(1000, 0), costs(11, 3), "1,000 → ≥ 11\n"],
	[costs(1000, 3), costs(1100, 0), "≥ 1,000 → 1,100\n"],
	[costs(1000, 0), costs(1100, 3), "1,000 → ≥ 1,100 (+10.0 %)\n"],
	[costs(1000, 3), costs(900, 0), "≥ 1,000 → 900 (−10.0 %)\n"],
	[costs(1000, 3), costs(900, 3), "≥ 1,000 → ≥ 900 (−10.0 %)\n"],
])("a change of lower bounds has a share only if it is at least that: $2", (base, head, expected) => {
	expect(renderCosts({ head, base }, 1)).toContain(`multiply-adds  ${expected}`);
});

it("JSON has the figures, the operators and every node that costs something", async () => {
	const facts = JSON.parse(await run("segmenter.onnx", "--json"));
	const sizes = { parameters: 14_634, weightBytes: 58_536, activationBytes: 1_572_864 };
	expect(facts.head.figures).toMatchObject({ multiplyAdds: 17_104_896, ...sizes });
	expect(facts.head.nodes.map(({ node }: { node: string }) => node)).toContain("mid");
	expect(facts).not.toHaveProperty("base");
});

it("JSON of one and of two models matches its schema", async () => {
	for (const models of [["segmenter.onnx"], two])
		expectSchema(JSON.parse(await run(...models, "--json")), "cost");
});

it("missing sizes are refused with the line that gives them", async () => {
	await expectFault(run("classifier.onnx"), "config-dims", "", "--dims batch=");
});

it.each([[["a.onnx", "b.onnx", "c.onnx"]], [["segmenter.onnx", "--top", "many"]], [[]]])(
	"%j is refused as usage",
	async (argv) => {
		await expectFault(run(...argv), "usage");
	},
);

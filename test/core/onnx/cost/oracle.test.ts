// test/oracles/graph-cost.py describes each figure.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { costsOf } from "../../../../src/core/onnx/cost/cost.ts";
import { readFixture } from "../../../support/onnx-writer.ts";

type Figure = "published" | "torch" | "ones" | "executed" | "parameters" | "weightBytes" | "peak";

interface Case extends Partial<Record<Figure, number> & Record<"tool" | "biases", Record<string, number>>> {
	name: string;
	model: string;
	shapes: Record<string, number[]>;
}

const cases: Case[] = JSON.parse(readFileSync("test/oracles/graph-cost.json", "utf8"));

const count = ({ model, shapes }: Case) => costsOf(readFixture(model))({ shapes });

function of(figure: keyof Case): [string, Case][] {
	return cases.filter((each) => each[figure] !== undefined).map((each) => [each.name, each]);
}

/** Its attention is one fused operator of PyTorch, which PyTorch's counter leaves out. */
const fusedAttention = ["vit_b_16"];

it.each(cases.map((each) => [each.name, each] as const))(
	"every node and tensor of %s is known",
	(_, each) => {
		const { unknownNodes, unknownTensors } = count(each);
		expect({ unknownNodes, unknownTensors }).toEqual({ unknownNodes: 0, unknownTensors: 0 });
	},
);

it.each<["published" | "torch" | "ones" | "executed" | "peak", string]>([
	["published", "the multiply-adds that torchvision publishes"],
	["torch", "the multiply-adds that PyTorch counts"],
	["ones", "the products that it sums, computed from ones"],
	["executed", "the multiply-adds that running it executes"],
	["peak", "the bytes alive that a brute-force search over a run finds"],
])("each model has as %s %s", (figure) => {
	for (const [name, each] of of(figure)) {
		if (figure === "torch" && fusedAttention.includes(name)) continue;
		const { multiplyAdds, activationBytes } = count(each);
		const own = figure === "published" ? Math.round(multiplyAdds / 1e6) / 1000 : multiplyAdds;
		expect(figure === "peak" ? activationBytes : own, name).toBe(each[figure]);
	}
	expect(of(figure)).not.toEqual([]);
});

it.each(of("tool"))(
	"%s has the multiply-adds of onnx-tool, which adds one for each element of a bias",
	(_, each) => {
		const mine: Record<string, number> = {};
		for (const { node, multiplyAdds } of count(each).nodes)
			if (multiplyAdds !== 0) mine[node.op] = (mine[node.op] ?? 0) + (multiplyAdds ?? Number.NaN) + 0;
		for (const [op, added] of Object.entries(each.biases ?? {})) mine[op] = (mine[op] ?? 0) + added;
		expect(mine).toEqual(each.tool);
	},
);

it.each(of("parameters"))("%s has the parameters and weights that the onnx package reads", (_, each) => {
	const { parameters, weightBytes } = count(each);
	expect({ parameters, weightBytes }).toEqual({ parameters: each.parameters, weightBytes: each.weightBytes });
});

// Which nodes make the difference between two graphs.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { changedNodes } from "../../../../src/core/onnx/cost/compare.ts";
import { costsOf } from "../../../../src/core/onnx/cost/cost.ts";
import { memorySource } from "../../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../../src/formats/onnx/reader.ts";
import { modelOf, node, tensor, value } from "../../../support/onnx-writer.ts";

/** A chain of products, by name and size of the result. */
function chain(...layers: readonly (readonly [name: string, size: number])[]) {
	let [from, width] = ["x", 4];
	const nodes: Uint8Array[] = [];
	const weights: Uint8Array[] = [];
	for (const [at, [name, size]] of layers.entries()) {
		nodes.push(node({ op: "MatMul", name, inputs: [from, `w${at}`], outputs: [`h${at}`] }));
		weights.push(tensor({ name: `w${at}`, dims: [width, size] }));
		[from, width] = [`h${at}`, size];
	}
	return costsOf(modelOf({ inputs: [value("x", [1, 4])], nodes, initializers: weights }))({ shapes: {} });
}

const named = (changes: ReturnType<typeof changedNodes>) =>
	changes.map(({ node, base, head }) => [node, base?.weights, head?.weights]);

it("a wider layer and the one behind it are named, the larger change first", () => {
	expect(
		named(changedNodes(chain(["a", 8], ["b", 2], ["c", 3]), chain(["a", 16], ["b", 2], ["c", 3]))),
	).toEqual([
		["a", 32, 64],
		["b", 16, 32],
	]);
});

it("renamed nodes are not a change", () => {
	expect(changedNodes(chain(["a", 8], ["b", 2]), chain(["x1", 8], ["x2", 2]))).toEqual([]);
});

it("the wider classifier of the fixtures differs in two layers", () => {
	const count = (name: string) =>
		costsOf(readOnnx(memorySource(readFileSync(`test/fixtures/models/${name}.onnx`)), name))({
			shapes: { images: [8, 3, 32, 32] },
		});
	const changes = changedNodes(count("classifier"), count("head-classifier-wider"));
	expect(changes.map(({ node, base, head }) => [node, base?.multiplyAdds, head?.multiplyAdds])).toEqual([
		["block1", 9_437_184, 37_748_736],
		["stem", 3_538_944, 14_155_776],
	]);
});

it("an added and a removed layer are named as such", () => {
	const [short, long] = [chain(["a", 4], ["b", 4]), chain(["a", 4], ["new", 4], ["b", 4])];
	expect(named(changedNodes(short, long))).toEqual([["new", undefined, 16]]);
	expect(named(changedNodes(long, short))).toEqual([["new", 16, undefined]]);
});

it("nodes with the same name are distinguished by their order", () => {
	expect(
		named(changedNodes(chain(["n", 4], ["n", 4], ["n", 4]), chain(["n", 4], ["n", 4], ["n", 8]))),
	).toEqual([["n", 16, 32]]);
});

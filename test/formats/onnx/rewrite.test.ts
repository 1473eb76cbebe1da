import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import { bytesField, joinBytes, nodesFile, rewriteOnnx } from "../../../src/formats/onnx/write.ts";
import { graph, model, node, nodes } from "../../support/onnx-writer.ts";

const read = (file: Uint8Array) => readOnnx(memorySource(file), "m.onnx");
const files = readdirSync("test/fixtures/onnx")
	.filter((name) => name.endsWith(".onnx"))
	.map((name) => new Uint8Array(readFileSync(`test/fixtures/onnx/${name}`)));

it("rewriteOnnx gives the same model if every node is kept", () => {
	expect(files.length).toBeGreaterThan(3);
	for (const file of files) {
		const before = read(file);
		const nodes = before.graph.nodes.map((_, kept) => ({ kept }));
		const { bytes, ...after } = read(rewriteOnnx(file, { nodes }));
		expect({ bytes: before.bytes, ...after }).toEqual(before);
		const rewired = before.graph.nodes.map(({ inputs, outputs }, kept) => ({ kept, inputs, outputs }));
		expect(read(rewriteOnnx(file, { nodes: rewired })).graph).toEqual(before.graph);
	}
});

it("nodesFile keeps names, operations and edges of the nodes, and nothing else", () => {
	for (const file of files) {
		const { graph: before } = read(file);
		const { graph: after } = read(nodesFile(before.nodes));
		const edges = ({ nodes }: typeof before) =>
			nodes.map(({ name, op, inputs, outputs }) => ({ name, op, inputs, outputs }));
		expect(edges(after)).toEqual(edges(before));
		expect([after.initializers, after.nodes.flatMap(({ attributes }) => attributes)]).toEqual([[], []]);
	}
});

it("rewriteOnnx keeps unknown fields of the model, the graph and a node", () => {
	const unknown = (text: string) => bytesField(1999, new TextEncoder().encode(text));
	const relu = joinBytes(node({ op: "Relu", inputs: ["x"], outputs: ["y"] }), unknown("in the node"));
	const file = model({ nodes: [relu], more: unknown("in the graph"), modelMore: unknown("in the model") });
	const written = rewriteOnnx(file, { nodes: [{ kept: 0, inputs: ["x"], outputs: ["z"] }] });
	const text = new TextDecoder("latin1").decode(written);
	for (const where of ["model", "graph", "node"]) expect(text).toContain(`in the ${where}`);
	expect(read(written).graph.nodes[0]).toMatchObject({ op: "Relu", inputs: ["x"], outputs: ["z"] });
});

it("rewriteOnnx adds nodes, constants and outputs, and edits the graphs inside a node", () => {
	const body = graph({ nodes: "a = Neg(x)", inputs: [], name: "then" });
	const branch = nodes("y = If<then_branch=$0>(c)", body);
	const value = { dtype: "float", dims: [2], values: [1.5, -2] } as const;
	const cast = { op: "Cast", inputs: ["b"], outputs: ["a"], attributes: { to: 10 } };
	const bodies = new Map([["then_branch", { nodes: [{ kept: 0, outputs: ["b"] }, cast] }]]);
	const written = rewriteOnnx(model({ nodes: branch }), {
		nodes: [
			{ op: "Constant", inputs: [], outputs: ["k"], attributes: { value } },
			{ kept: 0, bodies },
		],
		addedOutputs: [{ name: "k", dtype: "float", dims: [2] }],
	});
	const { nodes: after, outputs, subgraphs } = read(written).graph;
	expect(after.map(({ op }) => op)).toEqual(["Constant", "If"]);
	expect(after[0]?.attributes[0]?.tensor).toMatchObject({ dtype: "float", dims: [2], values: [1.5, -2] });
	expect(outputs.at(-1)).toEqual({ name: "k", kind: "tensor", dtype: "float", dims: [2] });
	expect(subgraphs[0]?.graph.nodes).toMatchObject([
		{ op: "Neg", inputs: ["x"], outputs: ["b"] },
		{ op: "Cast", inputs: ["b"], outputs: ["a"] },
	]);
});

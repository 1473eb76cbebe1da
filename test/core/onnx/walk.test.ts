import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { cutAt, readsOf, scopesOf } from "../../../src/core/onnx/walk.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import { rewriteOnnx } from "../../../src/formats/onnx/write.ts";
import { cuts } from "../../support/cuts.ts";
import { floats, graph, type ModelInit, model, nodes, tensor, value } from "../../support/onnx-writer.ts";

const read = (file: Uint8Array) => readOnnx(memorySource(file), "m.onnx");
const weight = (name: string) => tensor({ name, dims: [1], raw: floats(1) });

function cut(init: ModelInit, name: string) {
	const file = model(init);
	return read(rewriteOnnx(file, cutAt(read(file), { name, dtype: "float", dims: [null, 4] }))).graph;
}

const names = (values: readonly { name: string }[]) => values.map(({ name }) => name);

describe("cutAt", () => {
	const branch = graph({ nodes: "r = Add(a, w); s = Mul(r, v)", inputs: [], outputs: [value("s")] });
	const outer = graph({
		nodes: nodes("i = If<then_branch=$0>(c)", branch),
		inputs: [],
		outputs: [value("i")],
	});
	it.each<[string, ModelInit["nodes"], string, string[], string[]]>([
		["a chain", "a = Neg(x); b = Abs(a); y = Relu(b)", "b", ["a", "b"], []],
		["a side branch", "a = Neg(x); b = Abs(x); y = Add(a, b)", "a", ["a"], []],
		[
			"both ways of a diamond",
			"a = Neg(x); b = Add(a, w); c = Add(a, v); d = Add(b, c); y = Relu(d)",
			"d",
			["a", "b", "c", "d"],
			["w", "v"],
		],
		["weights that only later nodes read", "a = Add(x, w); y = Add(a, v)", "a", ["a"], ["w"]],
		["all of a node's outputs", "a, b = Split(x); y = Add(a, b)", "b", ["a", "b"], []],
		["a graph's output", "a = Neg(x); y = Relu(a)", "y", ["a", "y"], []],
		[
			"what a subgraph reads from outside",
			nodes("a = Neg(x); c = Cast(x); b = If<then_branch=$0>(c); z = Abs(a); y = Add(b, u)", branch),
			"b",
			["a", "c", "b"],
			["w", "v"],
		],
		[
			"what a subgraph in a subgraph reads",
			nodes("a = Neg(x); c = Cast(x); o = If<then_branch=$0>(c); y = Add(o, u)", outer),
			"o",
			["a", "c", "o"],
			["w", "v"],
		],
	])("keeps %s", (_, given, at, kept, weights) => {
		const initializers = ["w", "v", "u"].map(weight);
		const part = cut({ nodes: given ?? "", initializers, inputs: [value("x"), value("unused")] }, at);
		expect(part.nodes.flatMap(({ outputs }) => outputs)).toEqual(kept);
		expect(names(part.initializers)).toEqual(weights);
		expect(names(part.inputs)).toEqual(["x", "unused"]);
		expect(part.outputs).toEqual([{ name: at, kind: "tensor", dtype: "float", dims: [null, 4] }]);
	});

	it("drops the input that a dropped weight of an old file is listed as", () => {
		const inputs = [value("x"), value("w"), value("v")];
		const part = cut(
			{ irVersion: 3, nodes: "a = Add(x, w); y = Add(a, v)", inputs, initializers: ["w", "v"].map(weight) },
			"a",
		);
		expect(names(part.inputs)).toEqual(["x", "w"]);
	});
});

it("what every cut reads is in it, and what it holds is read", () => {
	let checked = 0;
	for (const { file, tensor, cut } of cuts()) {
		const [scope] = scopesOf(read(cut));
		const used = new Set(readsOf(scope).flat().filter(Boolean));
		const there = new Set([
			...scope.inputs,
			...names(scope.initializers),
			...scope.nodes.flatMap(({ outputs }) => outputs),
		]);
		const lost = [...used].filter((name) => !there.has(name));
		if (!/\/bad-/.test(file)) expect(lost, `${file} ${tensor}`).toEqual([]);
		expect(names(scope.initializers).filter((name) => !used.has(name))).toEqual([]);
		expect(scope.outputs).toEqual([tensor]);
		for (const { outputs } of scope.nodes)
			expect(outputs.some((name) => used.has(name) || name === tensor)).toBe(true);
		checked += 1;
	}
	expect(checked).toBeGreaterThan(250);
});

it("cuts are the bytes that the onnx package calls valid", () => {
	const oracle: Record<string, unknown> = JSON.parse(readFileSync("test/oracles/cut.json", "utf8"));
	const found = new Map<string, { cuts: number; hash: ReturnType<typeof createHash> }>();
	for (const { file, cut } of cuts()) {
		const one = found.get(file) ?? { cuts: 0, hash: createHash("sha256") };
		one.hash.update(cut);
		found.set(file, { ...one, cuts: one.cuts + 1 });
	}
	const valid = [...found].filter(([file]) => file in oracle);
	expect(
		Object.fromEntries(valid.map(([file, { cuts, hash }]) => [file, { cuts, sha256: hash.digest("hex") }])),
	).toEqual(oracle);
});

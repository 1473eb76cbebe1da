import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-web";
import { expect, it } from "vitest";
import {
	attribute,
	floats,
	int64s,
	type ModelInit,
	model,
	node,
	tensor,
	value,
} from "../support/onnx-writer.ts";
import { runCli, temporaryFolder, writeProject } from "../support/project.ts";

const { integer } = attribute;
const zeros = (name: string, dims: readonly number[]) =>
	tensor({ name, dims, raw: floats(...Array<number>(dims.reduce((a, b) => a * b, 1)).fill(0)) });
const numbers = (name: string, dims: readonly number[], ...values: number[]) =>
	tensor({ name, dims, dtype: 7, raw: int64s(...values) });

async function preflighted(init: ModelInit) {
	const cwd = writeProject(temporaryFolder(), { "m.onnx": model(init) });
	const [plain, json] = [
		await runCli(["preflight", "m.onnx"], { cwd }),
		await runCli(["preflight", "m.onnx", "--json"], { cwd }),
	];
	const { findings, model: summary } = JSON.parse(json.stdout) as {
		findings: { code: string; severity: string }[];
		model: unknown;
	};
	return {
		exit: plain.exit,
		text: plain.stdout,
		codes: findings.map(({ code, severity }) => `${severity} ${code}`),
		summary,
		taken: await isTaken(join(cwd, "m.onnx")),
	};
}

async function isTaken(modelPath: string): Promise<boolean> {
	try {
		const session = await InferenceSession.create(modelPath, { logSeverityLevel: 3 });
		const [input] = session.inputMetadata;
		const shape = input?.isTensor ? input.shape.map((size) => (typeof size === "number" ? size : 2)) : [];
		const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
		await session.run({ [input?.name ?? ""]: new Tensor("float32", data, shape) });
		return true;
	} catch {
		return false;
	}
}

/** [batch, 32, 1, 40] through the operators of a text recogniser, down to rows of 64. */
const recogniser: ModelInit = {
	inputs: [value("x", ["batch", 32, 1, 40])],
	nodes: [
		node({
			op: "Conv",
			inputs: ["x", "k"],
			outputs: ["c"],
			attributes: [attribute.integers("pads", [0, 1, 0, 1])],
		}),
		node({
			op: "MaxPool",
			inputs: ["c"],
			outputs: ["p"],
			attributes: [attribute.integers("kernel_shape", [1, 2]), attribute.integers("strides", [1, 2])],
		}),
		node({ op: "Squeeze", inputs: ["p", "two"], outputs: ["s"] }),
		node({
			op: "Transpose",
			inputs: ["s"],
			outputs: ["t"],
			attributes: [attribute.integers("perm", [0, 2, 1])],
		}),
		node({ op: "Shape", inputs: ["t"], outputs: ["shape"] }),
		node({ op: "Gather", inputs: ["shape", "zero"], outputs: ["rows"] }),
		node({ op: "Concat", inputs: ["rows", "rest"], outputs: ["target"], attributes: [integer("axis", 0)] }),
		node({ op: "Reshape", inputs: ["t", "target"], outputs: ["r"] }),
		node({ op: "MatMul", name: "/head/MatMul", inputs: ["r", "w"] }),
	],
	initializers: [
		zeros("k", [64, 32, 1, 3]),
		numbers("two", [1], 2),
		numbers("zero", [1], 0),
		numbers("rest", [2], -1, 64),
	],
	outputs: [value("y", null)],
};

const withWeights = (rows: number): ModelInit => ({
	...recogniser,
	initializers: [...(recogniser.initializers ?? []), zeros("w", [rows, 21])],
});

it("preflight accepts Constants that share a name, as ONNX Runtime does, but no other nodes", async () => {
	const constant = (output: string) =>
		node({
			op: "Constant",
			name: "Constant",
			inputs: [],
			outputs: [output],
			attributes: [attribute.tensor("value", zeros("", [1]))],
		});
	const add = (name: string, left: string, right: string, output: string) =>
		node({ op: "Add", name, inputs: [left, right], outputs: [output] });
	const nodes = (name: string) => [
		constant("a"),
		constant("b"),
		add("one", "x", "a", "c"),
		add(name, "c", "b", "y"),
	];
	expect(await preflighted({ nodes: nodes("two") })).toMatchObject({ exit: 0, taken: true, codes: [] });
	const codes = ["error node-name-duplicate"];
	expect(await preflighted({ nodes: nodes("one") })).toMatchObject({ exit: 1, taken: false, codes });
});

it("preflight follows shapes through pooling, Squeeze, Gather and Reshape to a matrix of the wrong size", async () => {
	const bad = await preflighted(withWeights(63));
	expect(bad).toMatchObject({ exit: 1, taken: false, codes: ["error shape-mismatch"] });
	expect(bad.text).toContain(
		'MatMul "/head/MatMul" multiplies [batch, 20, 64] by [63, 21]: 64 and 63 must be the same',
	);
	expect(await preflighted(withWeights(64))).toMatchObject({ exit: 0, taken: true, codes: [] });
});

it("preflight finds a Cast to double that feeds a Concat of floats", async () => {
	const cast = (to: number): ModelInit => ({
		nodes: [
			node({ op: "Cast", outputs: ["d"], attributes: [integer("to", to)] }),
			node({ op: "Sqrt", inputs: ["d"], outputs: ["e"] }),
			node({ op: "Concat", inputs: ["x", "e"], attributes: [integer("axis", 0)] }),
		],
		outputs: [value("y", null)],
	});
	const bad = await preflighted(cast(11));
	expect(bad).toMatchObject({ exit: 1, taken: false, codes: ["error type-mismatch"] });
	expect(bad.text).toContain('reads "e", which is double, beside an input of type float');
	expect(await preflighted(cast(1))).toMatchObject({ exit: 0, taken: true, codes: [] });
});

it("preflight warns of the Size of a Shape, which the WebAssembly build misreads in an expanded RMSNormalization", async () => {
	const norm = (batch: number | string): ModelInit => ({
		inputs: [value("x", [batch, 3, 4])],
		nodes: [
			node({ op: "Shape", outputs: ["s"] }),
			node({ op: "Size", inputs: ["s"], outputs: ["rank"] }),
			node({ op: "Range", inputs: ["one", "rank", "one"], outputs: ["axes"] }),
			node({ op: "Mul", inputs: ["x", "x"], outputs: ["square"] }),
			node({ op: "ReduceMean", inputs: ["square", "axes"], outputs: ["mean"] }),
			node({ op: "Sqrt", inputs: ["mean"], outputs: ["rms"] }),
			node({ op: "Div", inputs: ["x", "rms"] }),
		],
		initializers: [numbers("one", [], 1)],
		outputs: [value("y", null)],
		opsets: { "": 18 },
	});
	expect(await preflighted(norm(2))).toMatchObject({ taken: false, codes: ["warning operator-refused"] });
	expect(await preflighted(norm("batch"))).toMatchObject({ taken: true, codes: [] });
});

it("preflight names an operator that has no kernel in this operator set", async () => {
	const pool = (opset: number): ModelInit => ({
		inputs: [value("x", [1, 2, 3, 4])],
		nodes: [node({ op: "GlobalLpPool" })],
		opsets: { "": opset },
		outputs: [value("y", null)],
	});
	expect(await preflighted(pool(22))).toMatchObject({
		exit: 1,
		taken: false,
		codes: ["error operator-kernel"],
	});
	expect(await preflighted(pool(21))).toMatchObject({ exit: 0, taken: true, codes: [] });
});

it("preflight reports how far it could look", async () => {
	const nodes = [node({ op: "Unique", outputs: ["u"] }), node({ op: "Relu", inputs: ["u"] })];
	const found = await preflighted({ nodes, outputs: [value("y", null)] });
	expect(found.text).toContain(
		"checked    shapes of 0 and types of 2 of 2 tensors inside; shapes not checked behind Unique 1",
	);
	expect(found.summary).toMatchObject({
		inferred: { tensors: 2, shapes: 0, types: 2, stoppedAt: [{ operator: "Unique", count: 1 }] },
	});
});

it("preflight loads two files, and nothing that starts processes", () => {
	const loaded = new Set(["./app-commands-preflight.js"]);
	for (const name of loaded) {
		if (name.startsWith("node:")) continue;
		const text = readFileSync(resolve("dist/chunks", name), "utf8");
		for (const [, next = ""] of text.matchAll(/(?:from|import)\s*"([^"]+)"/g)) loaded.add(next);
	}
	const [files, modules] = [
		[...loaded].filter((name) => name.startsWith("./")),
		[...loaded].filter((name) => name.startsWith("node:")),
	];
	expect(files).toEqual(["./app-commands-preflight.js", "./app-cli.js"]);
	expect(modules).toContain("node:fs");
	expect(modules).not.toContain("node:child_process");
});

it("preflight for ONNX Runtime says what TensorRT would report, which --tensorrt lists", async () => {
	const nodes = [node({ op: "ConvInteger", inputs: ["x", "x"], outputs: ["y"] })];
	const cwd = writeProject(temporaryFolder(), {
		"clean.onnx": "fixture:model.onnx",
		"m.onnx": model({ nodes, inputs: [value("x", [1, 2, 3, 3], 3)], outputs: [value("y", null, 6)] }),
	});
	const plain = await runCli(["preflight", "m.onnx"], { cwd });
	expect(plain.exit, plain.stdout).toBe(0);
	const [, version = "", errors] =
		/For TensorRT ([\d.]+): (\d) errors?, .*--tensorrt \1 lists them\.\n$/.exec(plain.stdout) ?? [];
	const own = await runCli(["preflight", "m.onnx", "--tensorrt", version], { cwd });
	expect(own.exit).toBe(1);
	expect(own.stdout.match(/^✗ error/gm)).toHaveLength(Number(errors));
	expect(own.stdout).not.toContain("ONNX Runtime");
	const clean = await runCli(["preflight", "clean.onnx"], { cwd });
	expect(clean.stdout).toMatch(
		/\nNothing found\.\nThis is for ONNX Runtime\. For TensorRT [\d.]+: nothing found\.\n$/,
	);
});

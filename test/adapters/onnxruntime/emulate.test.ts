// Emulated precisions give what numpy gives where it rounds the same tensors (test/oracles/onnx-rounding.py).
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileModelReader } from "../../../src/adapters/files/model-reader.ts";
import type { RoundedPrecision } from "../../../src/core/onnx/rounding/rounding-nodes.ts";
import { attribute, floats, model, node, tensor, value } from "../../support/onnx-writer.ts";
import { temporaryFolder, floats as tensorOf, testReference } from "../../support/ort-jobs.ts";

const reference = testReference();

interface Oracle {
	input: number[];
	shape: number[];
	/** By precision and output. */
	outputs: Record<string, Record<string, number[]>>;
}

const table: Record<string, Oracle> = JSON.parse(readFileSync("test/oracles/onnx-rounding.json", "utf8"));

async function emulate(
	path: string,
	precision: RoundedPrecision,
	inputs: { values: number[]; shape: number[] },
) {
	const folder = temporaryFolder();
	const result = await reference.emulate({
		model: await fileModelReader().read(path),
		cases: [{ id: "one", inputs: { x: tensorOf(inputs.values, inputs.shape) } }],
		variant: { flavour: "wasm", level: "basic", threads: 1 },
		precision,
		scratchFolder: folder,
		logPath: join(folder, "log"),
		timeoutMs: 600_000,
	});
	if (result.state !== "done") return result;
	const [only] = result.cases;
	if (only?.state !== "done") throw new Error(only?.message);
	const outputs = Object.entries(only.outputs).map(
		([name, { data }]) => [name, [...new Float32Array(data.slice().buffer)]] as const,
	);
	return { ...result, outputs: Object.fromEntries(outputs) };
}

/** Relative L2. */
function distance(got: readonly number[], expected: readonly number[]): number {
	return Math.hypot(...got.map((value, index) => value - expected[index]!)) / Math.hypot(...expected);
}

const precisions = ["fp16", "bf16", "tf32"] as const;

it.each(precisions)(
	"an emulated precision rounds sums of whole numbers at %s as numpy does, to the last bit",
	async (precision) => {
		const { input, shape, outputs } = table["exact"]!;
		const result = await emulate("test/fixtures/onnx/rounding-exact.onnx", precision, {
			values: input,
			shape,
		});
		expect(result).toMatchObject({ state: "done", outputs: outputs[precision], beyondRange: [] });
		expect(distance(outputs[precision]!["y"]!, outputs["exact"]!["y"]!)).toBeGreaterThan(1e-4);
	},
);

// Convolutions, products, scales of all kinds, a branch, a number made of shapes, and a mask beyond the range of fp16.
it.each(precisions)(
	"an emulated precision rounds the folded weights and every result at %s",
	async (precision) => {
		const { input, shape, outputs } = table["layers"]!;
		const result = await emulate("test/fixtures/onnx/rounding-layers.onnx", precision, {
			values: input,
			shape,
		});
		if (!("outputs" in result)) throw new Error(JSON.stringify(result));
		for (const [name, expected] of Object.entries(outputs[precision]!)) {
			const rounding = distance(expected, outputs["exact"]![name]!);
			expect(distance(result.outputs[name]!, expected)).toBeLessThan(Math.max(2e-7, rounding / 100));
		}
		expect(result.beyondRange).toEqual(precision === "fp16" ? ["limit", "mask", "masked"] : []);
	},
);

it("an emulated precision keeps what would become 0 below a logarithm, which a right engine computes in fp32", async () => {
	const folder = temporaryFolder();
	const path = join(folder, "log.onnx");
	const nodes = [
		node({ op: "Mul", inputs: ["x", "x"], outputs: ["square"] }),
		node({ op: "Add", inputs: ["square", "least"], outputs: ["positive"] }),
		node({ op: "Log", inputs: ["positive"], outputs: ["y"] }),
	];
	const initializers = [tensor({ name: "least", dims: [1], raw: floats(1e-8) })];
	writeFileSync(
		path,
		model({ nodes, initializers, inputs: [value("x", [1, 2])], outputs: [value("y", [1, 2])] }),
	);
	const result = await emulate(path, "fp16", { values: [0, 1], shape: [1, 2] });
	if (!("outputs" in result)) throw new Error(JSON.stringify(result));
	expect(distance(result.outputs["y"]!, [Math.log(1e-8), 0])).toBeLessThan(1e-3);
});

it("an emulated precision leaves a model of integers and of other types alone, and explains why", async () => {
	const folder = temporaryFolder();
	const cast = node({ op: "Cast", inputs: ["x"], outputs: ["i"], attributes: [attribute.integer("to", 6)] });
	const nodes = [cast, node({ op: "Abs", inputs: ["i"], outputs: ["y"] })];
	writeFileSync(
		join(folder, "integers.onnx"),
		model({ nodes, inputs: [value("x", [1, 4])], outputs: [value("y", [1, 4], 6)] }),
	);
	const inputs = { values: [1, 2, 3, 4], shape: [1, 4] };
	expect(await emulate(join(folder, "integers.onnx"), "fp16", inputs)).toEqual({
		state: "absent",
		sentence: "the model computes nothing in fp32 that could be rounded",
	});
	const old = model({
		nodes: [node({ op: "Relu" })],
		opsets: { "": 8 },
		inputs: [value("x", [1, 4])],
		outputs: [value("y", [1, 4])],
	});
	writeFileSync(join(folder, "old.onnx"), old);
	expect(await emulate(join(folder, "old.onnx"), "fp16", inputs)).toMatchObject({ state: "absent" });
});

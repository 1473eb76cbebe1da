// Sizes of inputs through the built bundle: given, shown by real inputs, tried out, and refused before anything runs.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseManifest } from "../../src/core/golden/manifest/parse-manifest.ts";
import type { GoldenManifest } from "../../src/core/schema/golden.ts";
import { encodeNpy } from "../../src/formats/tensor/npy.ts";
import { attribute, type Dim, floats, model, node, tensor, value } from "../support/onnx-writer.ts";
import { quickMeasure, runCli, temporaryFolder } from "../support/project.ts";

/** Values of a layer that learned something: of both signs, none alike. */
function weights(name: string, dims: readonly number[]) {
	const count = dims.reduce((product, size) => product * size, 1);
	const values = Array.from({ length: count }, (_, index) => Math.sin(index * 12.9898 + dims.length) / Math.sqrt(count / (dims[0] ?? 1)));
	return tensor({ name, dims, raw: floats(...values) });
}

/** Conv with windows that move further down than across, as in readers of text lines, and two scores. */
function lineReader(dims: readonly Dim[]) {
	const conv = [attribute.integers("strides", [2, 1]), attribute.integers("pads", [1, 1, 1, 1])];
	return model({
		inputs: [value("x:0", dims)],
		outputs: [value("scores", [null, 2])],
		nodes: [
			node({ op: "Conv", inputs: ["x:0", "kernel"], outputs: ["a"], attributes: conv }),
			node({ op: "Relu", inputs: ["a"], outputs: ["b"] }),
			node({ op: "GlobalAveragePool", inputs: ["b"], outputs: ["c"] }),
			node({ op: "Flatten", inputs: ["c"], outputs: ["d"] }),
			node({ op: "Gemm", inputs: ["d", "last"], outputs: ["scores"] }),
		],
		initializers: [weights("kernel", [8, 3, 3, 3]), weights("last", [8, 2])],
	});
}

/** Takes 28 × 28 and nothing else, which only its weights say. */
function digitReader() {
	return model({
		inputs: [value("image", ["batch", 1, "height", "width"])],
		outputs: [value("scores", ["batch", 10])],
		nodes: [
			node({ op: "Flatten", inputs: ["image"], outputs: ["flat"] }),
			node({ op: "Gemm", inputs: ["flat", "layer"], outputs: ["scores"] }),
		],
		initializers: [weights("layer", [28 * 28, 10])],
	});
}

function record(cwd: string, argv: readonly string[]) {
	return runCli(["golden", "record", "net.onnx", "--out", "g", "--cases", "2", "--time-limit", "10s", "--quiet", ...argv], { cwd });
}

function read(cwd: string): GoldenManifest {
	return parseManifest(readFileSync(join(cwd, "g/golden.json"), "utf8"), "g/golden.json");
}

describe("sizes that were not given", () => {
	it("are tried out on the model, each axis without a name by itself", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), lineReader([null, 3, "?", "?"]));
		const run = await record(cwd, []);
		expect(run.exit, run.stderr).toBe(0);
		expect(run.stderr).toMatch(/sizes chosen: x:0_0 1 \(a batch\), x:0_2 48 .*ONNX Runtime runs them.*--shape x:0=1,3,48,320/);
		const { cases, producer } = read(cwd);
		expect(cases[0]?.inputs["x:0"]?.shape).toEqual([1, 3, 48, 320]);
		expect(producer.sizes).toMatch(/x:0_3 320 \(the width of a line of text\)/);
	});

	it("follow what the weights ask for, which needs no run to find out", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), digitReader());
		const run = await record(cwd, []);
		expect(run.exit, run.stderr).toBe(0);
		expect(read(cwd).producer).toMatchObject({ dims: { batch: 1, height: 28, width: 28 }, sizes: expect.stringContaining("28") });
	});

	it("come from real inputs where there are some", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), lineReader([null, 3, "?", "?"]));
		for (const [index, name] of ["one", "two"].entries()) {
			const pixels = Array.from({ length: 3 * 16 * 40 }, (_, place) => Math.sin(place * (index + 1)));
			writeFileSync(join(cwd, `${name}.npy`), encodeNpy({ dtype: "float32", shape: [1, 3, 16, 40], data: floats(...pixels) }));
		}
		const run = await record(cwd, ["--inputs", "one.npy", "--inputs", "two.npy"]);
		expect(run.exit, run.stderr).toBe(0);
		expect(run.stderr).not.toContain("sizes chosen");
		expect(read(cwd).cases[0]?.inputs["x:0"]?.shape).toEqual([1, 3, 16, 40]);
	});
});

describe("sizes that are given", () => {
	it("bind by shape, whatever an input is called", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), lineReader([null, 3, "?", "?"]));
		const run = await record(cwd, ["--shape", "x:0=1,3,48,192"]);
		expect(run.exit, run.stderr).toBe(0);
		expect(read(cwd).cases[0]?.inputs["x:0"]?.shape).toEqual([1, 3, 48, 192]);
	});

	it.each([
		["a rank that is not the model's", ["--shape", "image=1,28,28"], /--shape image has 3 dimensions, the model's input has 4/],
		["a fixed axis of another size", ["--shape", "image=1,3,28,28"], /--shape image contradicts the model at axis 1: it has 3/],
		["an input that is not there", ["--shape", "picture=1"], /no input "picture"; its inputs are "image"/],
		["a shape that is none", ["--shape", "image=1;3"], /--shape takes INPUT=SIZE,SIZE,…; got "image=1;3"/],
		[
			"what the weights rule out",
			["--dims", "batch=1,height=32,width=32"],
			/cannot run with these sizes, image \[1, 1, 32, 32\]: Gemm .*1024 and 784.*height=28,width=28/s,
		],
		["what the weights rule out for one axis", ["--dims", "height=0"], /Sizes are missing: .*Tried without success/s],
	])("refuses %s before anything is recorded", async (_, argv, says) => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), digitReader());
		const run = await record(cwd, argv);
		expect(run).toMatchObject({ exit: 2, stderr: expect.stringMatching(says) });
		expect(existsSync(join(cwd, "g"))).toBe(false);
	});

	it("are refused by the gate before it builds where the model cannot run with them", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), digitReader());
		const config = (sizes: string) =>
			`version: 1\nbackend: onnxruntime\nonnxruntime: wasm\nmodels: { net: { onnx: net.onnx, ${sizes} } }\n${quickMeasure}`;
		writeFileSync(join(cwd, "trtgate.yml"), config("dims: { batch: 1, height: 28, width: 32 }"));
		const run = await runCli(["run"], { cwd });
		expect(run).toMatchObject({ exit: 2, stderr: expect.stringMatching(/image \[1, 1, 28, 32\].*896 and 784/) });
		writeFileSync(join(cwd, "trtgate.yml"), config("dims: { batch: 1 }"));
		const open = await runCli(["run"], { cwd });
		expect(open).toMatchObject({
			exit: 2,
			stderr: expect.stringMatching(/"height" \(axis 2 of "image"\), "width".*dims: { height: 28, width: 28 }/s),
		});
	});

	it("are the configuration's fault where only the run shows that the model cannot take them, which no retry helps", async () => {
		const cwd = temporaryFolder();
		// As many places as x has values that are not 0, added to three.
		const nodes = [
			node({ op: "NonZero", inputs: ["x"], outputs: ["places"] }),
			node({ op: "Cast", inputs: ["places"], outputs: ["cast"], attributes: [attribute.integer("to", 1)] }),
			node({ op: "Add", inputs: ["cast", "three"], outputs: ["y"], name: "sum" }),
		];
		const initializers = [weights("three", [2, 3])];
		writeFileSync(join(cwd, "net.onnx"), model({ nodes, initializers, inputs: [value("x", [1, "n"])], outputs: [value("y", [2, null])] }));
		const config = "models: { net: { onnx: net.onnx, dims: { n: 4 }, inputs: { x: { fill: ones } } } }";
		writeFileSync(join(cwd, "trtgate.yml"), `version: 1\nbackend: onnxruntime\nonnxruntime: wasm\n${config}\n${quickMeasure}`);
		const run = await runCli(["run"], { cwd });
		expect(run.exit).toBe(2);
		const text = run.stdout.replace(/\s+/g, " ");
		expect(text).toMatch(
			/A node cannot run with these inputs: Attempting to broadcast .* Code ort-run-failed, a fault of the configuration/,
		);
		expect(text).not.toContain("a retry may help");
	});
});

describe("init", () => {
	it("writes sizes that ran on the model, with what each axis seems to be", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), lineReader([null, 3, "?", "?"]));
		const run = await runCli(["init", "net.onnx", "--quiet"], { cwd });
		expect(run.exit, run.stderr).toBe(0);
		const text = readFileSync(join(cwd, "trtgate.yml"), "utf8");
		expect(text).toMatch(/# ONNX Runtime runs x:0 \[1, 3, 48, 320\]/);
		expect(text).toMatch(/"x:0_2": 48 # axis 2 of x:0: the height of a line of text/);
		expect(text).toContain('"x:0": { shape: ["x:0_0", 3, "x:0_2", "x:0_3"] }');
		const plan = await runCli(["run", "--dry-run"], { cwd });
		expect(plan.exit, plan.stderr).toBe(0);
	});

	it("writes one size where the model takes no other, and what the user gives", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), digitReader());
		const run = await runCli(["init", "net.onnx", "--quiet", "--dims", "batch=4"], { cwd });
		expect(run.exit, run.stderr).toBe(0);
		const text = readFileSync(join(cwd, "trtgate.yml"), "utf8");
		expect(text).toMatch(/batch: 4 # .*given\n +height: 28 # .*\n +width: 28 # /);
		expect(text).toContain("not the largest sizes");
	});

	it("guesses, and reports it, where nothing runs", async () => {
		const cwd = temporaryFolder();
		const nodes = [node({ op: "Acme", domain: "com.acme" })];
		writeFileSync(join(cwd, "net.onnx"), model({ nodes, inputs: [value("x", ["batch", 4])], opsets: { "": 17, "com.acme": 1 } }));
		const run = await runCli(["init", "net.onnx", "--quiet"], { cwd });
		expect(run.exit, run.stderr).toBe(0);
		expect(readFileSync(join(cwd, "trtgate.yml"), "utf8")).toMatch(/# Guesses: x \[1, 4\] was not tried, because .*com\.acme/);
	});
});

describe("preflight", () => {
	it.each([
		[["--shape", "image=1,1,28,28"], 0, /Nothing found|note/],
		[["--dims", "batch=1,height=30,width=28"], 2, /image \[1, 1, 30, 28\]: Gemm .*840 and 784/],
		[["--dims", "batch=1"], 2, /Sizes are missing: "height" \(axis 2 of "image"\).*--dims height=28,width=28/s],
	])("checks the model with the sizes of %j", async (argv, exit, says) => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "net.onnx"), digitReader());
		const run = await runCli(["preflight", "net.onnx", ...argv], { cwd });
		expect(run).toMatchObject({ exit });
		expect(run.stdout + run.stderr).toMatch(says);
	});
});

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { attribute, int64s, model, node, tensor, value } from "../support/onnx-writer.ts";
import { expectExit, quickMeasure, runCli, temporaryFolder } from "../support/project.ts";
import { digitReader, lineReader, weights } from "../support/sized-models.ts";

it("sizes that are given are refused by the gate before it builds if the model cannot run with them", async () => {
	const cwd = temporaryFolder();
	writeFileSync(join(cwd, "net.onnx"), digitReader());
	const config = (sizes: string) =>
		`version: 1\nbackend: onnxruntime\nonnxruntime: wasm\nmodels: { net: { onnx: net.onnx, ${sizes} } }\n${quickMeasure}`;
	writeFileSync(join(cwd, "trtgate.yml"), config("dims: { batch: 1, height: 28, width: 32 }"));
	const run = await runCli(["run"], { cwd });
	expect(run).toMatchObject({
		exit: 2,
		stderr: expect.stringMatching(/image \[1, 1, 28, 32\].*896 and 784/),
	});
	writeFileSync(join(cwd, "trtgate.yml"), config("dims: { batch: 1 }"));
	const open = await runCli(["run"], { cwd });
	expect(open).toMatchObject({
		exit: 2,
		stderr: expect.stringMatching(
			/"height" \(axis 2 of "image"\), "width".*dims: { height: 28, width: 28 }/s,
		),
	});
});

it("sizes that are given are the configuration's fault if only the run shows that the model cannot take them, which no retry helps", async () => {
	const cwd = temporaryFolder();
	// As many places as x has values that are not 0, added to three.
	const nodes = [
		node({ op: "NonZero", inputs: ["x"], outputs: ["places"] }),
		node({ op: "Cast", inputs: ["places"], outputs: ["cast"], attributes: [attribute.integer("to", 1)] }),
		node({ op: "Add", inputs: ["cast", "three"], outputs: ["y"], name: "sum" }),
	];
	const initializers = [weights("three", [2, 3])];
	writeFileSync(
		join(cwd, "net.onnx"),
		model({ nodes, initializers, inputs: [value("x", [1, "n"])], outputs: [value("y", [2, null])] }),
	);
	const config = "models: { net: { onnx: net.onnx, dims: { n: 4 }, inputs: { x: { fill: ones } } } }";
	writeFileSync(
		join(cwd, "trtgate.yml"),
		`version: 1\nbackend: onnxruntime\nonnxruntime: wasm\n${config}\n${quickMeasure}`,
	);
	const run = await runCli(["run"], { cwd });
	expect(run.exit).toBe(2);
	const text = run.stdout.replace(/\s+/g, " ");
	expect(text).toMatch(
		/A node cannot run with these inputs: Attempting to broadcast .* Code ort-run-failed, a fault of the configuration/,
	);
	expect(text).not.toContain("a retry may help");
});

it("init writes sizes that ran on the model, with what each axis seems to be", async () => {
	const cwd = temporaryFolder();
	writeFileSync(join(cwd, "net.onnx"), lineReader([null, 3, "?", "?"]));
	const run = await runCli(["init", "net.onnx", "--quiet"], { cwd });
	expectExit(run, 0);
	const text = readFileSync(join(cwd, "trtgate.yml"), "utf8");
	expect(text).toMatch(/# ONNX Runtime runs x:0 \[1, 3, 48, 320\]/);
	expect(text).toMatch(/"x:0_2": 48 # axis 2 of x:0: the height of a line of text/);
	expect(text).toContain('"x:0": { shape: ["x:0_0", 3, "x:0_2", "x:0_3"] }');
	const plan = await runCli(["run", "--dry-run"], { cwd });
	expectExit(plan, 0);
	writeFileSync(join(cwd, "trtgate.yml"), `${text.split("gates:\n")[0]}${quickMeasure}`);
	const pinned = await runCli(["run", "--shape", "x:0=1,3,48,192", "--json"], { cwd });
	expectExit(pinned, 0);
	expect(JSON.parse(pinned.stdout)).toMatchObject({ workloads: [{ workload: "x:0 1×3×48×192" }] });
	const short = await runCli(["run", "--shape", "x:0=1,3,48"], { cwd });
	expect(short.exit).toBe(2);
	expect(short.stderr).toContain("has 3 dimensions, the model's input has 4");
	writeFileSync(join(cwd, "trtgate.yml"), text.replace("models:\n", "models:\n  twin: { onnx: net.onnx }\n"));
	const twins = await runCli(["run", "--dry-run", "--shape", "x:0=1,3,48,192"], { cwd });
	expect([twins.exit, twins.stderr]).toEqual([2, expect.stringContaining("Name the model: --only MODEL.")]);
});

it("init writes a fixed size if the model accepts no other, and sizes that the user gives", async () => {
	const cwd = temporaryFolder();
	writeFileSync(join(cwd, "net.onnx"), digitReader());
	const run = await runCli(["init", "net.onnx", "--quiet", "--dims", "batch=4"], { cwd });
	expectExit(run, 0);
	const text = readFileSync(join(cwd, "trtgate.yml"), "utf8");
	expect(text).toMatch(/batch: 4 # .*given\n +height: 28 # .*\n +width: 28 # /);
	expect(text).toContain("not the largest sizes");
});

it("init names first what keeps a model from running at all", async () => {
	const cwd = temporaryFolder();
	writeFileSync(
		join(cwd, "net.onnx"),
		model({ inputs: [value("text", ["words"], 8)], nodes: [node({ op: "Identity", inputs: ["text"] })] }),
	);
	const run = await runCli(["init", "net.onnx", "--quiet"], { cwd });
	expectExit(run, 0);
	expect(run.stdout).toMatch(/ {2}1\. Fix net\.onnx: Input "text" is string.*\n {2}2\. Check the sizes/);
});

it("init guesses, and reports it, if nothing runs", async () => {
	const cwd = temporaryFolder();
	const nodes = [node({ op: "Acme", domain: "com.acme" })];
	writeFileSync(
		join(cwd, "net.onnx"),
		model({ nodes, inputs: [value("x", ["batch", 4])], opsets: { "": 17, "com.acme": 1 } }),
	);
	const run = await runCli(["init", "net.onnx", "--quiet"], { cwd });
	expectExit(run, 0);
	expect(readFileSync(join(cwd, "trtgate.yml"), "utf8")).toMatch(
		/# Guesses: x \[1, 4\] was not tried, because .*com\.acme/,
	);
});

it.each([
	[["--shape", "image=1,1,28,28"], 0, /Nothing found|note/],
	[["--dims", "batch=1,height=30,width=28"], 2, /image \[1, 1, 30, 28\]: Gemm .*840 and 784/],
	[["--dims", "batch=1"], 2, /Sizes are missing: "height" \(axis 2 of "image"\).*--dims height=28,width=28/s],
])("preflight checks the model with the sizes of %j", async (argv, exit, says) => {
	const cwd = temporaryFolder();
	writeFileSync(join(cwd, "net.onnx"), digitReader());
	const run = await runCli(["preflight", "net.onnx", ...argv], { cwd });
	expect(run).toMatchObject({ exit });
	expect(run.stdout + run.stderr).toMatch(says);
});

it("timed runs and pinned shapes keep what the model and the config say of the other inputs", async () => {
	const cwd = temporaryFolder();
	// Row 1 of a table of one row, unless the rate is the usual one.
	const nodes = [
		node({ op: "Equal", inputs: ["rate", "usual"], outputs: ["isUsual"] }),
		node({ op: "Not", inputs: ["isUsual"], outputs: ["isOther"] }),
		node({ op: "Cast", inputs: ["isOther"], outputs: ["row"], attributes: [attribute.integer("to", 7)] }),
		node({ op: "Gather", inputs: ["table", "row"], outputs: ["gain"] }),
		node({ op: "Mul", inputs: ["x", "gain"], outputs: ["scaled"] }),
		node({
			op: "Concat",
			inputs: ["scaled", "state"],
			outputs: ["y"],
			attributes: [attribute.integer("axis", 1)],
		}),
	];
	const initializers = [weights("table", [1, 1]), tensor({ name: "usual", dtype: 7, raw: int64s(16_000) })];
	const inputs = [value("x", [1, "n"]), value("state", [1, "m"]), value("rate", [], 7)];
	writeFileSync(
		join(cwd, "net.onnx"),
		model({ nodes, initializers, inputs, outputs: [value("y", [1, null])] }),
	);
	const start = `version: 1\nbackend: onnxruntime\nonnxruntime: wasm\n${quickMeasure}`;
	writeFileSync(
		join(cwd, "trtgate.yml"),
		`${start}\nmodels: { net: { onnx: net.onnx, dims: { n: 4, m: 3 } } }\n`,
	);
	const pinned = await runCli(["run", "--shape", "x=1,5", "--json"], { cwd });
	expectExit(pinned, 0);
	expect(JSON.parse(pinned.stdout)).toMatchObject({ workloads: [{ workload: "x 1×5" }] });
	const other = `${start}\nmodels: { net: { onnx: net.onnx, dims: { n: 4, m: 3 }, inputs: { rate: { fill: 8000 } } } }\n`;
	writeFileSync(join(cwd, "trtgate.yml"), other);
	expect((await runCli(["run"], { cwd })).stdout).toMatch(/Gather/);
});

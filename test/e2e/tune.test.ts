// `trtgate tune` through the built bundle, on recorded runs of trtexec.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../src/core/config/parse.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { model, value } from "../support/onnx-writer.ts";
import { expectExit, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";
import { type FakePlan, installWorker, missing } from "../support/tensorrt-worker.ts";

const comparison = "slower-head";
const wide = readFileSync(resolve("test/fixtures/models/head-classifier-wider.onnx"));

it("tune tries precisions, then the level of the best, then streams, and ends in lines for the config", async () => {
	const folder = temporaryFolder();
	const { "trtgate.yml": _, ...files } = comparisonFiles(comparison, "base");
	writeProject(folder, { ...files, "wide.onnx": wide });
	const argv = ["model.onnx", "--quantised", "wide.onnx", "--golden", "golden", "--dims", "batch=8"];
	const env = { PATH: installReplay(folder, { comparison }), XDG_CACHE_HOME: join(folder, "cache") };
	const run = await runCli(["tune", ...argv], { cwd: folder, env });
	expectExit(run, 0);
	const out = join(folder, "trtgate-tune");
	const result = readResult(out);
	expectSchema(result, "result");
	const variants = ["fp16", "bf16", "tf32", "fp32", "int8-qdq", "fp16-level5", "bf16-level5"];
	expect(result.builds.map(({ engine }) => engine)).toEqual(variants);
	const quantised = result.siblings?.find(({ engine }) => engine === "int8-qdq");
	expect(quantised).toMatchObject({ against: "fp16", latency: { verdict: "regressed", pairs: 5 } });
	expect(result.workloads.slice(-6).map(({ workload, streams }) => [workload, streams])).toEqual(
		["CUDA graph", "no CUDA graph"].flatMap((graph) => [
			[`1 stream, ${graph}`, 1],
			[`2 streams, ${graph}`, 2],
			[`4 streams, ${graph}`, 4],
		]),
	);
	// The replay has one plan for all precisions of one file.
	expect(run.stdout).toMatch(/int8-qdq · default +int8 +fails golden +29\.0\d µs +0\.3361 +1\.34 MiB/);
	expect(run.stdout).toMatch(/\n {2}4 streams, CUDA graph: 27\.\d+ µs, [\d,]+ \/ s\n/);
	expect(readFileSync(join(out, "report.html"), "utf8")).toContain("Error against time");
	const chosen = readFileSync(join(out, "chosen.yml"), "utf8");
	expect(run.stdout.endsWith(chosen)).toBe(true);
	const config = loadConfig(`version: 1\n${chosen}`, { path: "trtgate.yml" });
	expect(config).toMatchObject({ config: { models: [{ onnx: "model.onnx", engines: [{ name: "fp16" }] }] } });
});

it.skipIf(missing !== null)("tune chooses no engine that contradicts itself, and says why", async () => {
	const images = value("images", ["batch", 3, 32, 32]);
	const same = model({
		inputs: [images],
		outputs: [value("y", ["batch", 3, 32, 32])],
		nodes: "y = Identity(images)",
	});
	const folder = writeProject(temporaryFolder(), { "same.onnx": same });
	const env = { PATH: installReplay(folder, { comparison }), XDG_CACHE_HOME: join(folder, "cache") };
	const shape = [-1, 3, 32, 32];
	const plan = (op: string): FakePlan => ({
		inputs: [{ name: "images", dtype: "FLOAT", shape }],
		outputs: [{ name: "y", dtype: "FLOAT", shape, op, from: "images" }],
		profiles: [{ images: [8, 8, 8].map((batch) => [batch, ...shape.slice(1)]) }],
	});
	installWorker(folder, { right: plan("same"), faulty: plan("tire") }, 'echo "$engine" | grep -q fp16');
	const argv = ["tune", "same.onnx", "--dims", "batch=8", "--quiet"];
	const run = await runCli(argv, { cwd: folder, env });
	expectExit(run, 0);
	expect(run.stdout).toMatch(/same · fp16 · default +fp16 +fails probe/);
	expect(run.stdout).toMatch(/\nfp16: Answers before and after other inputs .* apart/);
	expect(run.stdout).not.toContain("Fastest of the best: fp16");
});

it.each([
	["--out", "../tuned"],
	["--golden", "/g/golden.json"],
])("tune refuses %s %s before anything else", async (...pair) => {
	const folder = writeProject(temporaryFolder(), { "model.onnx": wide });
	const run = await runCli(["tune", "model.onnx", ...pair], { cwd: folder, env: { PATH: "/usr/bin:/bin" } });
	expectExit(run, 2);
	expect(run.stderr).toContain(`${pair[1]} is not below ${folder}. [path-outside-workspace]`);
});

it("tune says in one error why there is nothing to tune without TensorRT, and writes nothing", async () => {
	const folder = writeProject(temporaryFolder(), { "model.onnx": wide });
	const run = await runCli(["tune", "model.onnx"], { cwd: folder, env: { PATH: "/usr/bin:/bin" } });
	expectExit(run, 2);
	expect(run.stdout).toBe("");
	expect(run.stderr).toMatch(
		/^configuration: There is nothing to tune here: .* \[backend-mismatch\]\n {2}→ .*\n$/,
	);
});

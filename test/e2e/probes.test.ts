import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ProbeName, ProbeResult, Result } from "../../generated/result.ts";
import { parseResult } from "../../src/core/report/parse-result.ts";
import * as models from "../support/probe-models.ts";
import {
	expectExit,
	gateFolders,
	readResult,
	runCli,
	temporaryFolder,
	writeProject,
} from "../support/project.ts";
import { writeArms } from "../support/replay/gate.ts";
import { installReplay } from "../support/replay/install.ts";
import { type FakePlan, installWorker, isOfHead, missing } from "../support/tensorrt-worker.ts";

interface Project {
	models: Readonly<Record<string, Uint8Array>>;
	top: string;
	dims?: Readonly<Record<string, string>>;
}

const rows = "{ batch: { min: 1, opt: 4, max: 7 } }";
const rowsAndTokens = "{ batch: { min: 1, opt: 4, max: 6 }, seq: { min: 2, opt: 8, max: 12 } }";

function write(folder: string, { models: files, top, dims = {} }: Project): string {
	const entries = Object.keys(files).map((name) => {
		const own = dims[name] === undefined ? "" : `, dims: ${dims[name]}`;
		return `  ${name}: { onnx: ${name}.onnx, workloads: []${own} }\n`;
	});
	const config = `version: 1\nbackend: onnxruntime\nonnxruntime: wasm\n${top}\nmodels:\n${entries.join("")}`;
	const onnx = Object.entries(files).map(([name, bytes]) => [`${name}.onnx`, bytes]);
	return writeProject(folder, { "trtgate.yml": config, ...Object.fromEntries(onnx) });
}

const gate = (cwd: string, argv: readonly string[] = []) =>
	runCli(["run", "--quiet", "--out", "out", ...argv], { cwd });

function probesOf(result: Result, model: string): ReadonlyMap<ProbeName, ProbeResult> {
	return new Map(
		(result.probes ?? []).filter((probe) => probe.model === model).map((probe) => [probe.probe, probe]),
	);
}

const states = (result: Result, model: string): Record<string, string> =>
	Object.fromEntries([...probesOf(result, model)].map(([name, { state }]) => [name, state]));

it("probes on ONNX Runtime distinguish a model that breaks a rule from one that keeps them all", async () => {
	const { maskedMean, ignoresMask, countsPadding, fixedBatch, single, ...byRows } = models;
	const byTokens = { maskedMean, ignoresMask, countsPadding };
	const dimsOf = (names: object, dims: string) => Object.keys(names).map((name) => [name, dims]);
	const cwd = write(temporaryFolder(), {
		models,
		top: "probes: on\ngates: { probes: { fail: off } }",
		dims: Object.fromEntries([...dimsOf(byRows, rows), ...dimsOf(byTokens, rowsAndTokens)]),
	});
	const run = await gate(cwd);
	expectExit(run, 0);
	const result = readResult(join(cwd, "out"));
	expect(parseResult(readFileSync(join(cwd, "out/result.json"), "utf8"), "result.json")).toEqual(result);
	expect(result.outcome).toBe("warn");

	const rowProbes = ["determinism", "duplicate-rows", "neighbours", "batch-size", "profile-sizes"];
	const agreeing = Object.fromEntries(rowProbes.map((name) => [name, "agrees"]));
	const expected: Record<string, Record<string, string>> = {
		steady: { ...agreeing, padding: "skipped" },
		batchMean: {
			determinism: "agrees",
			"duplicate-rows": "agrees",
			neighbours: "differs",
			"batch-size": "differs",
		},
		// Hands row 0 to all below it, and nothing upwards.
		runningSum: { determinism: "agrees", neighbours: "differs" },
		random: { determinism: "differs", neighbours: "skipped", "batch-size": "skipped" },
		countsRows: { "duplicate-rows": "agrees", neighbours: "agrees", "batch-size": "differs" },
		slopedRows: { "duplicate-rows": "differs", neighbours: "agrees" },
		maskedMean: { ...agreeing, padding: "agrees" },
		ignoresMask: { padding: "differs" },
		countsPadding: { padding: "differs" },
		fixedBatch: {
			"duplicate-rows": "agrees",
			neighbours: "agrees",
			"batch-size": "skipped",
			"profile-sizes": "skipped",
		},
		single: { determinism: "agrees", neighbours: "skipped", "profile-sizes": "skipped" },
	};
	for (const [name, wanted] of Object.entries(expected))
		expect({ name, ...states(result, name) }).toMatchObject({ name, ...wanted });
	const probeOf = (model: string, probe: ProbeName) => probesOf(result, model).get(probe);
	expect(probeOf("steady", "padding")?.message).toMatch(/No input is named like a mask or a length/);
	expect(probeOf("random", "neighbours")?.message).toMatch(/Two runs of the same input already differ/);
	expect(probeOf("pairsOnly", "batch-size")).toMatchObject({ state: "differs", got: null });
	expect(probeOf("pairsOnly", "batch-size")?.message).toMatch(/engine failed at a size/);
	expect(probeOf("notFinite", "determinism")).toMatchObject({ state: "differs", got: "NaN" });
	expect(probeOf("ignoresMask", "padding")?.output).toBe("pooled");
	expect(probeOf("countsPadding", "padding")?.output).toBe("pooled");

	const statuses = result.gates.filter(({ gate: name }) => name === "probe").map(({ status }) => status);
	expect([...new Set(statuses)].filter((status) => status !== "pass" && status !== "warn")).toEqual([]);
	expect(run.stdout).toMatch(
		/batchMean · fp32 has rows that depend on their neighbours \(probe, no reference\)/,
	);
	for (const text of [
		run.stdout,
		...["report.md", "report.html"].map((name) => readFileSync(join(cwd, "out", name), "utf8")),
	])
		expect(text).toMatch(/Probes \(no reference\)/);
});

it("probes on ONNX Runtime fail what is new if the config requires it, and only note what the base does too", async () => {
	const folder = temporaryFolder();
	const top = "probes: [neighbours]\ngates: { probes: { fail: 1 } }";
	const dims = { old: rows, fresh: rows };
	write(join(folder, "base"), { models: { old: models.batchMean, fresh: models.steady }, top, dims });
	write(join(folder, "head"), { models: { old: models.batchMean, fresh: models.batchMean }, top, dims });
	const run = await gate(folder, ["--base", "base", "--head", "head"]);
	expectExit(run, 1);
	const result = readResult(join(folder, "out"));
	expect(result.probes).toMatchObject([
		{
			model: "old",
			probe: "neighbours",
			state: "known",
			base: expect.any(Number),
			message: expect.stringMatching(/The base does too\.$/),
		},
		{
			model: "fresh",
			probe: "neighbours",
			state: "differs",
			base: 0,
			message: expect.stringMatching(/The base's engine passes this probe\.$/),
		},
	]);
	expect(result.gates.filter(({ gate: name }) => name === "probe")).toMatchObject([
		{ model: "fresh", case: "neighbours", status: "fail", location: { path: "head/trtgate.yml" } },
	]);
});

it("probes on ONNX Runtime are left to the night by default", async () => {
	const cwd = write(temporaryFolder(), {
		models: { steady: models.steady },
		top: "measure: { pairs: [5], warm-up: 1ms, duration: 5ms }",
		dims: { steady: rows },
	});
	const path = join(cwd, "trtgate.yml");
	writeFileSync(path, readFileSync(path, "utf8").replace("workloads: []", "workloads: [{ batch: 2 }]"));
	const run = await gate(cwd);
	expectExit(run, 0);
	expect(readResult(join(cwd, "out")).probes).toBeUndefined();
});

const shape = [-1, 3, 32, 32];
const plan = (op: string): FakePlan => ({
	inputs: [{ name: "images", dtype: "FLOAT", shape }],
	outputs: [{ name: "probabilities", dtype: "FLOAT", shape, op, from: "images" }],
	profiles: [{ images: [1, 8, 8].map((batch) => [batch, ...shape.slice(1)]) }],
});

it.skipIf(missing !== null)(
	"a TensorRT engine whose scratch memory goes stale fails by default, beside a base that keeps its own",
	async () => {
		const folder = temporaryFolder();
		const comparison = "slower-head";
		writeArms(folder, comparison, (config) =>
			config.replace("golden: golden/golden.json", "").replace("probes: nightly\n", ""),
		);
		const env = { PATH: installReplay(folder, { comparison }) };
		installWorker(folder, { right: plan("same"), faulty: plan("tire") }, isOfHead);
		const { run, result } = await gateFolders(folder, { env });
		expectExit(run, 1);
		const found = probesOf(result, "net");
		expect(found.get("determinism")?.state).toBe("agrees");
		expect(found.get("streams")?.state).toBe("differs");
		expect(found.get("order")).toMatchObject({ state: "differs", base: 0 });
		const failing = result.gates.filter(({ status }) => status === "fail");
		expect(new Set(failing.map(({ gate: name }) => name))).toEqual(new Set(["probe"]));
		expect(run.stdout.replace(/\s+/g, " ")).toContain(
			"net · fp16 gives outputs that depend on earlier inputs",
		);
	},
);

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import * as models from "../support/probe-models.ts";
import { expectExit, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";

function write(onnx: Uint8Array, dims: string, workload: string): string {
	const top = "version: 1\nbackend: onnxruntime\nonnxruntime: wasm";
	const net = `{ onnx: net.onnx, golden: golden/golden.json, dims: ${dims}, workloads: [${workload}] }`;
	return writeProject(temporaryFolder(), {
		"trtgate.yml": `${top}\nmodels:\n  net: ${net}\n`,
		"net.onnx": onnx,
	});
}

const rows = "{ batch: { min: 1, opt: 1, max: 7 } }";

async function record(cwd: string, ...argv: string[]): Promise<GoldenManifest> {
	expectExit(await runCli(["golden", "record", "--model", "net", "--cases", "3", ...argv], { cwd }), 0);
	return JSON.parse(readFileSync(join(cwd, "golden/golden.json"), "utf8"));
}

async function gate(cwd: string, exit: number) {
	expectExit(await runCli(["run", "--quiet", "--out", "out"], { cwd }), exit);
	return readResult(join(cwd, "out"));
}

it.each([
	["steady", models.steady, 0, "match"],
	["countsRows", models.countsRows, 1, "mismatch"],
	["runningSum", models.runningSum, 1, "mismatch"],
] as const)("judges the timed batch by the rows of smaller cases: %s", async (_, onnx, exit, state) => {
	const cwd = write(onnx, rows, "{ batch: 4 }");
	await record(cwd, "--sizes", "none");
	const { golden, notes } = await gate(cwd, exit);
	expect(golden.slice(0, 3).map((one) => one.state)).toEqual(["match", "match", "match"]);
	expect(golden.slice(3)).toMatchObject([
		{ case: "rows of 1-normal…3-normal × 2 at batch 4", scope: "batch", state },
	]);
	expect(notes.join()).not.toContain("Goldens do not check");
});

it("records a case at each size of the config, by which rows may depend on each other", async () => {
	const cwd = write(models.countsRows, rows, "{ batch: 4 }");
	const { cases } = await record(cwd);
	expect(cases.map(({ id, inputs }) => [id, inputs["x"]?.shape])).toEqual([
		...[1, 2, 3].map((nth) => [`${nth}-normal`, [1, 8]]),
		["batch-4", [4, 8]],
		["batch-7", [7, 8]],
	]);
	const { golden } = await gate(cwd, 0);
	expect(golden.map(({ case: name, state }) => `${name} ${state}`).slice(3)).toEqual([
		"batch-4 match",
		"batch-7 match",
	]);
});

it("leaves out an added case that the model does not take", async () => {
	const even = "{ batch: { min: 2, opt: 2, max: 7 } }";
	const cwd = write(models.pairsOnly, even, "{ batch: 4 }");
	const { cases } = await record(cwd);
	expect(cases.map(({ id }) => id).slice(3)).toEqual(["batch-4"]);
});

it("names a timed length that no case has, until one is recorded", async () => {
	const cwd = write(models.maskedMean, "{ batch: 1, seq: { min: 2, opt: 8, max: 12 } }", "{ seq: 12 }");
	await record(cwd, "--sizes", "none");
	const { notes } = await gate(cwd, 0);
	expect(notes.join("\n")).toContain(
		"net/fp32 (timed or built at batch 1 × seq 12; checked at batch 1 × seq 8 only)",
	);
	const { cases } = await record(cwd, "--sizes", "config", "--reason", "more sizes", "--author", "me");
	expect(cases.map(({ id }) => id).slice(3)).toEqual(["seq-12", "seq-2"]);
	expect((await gate(cwd, 0)).notes.join()).not.toContain("Goldens do not check");
});

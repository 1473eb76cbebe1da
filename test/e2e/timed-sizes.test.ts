import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import { countsRows, maskedMean, pairsOnly, steady } from "../support/probe-models.ts";
import { expectExit, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";

const rows = "dims: { batch: { min: 1, opt: 1, max: 7 } }, workloads: [{ batch: 4 }]";
const models = {
	steady: [steady, rows],
	countsRows: [countsRows, rows],
	pairsOnly: [pairsOnly, rows.replace("min: 1, opt: 1", "min: 2, opt: 2")],
	maskedMean: [maskedMean, "dims: { batch: 1, seq: { min: 2, opt: 8, max: 12 } }, workloads: [{ seq: 12 }]"],
} as const;

type Name = keyof typeof models;

async function record(cwd: string, name: Name, ...argv: string[]): Promise<void> {
	const all = ["golden", "record", "--model", name, "--cases", "3", "--time-limit", "10ms", ...argv];
	expectExit(await runCli(all, { cwd }), 0);
}

const manifestOf = (cwd: string, name: Name): GoldenManifest =>
	JSON.parse(readFileSync(join(cwd, "golden", name, "golden.json"), "utf8"));

async function gate(cwd: string, exit: number) {
	expectExit(await runCli(["run", "--quiet", "--out", "out"], { cwd }), exit);
	const { golden, notes } = readResult(join(cwd, "out"));
	const statesOf = (name: Name) =>
		golden.filter(({ model }) => model === name).map((one) => `${one.case} ${one.state}`);
	return { golden, statesOf, notes: notes.filter((note) => note.includes("Goldens do not check")).join() };
}

it("goldens judge the timed sizes by rows of smaller cases, name a length that no case has, and then have a case of each size", async () => {
	const entries = Object.entries(models).map(
		([name, [, keys]]) => `  ${name}: { onnx: ${name}.onnx, golden: golden/${name}/golden.json, ${keys} }\n`,
	);
	const cwd = writeProject(temporaryFolder(), {
		"trtgate.yml": `version: 1\nbackend: onnxruntime\nonnxruntime: wasm\nmodels:\n${entries.join("")}`,
		...Object.fromEntries(Object.entries(models).map(([name, [onnx]]) => [`${name}.onnx`, onnx])),
	});
	for (const name of ["steady", "countsRows", "maskedMean"] as const)
		await record(cwd, name, "--sizes", "none");
	const smaller = await gate(cwd, 1);
	for (const [name, state] of [
		["steady", "match"],
		["countsRows", "mismatch"],
	] as const) {
		const [by = "", ...others] = smaller.statesOf(name).slice(3);
		expect([by, others]).toEqual([`rows of 1-normal…3-normal × 2 at batch 4 ${state}`, []]);
		expect(smaller.statesOf(name).slice(0, 3)).toEqual([1, 2, 3].map((nth) => `${nth}-normal match`));
	}
	expect(smaller.golden.filter((one) => one.case.startsWith("rows of 1-normal…3"))).toMatchObject(
		Array(2).fill({ scope: "batch" }),
	);
	expect(smaller.notes).toContain(
		"maskedMean/fp32 (timed or built at batch 1 × seq 12; checked at batch 1 × seq 8 only)",
	);
	expect(smaller.notes).not.toMatch(/steady|countsRows/);

	const again = ["--sizes", "config", "--reason", "more sizes", "--author", "me"];
	for (const name of ["countsRows", "maskedMean"] as const) await record(cwd, name, ...again);
	await record(cwd, "pairsOnly");
	expect(manifestOf(cwd, "countsRows").cases.map(({ id, inputs }) => [id, inputs["x"]?.shape])).toEqual([
		...[1, 2, 3].map((nth) => [`${nth}-normal`, [1, 8]]),
		["batch-4", [4, 8]],
		["batch-7", [7, 8]],
	]);
	const added = (name: Name) =>
		manifestOf(cwd, name)
			.cases.map(({ id }) => id)
			.slice(3);
	// The model does not take an odd number of rows.
	expect(added("pairsOnly")).toEqual(["batch-4"]);
	expect(added("maskedMean")).toEqual(["seq-12", "seq-2"]);
	const larger = await gate(cwd, 0);
	// Rows may depend on each other where a case shows how.
	expect(larger.statesOf("countsRows").slice(3)).toEqual(["batch-4 match", "batch-7 match"]);
	expect(larger.notes).toBe("");
});

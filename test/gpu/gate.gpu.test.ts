import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import { parseProfile } from "../../src/formats/trtexec/layer-profile.ts";
import { type CliRun, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, type Replay } from "../support/replay/install.ts";
import { lookForReal } from "./real.ts";

const real = await lookForReal();

function adapt(text: string): string {
	return text
		.replace("timeout: 5m, build-timeout: 5m", "timeout: 5m, build-timeout: 10m")
		.replace("cache: { engines: false, timing: false }", "cache: { engines: true, timing: true }");
}

function projectOf(comparison: Replay["comparison"]): string {
	const folder = temporaryFolder();
	for (const arm of ["base", "head"] as const) {
		const files = comparisonFiles(comparison, arm);
		writeProject(join(folder, arm), { ...files, "trtgate.yml": adapt(String(files["trtgate.yml"])) });
	}
	return folder;
}

async function gateIn(folder: string): Promise<{ run: CliRun; result: Result; out: string }> {
	const kept = ["LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "PYTHONPATH"].flatMap((name) => {
		const value = process.env[name];
		return value === undefined ? [] : [[name, value] as const];
	});
	const run = await runCli(
		["run", "--base", "base", "--head", "head", "--out", "out", "--trtexec", real.trtexec ?? ""],
		{
			cwd: folder,
			env: { ...Object.fromEntries(kept), HOME: homedir(), XDG_CACHE_HOME: join(folder, "caches") },
		},
	);
	const out = join(folder, "out");
	expect(existsSync(join(out, "result.json")), run.stdout + run.stderr).toBe(true);
	return { run, result: readResult(out), out };
}

describe.skipIf(real.trtexec === null)("on a real GPU", () => {
	it("on a real GPU a model compared with itself passes, with the GPU's clocks beside its runs and a time for each layer", async () => {
		const { run, result, out } = await gateIn(projectOf("same-model"));
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		expect(["unchanged", "inconclusive"]).toContain(result.workloads[0]?.verdict);
		expect(result.golden.map(({ state }) => state)).toEqual(["match", "match"]);
		expect(result.builds[1]?.notes?.join(" ")).toContain(", 0 had to be measured.");
		expect(result.workloads[0]?.gpu?.head?.smClockMhz).toBeGreaterThan(0);
		for (const { path } of result.files) expect(existsSync(join(out, path)), path).toBe(true);
		const profiles = result.files.filter(({ path }) => path.endsWith(".profile.json"));
		expect(profiles).toHaveLength(2);
		for (const { path } of profiles)
			expect(parseProfile(readFileSync(join(out, path), "utf8")).layers.length).toBeGreaterThan(1);
	});

	it("on a real GPU a wrong tensor fails by its output, at the same speed", async () => {
		const { run, result } = await gateIn(projectOf("wrong-head"));
		expect(run.exit, run.stdout + run.stderr).toBe(1);
		expect(result.golden.map(({ state }) => state)).toContain("mismatch");
		expect(["unchanged", "inconclusive"]).toContain(result.workloads[0]?.verdict);
	});

	it("on a real GPU a second run takes the engines over, and finds the same", async () => {
		const folder = projectOf("wrong-head");
		const first = await gateIn(folder);
		const second = await gateIn(folder);
		expect(second.result.builds.map(({ notes }) => notes?.[0] ?? "")).toEqual([
			expect.stringContaining("From the engine cache"),
			expect.stringContaining("From the engine cache"),
		]);
		expect(second.result.builds.map(({ engineSha256 }) => engineSha256)).toEqual(
			first.result.builds.map(({ engineSha256 }) => engineSha256),
		);
		expect(second.result.golden.map(({ state }) => state)).toEqual(
			first.result.golden.map(({ state }) => state),
		);
	});
});

describe.skipIf(!real.python || real.trtexec === null)("TensorRT in Python", () => {
	it("TensorRT in Python answers the golden cases in one process", async () => {
		const { result } = await gateIn(projectOf("same-model"));
		expect(result.golden.map(({ state }) => state)).toEqual(["match", "match"]);
		expect(result.notes.join(" ")).not.toContain("Golden cases ran in trtexec");
	});
});

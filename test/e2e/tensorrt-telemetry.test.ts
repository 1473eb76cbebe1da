// The gate through the built bundle, on TensorRT: what the GPU did meanwhile, turns on it, profiles and caches.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Result } from "../../src/core/schema/result.ts";
import { type CliRun, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay, type Replay } from "../support/replay/install.ts";

const dist = process.env["TRTGATE_DIST"];
const gpuUuid = "GPU-00000000-0000-0000-0000-000000000000";

interface Gated {
	run: CliRun;
	result: Result;
	out: string;
}

function projectOf(replay: Replay): string {
	const folder = temporaryFolder();
	for (const arm of ["base", "head"] as const) writeProject(join(folder, arm), comparisonFiles(replay.comparison, arm));
	return folder;
}

async function gateIn(folder: string, replay: Replay, env: Readonly<Record<string, string>> = {}): Promise<Gated> {
	const run = await runCli(["run", "--base", "base", "--head", "head", "--out", "out"], {
		cwd: folder,
		env: { PATH: installReplay(folder, replay), XDG_CACHE_HOME: join(folder, "caches"), ...env },
		...(dist === undefined ? {} : { dist }),
	});
	const out = join(folder, "out");
	return { run, result: readResult(out), out };
}

/** Slow enough that the GPU is seen beside each run. */
const watched = { comparison: "same-model", scale: 0.05, smi: "samples=h200-query-load.csv" } as const;

describe("the GPU beside the runs", () => {
	it("stands with each run and in both arms of its workload", async () => {
		const { run, result } = await gateIn(projectOf(watched), watched);
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		const [row] = result.workloads;
		const seen = row?.runs.filter(({ gpu }) => gpu !== undefined) ?? [];
		expect(seen.length).toBeGreaterThan(0);
		expect(seen.some(({ gpu }) => (gpu?.smClockMhz?.mean ?? 0) > 1000)).toBe(true);
		expect(row?.gpu?.base?.runs).toBeGreaterThan(0);
		expect(result.notes.join(" ")).toContain("offers no hardware counters (GPM)");
	});

	it.each([
		[null, "nvidia-smi is not installed, so clocks, power and neighbours of the GPU are unknown."],
		["fault=no-driver", "couldn't communicate with the NVIDIA driver"],
		["fault=end:3", "nvidia-smi ended (exit code 15)"],
	])("is unknown with nvidia-smi %s, which is said and harms nothing else", async (smi, sentence) => {
		const replay = { comparison: "same-model", smi } as const;
		const { run, result } = await gateIn(projectOf(replay), replay);
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		expect(result.outcome).toBe("pass");
		expect(result.notes.join(" ")).toContain(sentence);
	});

	it("must be one that CUDA_VISIBLE_DEVICES leaves to see", async () => {
		const replay = { comparison: "same-model" } as const;
		const folder = projectOf(replay);
		const { exit, stderr } = await runCli(["run", "--base", "base", "--head", "head"], {
			cwd: folder,
			env: { PATH: installReplay(folder, replay), CUDA_VISIBLE_DEVICES: "7" },
			...(dist === undefined ? {} : { dist }),
		});
		expect(exit).toBe(2);
		expect(stderr).toContain('no GPU called "7" (CUDA_VISIBLE_DEVICES)');
	});
});

describe("the turn on the GPU", () => {
	it("is waited for where another job has it, given back at the end, and told", async () => {
		const replay = { comparison: "same-model" } as const;
		const folder = projectOf(replay);
		const path = join(folder, ".locks", `${gpuUuid}.lock`);
		mkdirSync(join(folder, ".locks"));
		const owner = { pid: process.pid, host: hostname(), space: "", startedAt: "2026-01-01T00:00:00Z", born: "", token: "x" };
		writeFileSync(path, JSON.stringify(owner));
		const gated = gateIn(folder, replay);
		await new Promise((resolve) => setTimeout(resolve, 2_500));
		writeFileSync(path, JSON.stringify({ ...owner, pid: 4_000_000 }));
		const { run } = await gated;
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		expect(run.stderr).toContain(`in use by process ${process.pid} on ${hostname()}`);
		expect(() => readFileSync(path)).toThrow("ENOENT");
	});
});

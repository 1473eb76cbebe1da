import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectExit, lockOf, temporaryFolder, writeProject } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import type { Replay } from "../support/replay/install.ts";

const gpuUuid = "GPU-00000000-0000-0000-0000-000000000000";
const config = [
	["    golden: golden/golden.json\n", ""],
	["pairs: [5, 8]", "pairs: [5]"],
] as const;

describe.concurrent("an nvidia-smi that", () => {
	it.for([
		["says that the GPU is lost", "fault=lost:3", /The GPU was lost during monitoring/, 0.05],
		["falls silent", "fault=hang:0", /nvidia-smi printed nothing for 5 s and was stopped/, 0.1],
	] as const)(
		"an nvidia-smi that %s loses the GPU's telemetry, is reported, and changes no verdict",
		async ([_what, smi, says, scale], { expect, onTestFinished }) => {
			const replay: Replay = { comparison: "same-model", smi, scale };
			const { run, result } = await gateReplay(replay, { config, atEnd: onTestFinished });
			expectExit(run, 0);
			expect(result).toMatchObject({ outcome: "pass", errors: [] });
			expect(result.failureKind).toBeUndefined();
			expect(result.workloads[0]).toMatchObject({ verdict: "unchanged", replaced: 0 });
			const runs = result.workloads.flatMap((workload) => workload.runs);
			expect(runs.length).toBeGreaterThanOrEqual(10);
			expect(runs.filter(({ samples }) => samples === undefined)).toEqual([]);
			expect(result.notes.join(" ")).toMatch(says);
		},
	);
});

// The runs last some hundred milliseconds, so the list of processes comes ten times a second, not once.
it("another process on the GPU that is there in every run leaves nothing to compare: exit 3, by its name, and every run is kept", async () => {
	const folder = temporaryFolder();
	const apps = join(folder, "apps.csv");
	// The runner of this test: it is here, and no child of the gate.
	const row = `2026/11/21 06:27:48.097, ${gpuUuid}, ${process.ppid}, acme-trainer, 1130 MiB`;
	const other = `2026/11/21 06:27:48.097, ${gpuUuid}, 4000001, acme-server, 900 MiB`;
	writeFileSync(apps, `timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n${row}\n${other}\n`);
	const smi = `steady=yes speed=10 apps=${apps}`;
	const { run, result } = await gateReplay({ comparison: "same-model", smi, scale: 0.1 }, { config });
	expectExit(run, 3);
	expect(result).toMatchObject({ outcome: "error", failureKind: "runner" });
	expect(result.errors.map(({ code }) => code)).toEqual(["runs-unstable"]);
	expect(result.errors[0]?.message).toMatch(/another process used the GPU: acme-/);
	expect(result.workloads[0]?.verdict).toBe("not-comparable");
	expect(result.workloads[0]?.runs.some(({ reason }) => reason?.includes("acme-"))).toBe(true);
});

it("the lock of a GPU whose owner has died on this machine is broken, and given back at the end", async () => {
	const lock = { [`.locks/${gpuUuid}.lock`]: lockOf({ pid: 4_000_000 }) };
	const given = (folder: string): void => void writeProject(folder, lock);
	const { run, result, folder } = await gateReplay({ comparison: "same-model" }, { config, given });
	expectExit(run, 0);
	expect(result.outcome).toBe("pass");
	expect(run.stderr).not.toContain("wait for the GPU");
	expect(readdirSync(join(folder, ".locks"))).toEqual([]);
});

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { parseProfile } from "../../src/formats/trtexec/layer-profile.ts";
import {
	type CliOptions,
	expectExit,
	expectRefusal,
	type Gated,
	gateFolders,
	lockOf,
	runCli,
	temporaryFolder,
} from "../support/project.ts";
import { writeArms } from "../support/replay/gate.ts";
import { installReplay, type Replay } from "../support/replay/install.ts";

const gpuUuid = "GPU-00000000-0000-0000-0000-000000000000";

const projectOf = ({ comparison }: Replay): string => writeArms(temporaryFolder(), comparison);

/** Its result stays what it is when the folder is gated again. */
async function gateIn(
	folder: string,
	replay: Replay,
	more: Pick<CliOptions, "onStderr"> = {},
): Promise<Gated> {
	const env = { PATH: installReplay(folder, replay), XDG_CACHE_HOME: join(folder, "caches") };
	return { ...(await gateFolders(folder, { env, ...more })) };
}

function busySamples(folder: string): string {
	const [header = "", ...rows] = readFileSync("test/fixtures/nvidia-smi/h200-query-load.csv", "utf8")
		.trim()
		.split("\n");
	const busy = rows.filter((row) => row.includes(" 100 %,"));
	const path = join(folder, "busy.csv");
	writeFileSync(
		path,
		`${[header, ...Array.from({ length: 600 }, (_, at) => busy[at % busy.length])].join("\n")}\n`,
	);
	return path;
}

it("the GPU beside the runs is recorded with each run and on both sides of its workload", async () => {
	// Slow enough that the GPU is seen beside each run.
	const replay = { comparison: "same-model", scale: 0.05 } as const;
	const folder = projectOf(replay);
	const { run, result } = await gateIn(folder, { ...replay, smi: `samples=${busySamples(folder)}` });
	expectExit(run, 0);
	const [row] = result.workloads;
	const seen = row?.runs.filter(({ gpu }) => gpu !== undefined) ?? [];
	expect(seen.length).toBeGreaterThan(0);
	expect(seen.some(({ gpu }) => (gpu?.smClockMhz?.mean ?? 0) > 1000)).toBe(true);
	expect(row?.gpu?.base?.runs).toBeGreaterThan(0);
	expect(result.notes.join(" ")).toContain("offers no hardware counters (GPM)");
});

it("the GPU beside the runs must be one that CUDA_VISIBLE_DEVICES leaves to see", async () => {
	const replay = { comparison: "same-model" } as const;
	const folder = projectOf(replay);
	const env = { PATH: installReplay(folder, replay), CUDA_VISIBLE_DEVICES: "7" };
	expectRefusal((await gateFolders(folder, { env })).run, 'no GPU called "7" (CUDA_VISIBLE_DEVICES)');
});

function installNsight(folder: string, tool: "nsys" | "ncu", mode: string): void {
	const bin = join(folder, "replay-bin");
	mkdirSync(bin, { recursive: true });
	const program = `#!/bin/sh\nexec "${process.execPath}" "${resolve(`test/support/programs/${tool}.mjs`)}" mode=${mode} "$@"\n`;
	writeFileSync(join(bin, tool), program, { mode: 0o755 });
}

function editConfigs(folder: string, edit: (config: string) => string): void {
	for (const arm of ["base", "head"]) {
		const path = join(folder, arm, "trtgate.yml");
		writeFileSync(path, edit(readFileSync(path, "utf8")));
	}
}

const askForNcu = (folder: string): void =>
	editConfigs(folder, (config) => `${config}profile: { ncu: on-regression }\n`);

it("profiles show layers, kernels and why a workload regressed, look into its slowest kernel with ncu, and list every file", async () => {
	const replay = { comparison: "slower-head" } as const;
	const folder = projectOf(replay);
	installNsight(folder, "nsys", "full");
	installNsight(folder, "ncu", "full");
	askForNcu(folder);
	const { result, report } = await gateIn(folder, replay);
	const out = join(folder, "out");
	expect(result.backend).toMatchObject({
		device: "NVIDIA H200",
		memoryBytes: 143771 * 1024 ** 2,
		computeCapability: "9.0",
	});
	const [row] = result.workloads;
	expect(row?.verdict).toBe("regressed");
	expect(row?.layers?.base?.layers.length).toBeGreaterThan(10);
	expect(row?.layers?.head?.layers.map(({ name }) => name)).toContain("block1 + block1.relu");
	expect(row?.kernels?.head?.kernels).toHaveLength(10);

	const paths = result.files.map(({ path }) => path);
	expect(paths).toEqual(
		expect.arrayContaining([
			"report.html",
			"report.md",
			"junit.xml",
			"result.json",
			"raw",
			"logs",
			"engines",
		]),
	);
	// Two engines, each with its layers and five profiles.
	expect(paths.filter((path) => path.startsWith("layers/"))).toHaveLength(12);
	expect(paths.filter((path) => path.endsWith(".nsys-rep"))).toHaveLength(2);
	expect(paths.filter((path) => path.endsWith("_cuda_gpu_kern_sum.csv"))).toHaveLength(2);
	for (const path of paths) expect(existsSync(join(out, path)), path).toBe(true);
	for (const path of paths.filter((one) => /profile(-\d)?\.json$/.test(one))) {
		expect(parseProfile(report(path)).layers.length, path).toBeGreaterThan(3);
	}
	const reports = result.files.filter(({ what }) => what.startsWith("Nsight Compute profile"));
	expect(reports.map(({ path }) => path.slice(0, 4))).toEqual(["ncu/", "ncu/"]);
	const log = result.files.find(({ what }) => what.startsWith("log of the Nsight Compute profile"));
	expect(report(log?.path ?? "")).toContain("regex:^sm80_xmma_gemm_f16f16");

	const { account } = row?.explanation ?? {};
	expect(account).toMatchObject({ from: "runs", profiles: 5 });
	expect(account?.attributedMs).toBeGreaterThan(0.8 * (account?.measuredMs ?? Number.NaN));
	expect(report("report.md")).toMatch(
		/- \+0\.89 ± 0\.\d\d µs: `block1 \+ block1\.relu` – weights changed: 4,608 → 18,432 values\./,
	);
	const again = await runCli(["explain", out], { cwd: folder });
	expect(again.stdout).toMatch(/block1 \+ block1\.relu – weights changed: 4,608 → 18,432 values/);
	for (const words of ["Where the time went", "All 15 layers", "Kernels by time"])
		expect(report("report.html")).toContain(words);
});

it("profiles report once that there is no nsys and why ncu saw nothing, and that layers could not be timed, and change no verdict", async () => {
	const replay: Replay = {
		comparison: "slower-head",
		faults: [{ step: "profile", do: "kill", signal: "SIGSEGV" }],
	};
	const folder = projectOf(replay);
	installNsight(folder, "ncu", "forbidden");
	askForNcu(folder);
	const { result } = await gateIn(folder, replay);
	expect(result.workloads[0]?.verdict).toBe("regressed");
	expect(result.errors).toEqual([]);
	expect(result.notes.filter((note) => note.includes("Nsight Systems (nsys) is not installed"))).toHaveLength(
		1,
	);
	expect(result.notes.filter((note) => note.includes("ERR_NVGPUCTRPERM"))).toHaveLength(1);
	expect(
		result.notes.filter((note) => /The layers of .+ \((base|head)\) could not be timed/.test(note)),
	).toHaveLength(2);
});

const builds = (folder: string): number =>
	Number(readFileSync(join(folder, "replay-bin/state/build"), "utf8"));
const notesOf = ({ result }: Gated): string[] => result.builds.map(({ notes }) => notes?.join(" ") ?? "");

it("what earlier runs left spares the builds of both sides, is rebuilt if it is damaged, and never makes a build that fails look built", async () => {
	const replay: Replay = { comparison: "slower-head" };
	const folder = projectOf(replay);
	editConfigs(folder, (config) =>
		config.replace(/^cache: .*/m, "cache: { engines: true, timing: true }").replace(/^ {4}golden: .*\n/m, ""),
	);
	const first = await gateIn(folder, replay);
	const second = await gateIn(folder, replay);
	expect(builds(folder)).toBe(2);
	expect(notesOf(second)).toHaveLength(2);
	for (const note of notesOf(second)) expect(note).toContain("From the engine cache: built in");
	const plain = ({ result }: Gated) => result.builds.map(({ notes, fromCache, ...record }) => record);
	expect(plain(second)).toEqual(plain(first));
	expect(second.result.gates.filter(({ gate }) => gate === "build-time")).toEqual([]);
	expect(second.result.workloads[0]?.verdict).toBe("regressed");
	expect(second.result.workloads[0]?.head?.peakMemoryBytes).toBe(
		first.result.workloads[0]?.head?.peakMemoryBytes,
	);
	expect(readFileSync(second.result.builds[0]?.log ?? "", "utf8")).toContain("engine cache");

	const engines = join(folder, "caches/trtgate/engines");
	for (const name of readdirSync(engines)) writeFileSync(join(engines, name, "engine.plan"), "damaged");
	const third = await gateIn(folder, replay);
	expect(builds(folder)).toBe(4);
	expect(third.result.builds.map(({ state }) => state)).toEqual(["built", "built"]);

	// The base's own model, of which an engine is kept, but none that was built after the base's.
	writeFileSync(join(folder, "head/model.onnx"), readFileSync(join(folder, "base/model.onnx")));
	const faults = [{ step: "build", do: "recording", recording: "10.6/fail-bad-truncated" }] as const;
	const { result } = await gateIn(folder, { ...replay, faults });
	expect(result.builds.map(({ state }) => state)).toEqual(["built", "refused"]);
	expect(result.outcome).toBe("fail");
});

it("the lease of a GPU is waited for while another job holds it, is released at the end, and both are reported", async () => {
	const replay = { comparison: "same-model" } as const;
	const folder = projectOf(replay);
	installNsight(folder, "nsys", "full");
	const path = join(folder, ".locks", `${gpuUuid}.lock`);
	mkdirSync(join(folder, ".locks"));
	writeFileSync(path, lockOf({ pid: process.pid }));
	const ownerHasEnded = (): void => writeFileSync(path, lockOf({ pid: 4_000_000 }));
	const onStderr = (text: string) => text.includes("in use by process") && ownerHasEnded();
	const { run, result } = await gateIn(folder, replay, { onStderr });
	expectExit(run, 0);
	expect(run.stderr).toContain(`in use by process ${process.pid} on ${hostname()}`);
	expect(() => readFileSync(path)).toThrow("ENOENT");
	// No workload regressed, so no kernels are listed.
	const paths = result.files.map(({ path }) => path);
	expect(paths.filter((one) => one.startsWith("nsys/"))).toEqual([]);
	expect(paths.filter((one) => one.startsWith("layers/"))).toHaveLength(4);
});

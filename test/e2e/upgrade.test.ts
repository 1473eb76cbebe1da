import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import { comparisonFiles, installReplay, type Replay, type ReplayFault } from "../support/replay/install.ts";

const untimed = [["workloads: [{ batch: 4, sequence: 64 }]", "workloads: []"]] as const;

it("a merged report of three versions says which upgrade to hold back, and why", async () => {
	const cwd = temporaryFolder();
	const build = (recording: string): ReplayFault[] => [{ step: "build", do: "recording", recording }];
	const runs = {
		today: { comparison: "same-model" },
		next: { comparison: "same-model", version: "101501", faults: build("10.15/fail-bad-unsupported-op") },
		major: { comparison: "same-model", version: "110201" },
	} as const;
	for (const [name, replay] of Object.entries(runs)) {
		const { folder } = await gateReplay(replay, { config: untimed });
		cpSync(join(folder, "out"), join(cwd, "parts", name), { recursive: true });
	}
	const { stdout } = await runCli(["report", "parts", "--merge", "--out", "all"], { cwd });
	const markdown = readFileSync(join(cwd, "all/report.md"), "utf8");
	const html = readFileSync(join(cwd, "all/report.html"), "utf8");
	for (const text of [stdout, markdown, html]) {
		expect(text).toMatch(/Upgrade: TensorRT 10\.6\.0 → 10\.15\.1/);
		expect(text).toMatch(/Upgrade: TensorRT 10\.6\.0 → 11\.2\.1/);
		expect(text).toContain("Do not upgrade yet: 1 engine that no longer builds");
	}
	expect(stdout.replace(/\s+/g, " ")).toMatch(/net\/fp16` no longer builds: .*no precision flags/);
	expect(stdout).toContain("1 plan must be built again");
});

async function upgrade(
	head: Partial<Replay>,
	{ config = "", argv = [] }: { config?: string; argv?: readonly string[] },
) {
	const cwd = temporaryFolder();
	const files = comparisonFiles("same-model", "head");
	const settings = String(files["trtgate.yml"]).replace(
		"unchanged-models: rebuild",
		"unchanged-models: skip",
	);
	writeProject(cwd, { ...files, "trtgate.yml": `${settings}${config}` });
	installReplay(join(cwd, "old"), { comparison: "same-model", as: "base" });
	const env = { PATH: installReplay(cwd, { comparison: "same-model", as: "head", ...head }) };
	const { stdout, stderr } = await runCli(["run", "--out", "out", ...argv], { cwd, env });
	return {
		...{ cwd, env, stdout, stderr },
		result: () => readResult(join(cwd, "out")),
		read: (path: string) => readFileSync(join(cwd, path), "utf8"),
	};
}

it("one job with two TensorRTs builds and times the same model on both, and says what the upgrade costs", async () => {
	const ran = await upgrade(
		{ version: "101501", buildFactors: { head: [1.08] } },
		{ config: "base: { trtexec: old/replay-bin/trtexec }\n" },
	);
	const { backend, baseBackend, environment, workloads, notes, gates } = ran.result();
	expect([baseBackend?.version, backend.version, environment["base-tensorrt"]]).toEqual([
		"10.6.0",
		"10.15.1",
		"10.6.0",
	]);
	expect(gates.filter(({ gate }) => gate === "limit-change")).toEqual([]);
	expect(workloads[0]?.latency.verdict).toBe("regressed");
	expect(notes.join("\n")).not.toContain("Unchanged");
	for (const text of [ran.stdout, ran.read("out/report.md"), ran.read("out/report.html")]) {
		expect(text).toMatch(/Upgrade: TensorRT 10\.6\.0 → 10\.15\.1/);
		expect(text).toMatch(/base .* on TensorRT 10\.6\.0\s→\shead .* on\sTensorRT\s10\.15\.1/);
		expect(text).toContain("Upgrade after a review: 1 workload that slows down");
	}
	const asked = ["old/", ""].map((bin) => ran.read(`${bin}replay-bin/state/asked.jsonl`));
	const timingCaches = asked.map((text) => /--timingCacheFile=([^"]+)/.exec(text)?.[1]);
	expect(new Set(timingCaches).size).toBe(2);
	const doctor = await runCli(["doctor"], ran);
	expect(doctor.stdout).toMatch(
		/✓ trtexec: TensorRT 10\.15\.1, [\s\S]*✓ trtexec of the base: TensorRT 10\.6\.0, .*old\/replay-bin\/trtexec/,
	);
});

it("an engine that only the newer TensorRT refuses holds the upgrade back", async () => {
	const argv = ["--base-trtexec", "old/replay-bin/trtexec"];
	const faults: ReplayFault[] = [
		{ step: "build", do: "recording", recording: "10.15/fail-bad-unsupported-op" },
	];
	const { stdout, result } = await upgrade({ version: "101501", faults }, { argv });
	expect(result().builds.map(({ arm, state }) => `${arm} ${state}`)).toEqual(["base built", "head refused"]);
	expect(stdout).toContain("Do not upgrade yet: 1 engine that no longer builds");
});

it("a second TensorRT that is not there is one error with its line", async () => {
	const { stderr } = await upgrade({}, { config: "base: { trtexec: /opt/none/trtexec }\n" });
	expect(stderr).toContain("trtexec of the base was not found: /opt/none/trtexec does not exist");
});

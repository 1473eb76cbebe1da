import { cpSync, readFileSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { bytesField, joinBytes } from "../../src/formats/onnx/write.ts";
import { tensor } from "../support/onnx-writer.ts";
import { readResult, runCli, temporaryFolder, writeProject, writeScript } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import { comparisonFiles, installReplay, type Replay, type ReplayFault } from "../support/replay/install.ts";
import { missing, python } from "../support/tensorrt-worker.ts";

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
	{
		config = "",
		argv = [],
		engine = "precision: fp16",
		edit = () => {},
	}: { config?: string; argv?: readonly string[]; engine?: string; edit?(cwd: string): void },
) {
	const cwd = temporaryFolder();
	const files = comparisonFiles("same-model", "head");
	const settings = String(files["trtgate.yml"])
		.replace("unchanged-models: rebuild", "unchanged-models: skip")
		.replace("precision: fp16", engine);
	// The recorded engine of both files is one; this weight makes the second one count as converted to fp16.
	const half = tensor({ name: "half", dtype: 10, dims: [1], raw: new Uint8Array(2) });
	const typed = joinBytes(files["model.onnx"] as Uint8Array, bytesField(7, bytesField(5, half)));
	writeProject(cwd, { ...files, "typed.onnx": typed, "trtgate.yml": `${settings}${config}` });
	installReplay(join(cwd, "old"), { comparison: "same-model", as: "base" });
	const env = { PATH: installReplay(cwd, { comparison: "same-model", as: "head", ...head }) };
	edit(cwd);
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

const second = "base: { trtexec: old/replay-bin/trtexec }\n";

it("a version-compatible plan of both versions is timed on both, and a command knows whose plan it builds", async () => {
	const command =
		"trtexec --onnx=model.onnx --saveEngine=net.plan >/dev/null; echo $TRTGATE_TENSORRT >> versions";
	const engine = `precision: fp16, flags: [--versionCompatible], build: { command: '${command}', plan: net.plan }`;
	const ran = await upgrade({ version: "101501" }, { config: second, engine });
	expect(ran.read("versions")).toBe("10.6.0\n10.15.1\n");
	const { builds, workloads } = ran.result();
	expect(new Set(builds.map(({ engineSha256 }) => engineSha256)).size).toBe(1);
	expect(workloads[0]?.latency).toMatchObject({ verdict: "unchanged", pairs: expect.any(Number) });
	expect(workloads[0]?.latency.pairs).toBeGreaterThan(0);
});

it("an upgrade to a version that takes no precision flags says so once, with the fix, and claims no times", async () => {
	const ran = await upgrade({ version: "110201" }, { config: second });
	const [section = ""] = ran.read("out/report.md").split("\nNext:");
	expect(section.match(/has no precision flags/g)).toHaveLength(1);
	expect(section).toMatch(
		/Do not upgrade yet: [\s\S]*`fp16` no longer builds: .* Convert the model with ModelOpt's/,
	);
	expect(ran.stdout).not.toContain("interleaved pairs");
});

it("memory that one version states without its weights is not compared, and the report says what lacks", async () => {
	const ran = await upgrade(
		{ version: "101501" },
		{
			config: second,
			edit: (cwd) => {
				const trtexec = join(cwd, "replay-bin/trtexec");
				renameSync(trtexec, `${trtexec}.real`);
				const drop = "/Total Weights Memory/d;/TensorRT-managed/d";
				writeScript(trtexec, `"$0.real" "$@" >"$0.$$" 2>&1; code=$?; sed "${drop}" "$0.$$"; exit $code`);
			},
		},
	);
	const [row] = ran.result().workloads;
	expect(row?.memory.verdict).toBe("not-comparable");
	expect(row?.memory.reason).toMatch(/the head's has `Created execution .* MiB, and no line on weights`/);
	expect(ran.stdout.replace(/\s+/g, " ")).toContain("and no line on weights");
});

it.skipIf(missing !== null)("doctor says that Python's TensorRT is not trtexec's", async () => {
	const cwd = temporaryFolder();
	const env = { PATH: installReplay(cwd, { comparison: "same-model", version: "101501" }) };
	const worker = `PYTHONPATH="${resolve("test/support/fake-tensorrt")}" exec "${python}" "$@"`;
	writeScript(join(cwd, "replay-bin/python3"), worker);
	const { stdout } = await runCli(["doctor"], { cwd, env });
	expect(stdout).toMatch(
		/– TensorRT in Python: 10\.6\.0, .*; trtexec is of 10\.15\.1\n {2}→ Without it, golden/,
	);
});

it("an upgrade is not decided where the new version's timed runs crash", async () => {
	const faults: ReplayFault[] = [{ step: "perf", do: "kill", signal: "SIGSEGV" }];
	const config = "base: { trtexec: old/replay-bin/trtexec }\n";
	const { stdout } = await upgrade({ version: "101501", faults }, { config });
	expect(stdout.replace(/\s+/g, " ")).toMatch(
		/Not decided: 1 workload that was not compared.* - `net\/fp16\/.*` was not compared: .*SIGSEGV/,
	);
});

it("a second TensorRT that is not there is one error with its line", async () => {
	const { stderr } = await upgrade({}, { config: "base: { trtexec: /opt/none/trtexec }\n" });
	expect(stderr).toContain("trtexec of the base was not found: /opt/none/trtexec does not exist");
});

it("from 10 to 11 each side builds its own file of an engine, and the upgrade is decided over the pair", async () => {
	const config = "base: { trtexec: old/replay-bin/trtexec }\n";
	const engine = 'precision: fp16, onnx: { "<11": model.onnx, "11": typed.onnx }';
	const ran = await upgrade({ version: "110201" }, { config, engine });
	const asked = ["old/", ""].map((bin) => ran.read(`${bin}replay-bin/state/asked.jsonl`));
	expect(asked.map((text) => /--onnx=[^"]*\/([^"/]+)"/.exec(text)?.[1])).toEqual([
		"model.onnx",
		"typed.onnx",
	]);
	expect(asked.map((text) => text.includes('"--fp16"'))).toEqual([true, false]);
	const { recipeChanges, builds, workloads } = ran.result();
	expect(builds.map(({ arm, state }) => `${arm} ${state}`)).toEqual(["base built", "head built"]);
	expect(workloads[0]?.latency.verdict).toBe("unchanged");
	expect(recipeChanges?.[0]?.rows).toEqual([{ what: "onnx", base: "model.onnx", head: "typed.onnx" }]);
	for (const text of [ran.stdout, ran.read("out/report.md"), ran.read("out/report.html")]) {
		expect(text).toMatch(/Upgrade: TensorRT 10\.6\.0 → 11\.2\.1/);
		expect(text).toMatch(
			/Upgrade: 1 engine built, 2 golden cases matched, none of 1\s+workload became slower/,
		);
	}
});

it.each([
	[
		'"<11": model.onnx, "12": typed.onnx',
		'net/fp16 has no ONNX file for TensorRT 11.2.1; its `onnx` names files for "12", "<11".',
	],
	['"<11": gone.onnx, "11": typed.onnx', "gone.onnx"],
])("an engine with the files { %s } has an error with its line", async (files, says) => {
	const config = "base: { trtexec: old/replay-bin/trtexec }\n";
	const ran = await upgrade({ version: "110201" }, { config, engine: `precision: fp16, onnx: { ${files} }` });
	expect(ran.stdout + ran.stderr).toContain(says);
	expect(ran.stdout + ran.stderr).toContain("trtgate.yml:7");
	expect(ran.stdout).not.toContain("Upgrade: 1 engine");
});

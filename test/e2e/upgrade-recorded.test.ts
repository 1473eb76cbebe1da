import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCli, temporaryFolder, writeScript } from "../support/project.ts";
import { shownLines } from "../support/shown-lines.ts";
import { replayUpgrade } from "../support/upgrade-project.ts";

it("the recorded upgrade from 8.6.1 to 10.6.0 gives no false alarm, and its decision comes first", async () => {
	const { run, result, read } = await replayUpgrade();
	const { gates, workloads, builds, baseBackend, backend } = result();
	expect([baseBackend?.version, backend.version]).toEqual(["8.6.1", "10.6.0"]);
	// The model that neither parses fails, and both engines are slower: +4.8 % and +7.5 %, in the recorded summaries.
	const loud = gates.filter(({ status }) => status !== "pass");
	expect(loud.map(({ gate, model, status }) => `${model} ${gate} ${status}`)).toEqual([
		"plcmos-v2 build fail",
		"orientation latency warn",
		"onet latency warn",
	]);
	const memory = workloads.map((row) => [
		row.model,
		row.memory.verdict,
		row.base?.peakMemoryBytes,
		row.head?.peakMemoryBytes,
	]);
	expect(memory).toEqual([
		["orientation", "improved", 128 * 2 ** 20, 6_694_788 + Math.round(104.141 * 2 ** 20)],
		["onet", "unchanged", 18 * 2 ** 20, 1_734_784 + Math.round(16.5356 * 2 ** 20)],
	]);
	const notes = builds.flatMap((build) => build.notes ?? []).join(" ");
	expect(notes).toContain("The timing cache was kept; this TensorRT does not count its kernel timings.");
	expect(notes).not.toContain("No timing cache");

	const decision = "Upgrade after a review: 2 engines without a golden, 2 workloads that slow down";
	const [markdown, html] = [read("out/report.md"), read("out/report.html")];
	expect(markdown.split("\n")[0]).toContain(`8.6.1 → 10.6.0: ${decision}`);
	expect(markdown.split("\n\n")[1]).toBe("### Upgrade: TensorRT 8.6.1 → 10.6.0");
	expect(html.slice(html.indexOf("<h1>"), html.indexOf("</h1>"))).toContain(decision);
	expect(html.slice(html.indexOf("<main>")).indexOf("Upgrade: TensorRT 8.6.1 → 10.6.0")).toBeLessThan(
		html.slice(html.indexOf("<main>")).indexOf("<article"),
	);
	const shown = shownLines(markdown);
	expect(shown.filter((line) => /^- `/.test(line)).map((line) => line.split("`")[1])).toEqual([
		"orientation",
		"onet",
		"plcmos-v2",
		"trtgate explain result.json",
	]);
	expect(shown.length).toBeLessThanOrEqual(12);
	for (const text of [markdown, html]) {
		expect(text).toContain("peak memory 128 MiB → 111 MiB");
		expect(text).toContain("timing cache, so each chose its kernels");
		expect(text).not.toMatch(/one timing cache; with one|new in the model/);
	}
	expect(run.exit).toBe(1);
});

const onlyOnet = (config: string): string => config.replace(/^ {2}(orientation|plcmos-v2): .*\n/gm, "");

it("a flag that 8.6 lacks stops its side before the build, and says since when there is one", async () => {
	const { result } = await replayUpgrade((config) =>
		onlyOnet(config).replace("{ onnx: onet.onnx,", "{ onnx: onet.onnx, flags: [--maxTactics=9],"),
	);
	const refused = result().builds.find(({ model, arm }) => model === "onet" && arm === "base")?.failure;
	expect(refused?.title).toContain("TensorRT 8.6.1 has no --maxTactics, which came with 10.4.");
});

it("doctor checks one trtexec, and names the library that it lacks; `libraries` of the config helps the head's", async () => {
	const cwd = temporaryFolder();
	const trtexec = join(cwd, "trtexec");
	const banner = "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --help";
	const lacks = `trtexec: error while loading shared libraries: libnvinfer.so.8: cannot open shared object file`;
	const script = `case "$LD_LIBRARY_PATH" in */libs*) echo '${banner}' ;; *) echo '${lacks}' >&2; exit 127 ;; esac`;
	writeScript(trtexec, script);
	const lost = await runCli(["doctor", "--trtexec", trtexec], { cwd });
	expect(lost.exit).not.toBe(0);
	expect(lost.stdout).toMatch(
		/✗ trtexec: .*does not find libnvinfer\.so\.8\n {2}→ .*LD_LIBRARY_PATH.*`libraries`/,
	);
	expect(lost.stdout).not.toContain("Node.js");
	const places = "libraries: other\nbase: { trtexec: ./trtexec, libraries: libs }";
	writeFileSync(
		join(cwd, "trtgate.yml"),
		`version: 1\n${places}\nmodels: { net: { onnx: net.onnx, engines: { fp32: { precision: fp32 } } } }\n`,
	);
	const ofBase = await runCli(["doctor", "--trtexec", "./trtexec"], { cwd });
	expect(ofBase.stdout).toContain("✓ trtexec: TensorRT 8.6.1");
	const {
		env,
		cwd: project,
		result,
	} = await replayUpgrade((config) => `libraries: libs\n${onlyOnet(config)}`);
	expect(result().backend.version).toBe("10.6.0");
	const found = await runCli(["doctor", "--trtexec", trtexec], { cwd: project, env });
	expect(found.stdout).toContain("✓ trtexec: TensorRT 8.6.1");
});

it.skipIf(spawnSync("cc", ["--version"]).status !== 0)(
	"doctor names the library that TensorRT's own libraries lack, which trtexec opens only when it builds",
	async () => {
		const cwd = temporaryFolder();
		for (const folder of ["bin", "lib"]) mkdirSync(join(cwd, folder));
		const compile = (source: string, ...args: string[]) =>
			execFileSync("cc", ["-x", "c", "-", ...args], { cwd, input: source });
		compile("int blas(void) { return 0; }", "-shared", "-fPIC", "-o", "lib/libcublas.so.12");
		const library = "int blas(void); int infer(void) { return blas(); }";
		const linked = ["-shared", "-fPIC", "-Llib", "-x", "none", "-l:libcublas.so.12"];
		compile(library, ...linked, "-o", "lib/libnvinfer.so.8");
		const banner = "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --help";
		const program = `#include <stdio.h>\nconst char *opens = "libnvinfer.so."; int main(void) { puts("${banner}"); return opens[0] == 0; }`;
		compile(program, "-o", "bin/trtexec");
		const check = async () => (await runCli(["doctor", "--trtexec", "bin/trtexec"], { cwd })).stdout;
		expect(await check()).toContain("✓ trtexec: TensorRT 8.6.1");
		rmSync(join(cwd, "lib/libcublas.so.12"));
		expect(await check()).toMatch(
			/✗ trtexec: TensorRT 8\.6\.1, .*does not find libcublas\.so\.12\n {2}→ .*`libraries`/,
		);
	},
);

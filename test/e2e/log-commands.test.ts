import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { buildGate, buildResult, buildWorkload } from "../support/build-result.ts";
import { runCli, temporaryFolder, writeProject } from "../support/project.ts";

const cli = (argv: readonly string[], cwd: string) => runCli(argv, { cwd, env: { GITHUB_ACTIONS: "true" } });

const hostile = "::error title=Gate::passed";

/** Lines that the runner would obey, except for the groups of the progress. */
function commands(text: string): string[] {
	return text.split(/[\r\n]/).filter((line) => /^[\s\u0085]*::(?!(?:group|endgroup)::)|##\[/.test(line));
}

it("the command line in a workflow prints no command from a result", async () => {
	const names = { model: hostile, engine: "##[group]x", workload: "::stop-commands::x" };
	const result = buildResult({
		workloads: [buildWorkload({ ...names, notes: [`a\r${hostile}`] })],
		gates: [buildGate({ ...names, status: "fail", message: `x\n${hostile}\r\u0085${hostile}` })],
		outcome: "fail",
	});
	const cwd = writeProject(temporaryFolder(), { "out/result.json": JSON.stringify(result) });
	const run = await cli(["report", "out"], cwd);
	expect(run.stdout).toContain("error title=Gate");
	expect(commands(run.stdout + run.stderr)).toEqual([]);
});

it("the command line in a workflow prints no command from a config, nor in its JSON, which has the same content", async () => {
	const cwd = temporaryFolder();
	cpSync(resolve("examples/quickstart/base/models/classifier.onnx"), join(cwd, "##[group]net.onnx"));
	const models = { [hostile]: { onnx: "##[group]net.onnx", dims: { batch: { min: 1, opt: 1, max: 1 } } } };
	const config = { version: 1, backend: "onnxruntime", onnxruntime: "wasm", models };
	writeProject(cwd, { "trtgate.yml": JSON.stringify(config) });
	const runs = [
		await cli(["run", "--dry-run"], cwd),
		await cli(["run", "--dry-run", "--json"], cwd),
		await cli([hostile], cwd),
	];
	for (const run of runs) expect(commands(run.stdout + run.stderr)).toEqual([]);
	expect(runs[0]!.stdout + runs[0]!.stderr).toContain("error title=Gate");
	expect(JSON.stringify(JSON.parse(runs[1]!.stdout))).toContain("##[group]net.onnx");
});

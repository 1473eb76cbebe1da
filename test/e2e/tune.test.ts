// `trtgate tune` through the built bundle, on recorded runs of trtexec.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../src/core/config/parse.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";

const comparison = "slower-head";
const wide = readFileSync(resolve("test/fixtures/models/head-classifier-wider.onnx"));

it("tune tries precisions, then the level of the best, then streams, and ends in lines for the config", async () => {
	const folder = temporaryFolder();
	const { "trtgate.yml": _, ...files } = comparisonFiles(comparison, "base");
	writeProject(folder, { ...files, "wide.onnx": wide });
	const argv = ["model.onnx", "--quantised", "wide.onnx", "--golden", "golden", "--dims", "batch=8"];
	const env = { PATH: installReplay(folder, { comparison }), XDG_CACHE_HOME: join(folder, "cache") };
	const run = await runCli(["tune", ...argv], { cwd: folder, env });
	expectExit(run, 0);
	console.log(run.stdout, run.stderr);
	const result = readResult(join(folder, "trtgate-tune"));
	expectSchema(result, "result");
});

it("tune says in one error why there is nothing to tune without TensorRT, and writes nothing", async () => {
	const folder = writeProject(temporaryFolder(), { "model.onnx": wide });
	const run = await runCli(["tune", "model.onnx"], { cwd: folder, env: { PATH: "/usr/bin:/bin" } });
	expectExit(run, 2);
	expect(run.stdout).toBe("");
	expect(run.stderr).toMatch(/^configuration: There is nothing to tune here: .* \[backend-mismatch\]\n {2}→ .*\n$/);
});

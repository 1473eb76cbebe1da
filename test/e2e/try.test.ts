// `trtgate try` through the built bundle: on this machine's CPU, and on recorded runs of trtexec.
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { expectExit, expectRefusal, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";

it("try says all of a model without git and config, leaves nothing behind, and ends in the command to go on with", async () => {
	const cwd = writeProject(temporaryFolder(), { "nets/my net.onnx": "fixture:model.onnx" });
	mkdirSync(join(cwd, "temp"));
	const run = await runCli(["try", "nets/my net.onnx", "--dims", "batch=2", "--quiet"], {
		cwd,
		env: { TMPDIR: join(cwd, "temp"), PATH: "/usr/bin:/bin" },
	});
	expectExit(run, 0);
	const parts = [
		"Preflight\nmodel ",
		"Nothing found.",
		"Cost\n",
		"multiply-adds ",
		"Golden, of generated inputs",
		"Recorded golden@1",
		"ONNX Runtime on the CPU\n",
		"Probes (no reference)",
	];
	const places = parts.map((part) => run.stdout.indexOf(part));
	expect(places, run.stdout).toEqual([...places].sort((a, b) => a - b));
	expect(places).not.toContain(-1);
	expect(run.stdout).toMatch(/ {2}4 \/ 4\n/);
	expect(run.stdout).toMatch(
		/\nTo check it on every change: trtgate init 'nets\/my net\.onnx' --dims=batch=2\n$/,
	);
	expect(readdirSync(join(cwd, "temp"))).toEqual([]);
	expect(readdirSync(cwd).sort()).toEqual(["nets", "temp"]);
});

it("try on TensorRT times fp16 against fp32 in pairs, and says what a request waits at load", async () => {
	const folder = temporaryFolder();
	const comparison = "slower-head";
	const { "model.onnx": model = "" } = comparisonFiles(comparison, "base");
	writeProject(folder, { "model.onnx": model });
	const env = { PATH: installReplay(folder, { comparison }), XDG_CACHE_HOME: join(folder, "cache") };
	const run = await runCli(["try", "model.onnx", "--dims", "batch=8"], { cwd: folder, env });
	expect(run.stdout).toMatch(/\nTensorRT 10\.6/);
	expectExit(run, 1);
	// The replay answers for other inputs.
	expect(run.stdout).toMatch(/relative-l2 of probabilities is 1; allowed/);
	expect(run.stdout).not.toContain("report.html");
	expect(run.stdout).toContain("Payoff: time against error");
	expect(run.stdout).toMatch(/model · fp16.*: \d.*µs at 80 % \([\d,]+ \/ s\)/);
});

it("try says that its time limit ended it", async () => {
	const cwd = writeProject(temporaryFolder(), { "net.onnx": "fixture:model.onnx" });
	const run = await runCli(["try", "net.onnx", "--dims", "batch=2", "--time-limit", "1ms"], {
		cwd,
		env: { PATH: "/usr/bin:/bin" },
	});
	expectExit(run, 3);
	expect(run.stdout).toContain("✗ The run was stopped at --time-limit.\n");
});

it("try stops at a model that cannot run, with preflight's exit code", async () => {
	const cwd = writeProject(temporaryFolder(), { "bad.onnx": "fixture:unsupported-op.onnx" });
	const run = await runCli(["try", "bad.onnx"], { cwd, env: { PATH: "/usr/bin:/bin" } });
	expectExit(run, 1);
	expect(run.stdout).toMatch(/Fix this first; then try it again\.\n$/);
	expect(run.stdout).not.toContain("Golden");
});

it("try takes a model whose weights lie in other files, from outside of the working folder", async () => {
	const root = temporaryFolder();
	for (const file of ["external.onnx", "external.bin"])
		copyFileSync(resolve("test/fixtures/onnxruntime", file), join(root, file));
	const cwd = join(root, "elsewhere");
	mkdirSync(cwd);
	const run = await runCli(["try", "../external.onnx", "--quiet"], { cwd, env: { PATH: "/usr/bin:/bin" } });
	expectExit(run, 0);
	expect(run.stdout).toContain(" 4 / 4\n");
	expect(run.stdout).toContain(`trtgate init ../external.onnx (in a folder above ${root})\n`);
});

it("try ends when it is interrupted while it records its golden", async () => {
	const cwd = temporaryFolder();
	let pid = 0;
	const run = await runCli(["try", "net.onnx", "--quiet"], {
		cwd: writeProject(cwd, { "net.onnx": readFileSync("examples/quickstart/base/models/segmenter.onnx") }),
		onStart: (started) => (pid = started),
		onStdout: (text) => {
			if (text.includes("They test the arithmetic")) process.kill(pid, "SIGINT");
		},
	});
	expectRefusal(run, "[interrupted]", 3);
	expect(run.stdout).not.toContain("Probes");
});

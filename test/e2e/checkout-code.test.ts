import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { outNames } from "../../src/app/out-folder.ts";
import { runActionFolder } from "../support/action-runner.ts";
import { git } from "../support/git-history.ts";
import { armFiles, openPlay } from "../support/github-play.ts";
import { type Planted, plantedPrograms } from "../support/planted-programs.ts";
import {
	expectExit,
	expectRefusal,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";

function judgedBy(golden: string, comparator: string): string {
	const manifest = JSON.parse(golden);
	for (const output of Object.values<{ comparators: object[] }>(manifest.outputs))
		output.comparators = [{ kind: "custom", name: comparator }];
	return JSON.stringify(manifest);
}

const answer = 'echo "{\\"value\\": 0, \\"pass\\": true}"';

function checkout(planted: Planted, config: string): string {
	const workspace = temporaryFolder();
	planted.into(workspace);
	quickProject(workspace, {
		"golden/golden.json": judgedBy(readFileSync("test/fixtures/project/golden/golden.json", "utf8"), "judge"),
		"export.sh": `${planted.mark("prepare")}\ncp model.onnx made.onnx\n`,
		"judge.sh": `${planted.mark("comparator")}\n${answer}\n`,
		"trtgate.yml": `${config.replace("    onnx: model.onnx", "    onnx: made.onnx\n    prepare: sh export.sh")}comparators: { judge: { command: [sh, judge.sh] }, other: { command: [./unnamed-comparator.sh] } }\nbaseline: { from: tag }\n`,
	});
	git(workspace, "init", "-q");
	git(workspace, "add", "-A", "--force");
	git(workspace, "commit", "-q", "-m", "Change");
	return workspace;
}

const automatic = untimed().replace("onnxruntime: wasm\n", "");

it("on a CPU, the action runs only those programs of a checkout that its config names", async () => {
	const planted = plantedPrograms(join(temporaryFolder(), "marks"));
	const cwd = checkout(planted, automatic);
	const env = {
		...planted.searchPaths(cwd, process.env["PATH"] ?? ""),
		RUNNER_TEMP: temporaryFolder(),
		HOME: temporaryFolder(),
	};
	const run = await runActionFolder(".", { cwd, env, post: true });
	expectExit(run, 0);
	expect(planted.ran()).toEqual(["comparator", "prepare"]);
	expect(readResult(join(cwd, "trtgate-out")).backend.name).toBe("ONNX Runtime (WebAssembly)");
});

it("the command line runs only those programs of a checkout that its config names, even with the native ONNX Runtime", async () => {
	const planted = plantedPrograms(join(temporaryFolder(), "marks"));
	const cwd = checkout(planted, automatic);
	const home = { HOME: temporaryFolder() };
	const done = await runCli(["run", "--out", "out"], { cwd, env: home });
	expectExit(done, 0);
	expect(planted.ran()).toEqual(["comparator", "prepare"]);
	const env = { ...home, XDG_CACHE_HOME: temporaryFolder(), npm_config_registry: "http://127.0.0.1:1" };
	const native = await runCli(["run", "--out", "out", "--onnxruntime", "native"], { cwd, env });
	expectRefusal(native, "[runtime-fetch]", 3);
	const recorded = await runCli(
		["golden", "record", "model.onnx", "--out", "new", "--onnxruntime", "native"],
		{ cwd, env },
	);
	expectRefusal(recorded, "[runtime-fetch]", 3);
	expect(planted.ran()).toEqual(["comparator", "prepare"]);
});

it("a native ONNX Runtime is used from the folder that is named, which the log and the result name too", async () => {
	const planted = plantedPrograms(join(temporaryFolder(), "marks"));
	const [cwd, installed] = [checkout(planted, automatic), temporaryFolder()];
	writeProject(join(installed, "node_modules/onnxruntime-node"), {
		"package.json": '{"name": "onnxruntime-node", "version": "9.9.9"}',
		[`bin/napi-v6/${process.platform}/${process.arch}/onnxruntime_binding.node`]: "",
		"index.js": "throw new Error('the named one');\n",
	});
	const env = { HOME: temporaryFolder() };
	const native = ["run", "--out", "out", "--onnxruntime", "native", "--onnxruntime-folder", installed];
	const run = await runCli(native, { cwd, env });
	expect(run.stdout.replace(/\s+/g, " ")).toContain(
		`native ONNX Runtime 9.9.9 at ${installed}/node_modules/onnxruntime-node.`,
	);
	const inputs = { onnxruntime: "native", "onnxruntime-folder": "." };
	const inside = await runActionFolder(".", { cwd, env: { RUNNER_TEMP: temporaryFolder(), ...env }, inputs });
	expectExit(inside, 2);
	expect(inside.stdout).toContain("is in the workspace, where a pull request can change it");
	expect(planted.ran()).not.toContain("onnxruntime-node");
});

it("on TensorRT, the action runs only those programs of a checkout that its config names", async () => {
	const play = await openPlay();
	const planted = plantedPrograms(join(play.root, "marks"));
	const [workspace, replayed] = [join(play.root, "runner/engines"), join(play.root, "runner/replay-bin")];
	const files = armFiles("same-model", "head", [
		["    onnx: model.onnx", "    onnx: made.onnx\n    prepare: by-name\n    plugins: [plugins/named.so]"],
		[
			/$/,
			"profile: { nsys: always, ncu: always }\nbase: { trtexec: tools/trtexec }\ncomparators: { judge: { command: [sh, judge.sh] } }\n",
		],
	]);
	const work = writeProject(join(play.root, "work"), {
		...files,
		"golden/golden.json": judgedBy(String(files["golden/golden.json"]), "judge"),
		// The user's commands are found on the whole PATH, which the workflow sets.
		"bin/by-name": `#!/bin/sh\n${planted.mark("prepare")}\ncp model.onnx made.onnx\n`,
		"judge.sh": `${planted.mark("comparator")}\n${answer}\n`,
		"tools/trtexec": `#!/bin/sh\n${planted.mark("base-trtexec")}\nexec "${replayed}/trtexec" "$@"\n`,
		"plugins/named.so": "a library",
	});
	for (const name of ["bin/by-name", "tools/trtexec"]) chmodSync(join(work, name), 0o755);
	const base = play.commit({}, { ref: "refs/heads/main" });
	planted.into(work);
	const head = play.commit({}, { ref: "refs/heads/change" });
	const env = planted.searchPaths(workspace, `${replayed}:${process.env["PATH"] ?? ""}`);
	const { run, out } = await play.pull({ base, head }, { env });
	expect(planted.ran(), run.stdout + run.stderr).toEqual(["base-trtexec", "comparator", "prepare"]);
	expect(readdirSync(out).filter((name) => !name.startsWith(".") && !outNames.includes(name))).toEqual([]);
	const asked = readFileSync(join(replayed, "state/asked.jsonl"), "utf8");
	expect(asked).toContain("plugins/named.so");
	expect(asked).not.toContain("unnamed.so");
});

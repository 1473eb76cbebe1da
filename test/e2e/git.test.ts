// Base and head as git refs, through the built bundle.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
	quickConfig,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";

function git(folder: string, ...args: string[]): string {
	return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.invalid", ...args], {
		cwd: folder,
		encoding: "utf8",
	}).trim();
}

it("the gate checks the base out of the repository, and removes the checkout again", async () => {
	const folder = quickProject(temporaryFolder(), { "trtgate.yml": untimed() });
	git(folder, "init", "-q", "-b", "main");
	git(folder, "add", "-A");
	git(folder, "commit", "-qm", "base");
	const base = git(folder, "rev-parse", "HEAD");
	writeProject(folder, { "model.onnx": "fixture:wrong.onnx" });
	const run = await runCli(["run", "--base", "main", "--out", "out"], { cwd: folder });
	expect(run.exit, run.stderr).toBe(1);
	const result = readResult(join(folder, "out"));
	expect(result.arms.base).toMatchObject({ label: "main", commit: base });
	expect(result.golden[0]?.checks[0]?.base).toBeLessThan(1e-5);
	expect(git(folder, "worktree", "list").split("\n")).toHaveLength(1);
});

it("the gate names a missing ref, and how to fetch it", async () => {
	const folder = quickProject(temporaryFolder());
	git(folder, "init", "-q");
	const run = await runCli(["run", "--base", "v9.9", "--out", "out"], { cwd: folder });
	expect(run.exit).toBe(2);
	expect(run.stderr).toMatch(/v9\.9.*\[git-ref\]/s);
	expect(run.stderr).toMatch(/→ /);
});

it("the gate runs the prepare command in each side", async () => {
	const folder = quickProject(temporaryFolder());
	writeProject(folder, {
		"trtgate.yml": untimed().replace(
			"    onnx: model.onnx",
			"    onnx: made.onnx\n    prepare: cp model.onnx made.onnx",
		),
	});
	const run = await runCli(["run", "--out", "out"], { cwd: folder });
	expect(run.exit, run.stderr).toBe(0);
	writeProject(folder, {
		"trtgate.yml": quickConfig.replace(
			"    onnx: model.onnx",
			"    onnx: made2.onnx\n    prepare: echo no exporter here >&2; exit 4",
		),
	});
	const failed = await runCli(["run", "--out", "out"], { cwd: folder });
	expect(failed.exit).toBe(2);
	expect(failed.stderr + failed.stdout).toMatch(/no exporter here/);
	expect(failed.stderr + failed.stdout).toMatch(/prepare-failed/);
});

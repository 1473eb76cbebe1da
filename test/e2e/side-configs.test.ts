import { join } from "node:path";
import { expect, it } from "vitest";
import { git } from "../support/git-history.ts";
import {
	expectExit,
	untimedFiles as project,
	readResult,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";

const config = untimed();
const loose = config.replace(
	"gates: {",
	"gates: { golden: { relative-l2: 1000, error-growth: { fail: off } },",
);
const wrong = { "model.onnx": "fixture:wrong.onnx" };

type Files = Readonly<Record<string, string>>;

function repositoryOf(...commits: readonly Files[]): string {
	const folder = temporaryFolder();
	git(folder, "init", "-q");
	for (const files of commits) {
		writeProject(folder, files);
		git(folder, "add", "-A");
		git(folder, "commit", "-q", "--allow-empty", "-m", "Change");
	}
	return folder;
}

async function gate(cwd: string, ...argv: readonly string[]) {
	const run = await runCli(["run", "--out", "out", ...argv], { cwd });
	const result = () => readResult(join(cwd, "out"));
	return { run, result, notes: () => result().notes.join("\n") };
}

it("a config that --config names holds for both sides, and the report says so", async () => {
	const cwd = repositoryOf(project, { ...wrong, "loose.yml": loose });
	const own = await gate(cwd, "--base", "HEAD~1");
	expectExit(own.run, 1);
	expect(own.notes()).not.toContain("both sides");
	const named = await gate(cwd, "--base", "HEAD~1", "--config", "loose.yml");
	expectExit(named.run, 0);
	expect(named.notes()).toContain("loose.yml was used for both sides.");
	const { stdout, stderr } = named.run;
	expect((stdout + stderr).replace(/\s+/g, " ")).toContain("loose.yml was used for both sides.");
});

it("a config of the checkout that --config names is judged by the target branch's in a merge request", async () => {
	const cwd = repositoryOf(project);
	const base = git(cwd, "rev-parse", "HEAD");
	git(cwd, "branch", "target");
	writeProject(cwd, { ...wrong, "trtgate.yml": loose });
	git(cwd, "commit", "-qam", "Loosen");
	git(cwd, "remote", "add", "origin", cwd);
	const env = {
		GITLAB_CI: "true",
		CI_PIPELINE_SOURCE: "merge_request_event",
		CI_MERGE_REQUEST_IID: "7",
		CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "target",
		CI_MERGE_REQUEST_DIFF_BASE_SHA: base,
		CI_COMMIT_SHA: git(cwd, "rev-parse", "HEAD"),
	};
	const run = await runCli(["run", "--out", "out", "--config", "trtgate.yml"], { cwd, env });
	expectExit(run, 1);
	const { gates } = readResult(join(cwd, "out"));
	expect(gates.filter(({ status }) => status === "fail").map(({ gate }) => gate)).toContain("golden");
	expect(gates.some(({ gate }) => gate === "limit-change")).toBe(true);
});

it("a head that is a git ref is built by the config at that ref", async () => {
	const cwd = repositoryOf(project, {
		"trtgate.yml": config.replace("onnx: model.onnx", "onnx: other.onnx"),
		"other.onnx": "fixture:wrong.onnx",
	});
	git(cwd, "branch", "change");
	git(cwd, "checkout", "-q", "HEAD~1");
	const base = git(cwd, "rev-parse", "HEAD");
	const { run, result } = await gate(cwd, "--base", "HEAD", "--head", "change");
	expectExit(run, 1);
	expect(result().arms.base).toMatchObject({ commit: base });
	expect(git(cwd, "worktree", "list").split("\n")).toHaveLength(1);
	expect(result().golden.map(({ state }) => state)).toEqual(["mismatch", "mismatch"]);
	expect(result().golden[0]?.checks[0]?.base).toBeLessThan(1e-5);
	expect(result().recipeChanges).toMatchObject([
		{ rows: [{ what: "onnx", base: "model.onnx", head: "other.onnx" }] },
	]);
});

it("a first change, whose base has no config, uses the head's for both sides and says so", async () => {
	const { "trtgate.yml": _, ...models } = project;
	const cwd = repositoryOf(models, { "trtgate.yml": config });
	const { run, result, notes } = await gate(cwd, "--base", "HEAD~1");
	expectExit(run, 0);
	const commit = git(cwd, "rev-parse", "--short=7", "HEAD~1");
	expect(notes()).toContain(
		`The base has no trtgate.yml (looked for trtgate.yml in HEAD~1, commit ${commit}): the head's recipes and rules, of trtgate.yml, were used for both sides.`,
	);
	expect(result().builds.map(({ arm, state }) => [arm, state])).toEqual([
		["base", "built"],
		["head", "built"],
	]);
	expect(result().gates.filter(({ gate }) => gate === "limit-change" || gate === "coverage")).toEqual([]);
});

it("a base without a config is named by the path and the commit or folder in which it was looked for", async () => {
	const { "trtgate.yml": _, ...models } = project;
	const below = (files: Files) =>
		Object.fromEntries(Object.entries(files).map(([name, file]) => [`nets/${name}`, file]));
	const cwd = repositoryOf(below(models), below({ "trtgate.yml": config }));
	const commit = git(cwd, "rev-parse", "HEAD~1");
	const rest = "the head's recipes and rules, of nets/trtgate.yml, were used for both sides.";
	const atCommit = await gate(cwd, "--base", commit.slice(0, 7), "--head", "nets");
	expectExit(atCommit.run, 0);
	expect(atCommit.notes()).toContain(
		`(looked for nets/trtgate.yml in commit ${commit.slice(0, 7)}): ${rest}`,
	);
	writeProject(join(cwd, "old"), models);
	const inFolder = await gate(cwd, "--base", "old", "--head", "nets");
	expectExit(inFolder.run, 0);
	expect(inFolder.notes()).toContain(`(looked for trtgate.yml in the folder old): ${rest}`);
});

it("a base whose config cannot be read warns, with the fault", async () => {
	const cwd = repositoryOf(
		{ ...project, "trtgate.yml": "version: 1\nmodels: 7\n" },
		{ "trtgate.yml": config },
	);
	const { run, result } = await gate(cwd, "--base", "HEAD~1");
	expectExit(run, 0);
	expect(result().gates.filter(({ status }) => status !== "pass")).toMatchObject([
		{
			gate: "limit-change",
			status: "warn",
			message: expect.stringMatching(
				/The base's config cannot be read, so the head's .* used for both sides: .*models/,
			),
		},
	]);
});

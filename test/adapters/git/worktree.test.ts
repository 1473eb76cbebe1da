import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeFolder, openRef } from "../../../src/adapters/git/worktree.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { commitAll, git, gitProcesses, worktrees } from "../../support/git-history.ts";
import { expectFault, temporaryFolder, writeProject, writeScript } from "../../support/project.ts";

const root = temporaryFolder(afterAll);
const repository = join(root, "a repo");
const processes = gitProcesses();
const commits: string[] = [];
const open = (ref: string, to = "never", more: Partial<Parameters<typeof openRef>[0]> = {}) =>
	openRef({ repository, ref, folder: join(root, to), processes, ...more });

beforeAll(() => {
	mkdirSync(repository);
	git(repository, "init", "-q", "-b", "main");
	for (const text of ["one", "two"]) {
		writeProject(repository, { "deep/model.txt": text });
		commits.push(commitAll(repository));
	}
	git(repository, "tag", "v1", commits[0] ?? "");
	git(repository, "branch", "feature/x", commits[0] ?? "");
	writeScript(join(repository, ".git/hooks/post-checkout"), `echo ran > "${root}/hook-ran"`);
});

it.each(["v1", "feature/x", "HEAD~1", "main^"])("openRef checks %s out and removes it again", async (ref) => {
	const folder = join(root, "out", "base");
	const tree = await open(ref, "out/base");
	expect(tree).toMatchObject({ path: folder, commit: commits[0] });
	expect(readFileSync(join(folder, "deep/model.txt"), "utf8")).toBe("one");
	expect(existsSync(join(root, "hook-ran"))).toBe(false);
	await tree.remove();
	expect(existsSync(folder)).toBe(false);
	expect(worktrees(repository)).toHaveLength(1);
});

it("openRef leads to the same folder as the one it was asked from", async () => {
	const tree = await open("v1", "same", { repository: join(repository, "deep") });
	expect(readFileSync(join(tree.path, "model.txt"), "utf8")).toBe("one");
	await tree.remove();
});

it("openRef replaces the leftovers of an interrupted run", async () => {
	await open("v1", "left");
	const again = await open("main", "left");
	expect(again.commit).toBe(commits[1]);
	await again.remove();
});

it("openRef tidies up even after the run was cancelled", async () => {
	const stopped = gitProcesses();
	const tree = await open("v1", "stopped", { processes: stopped });
	await stopped.killAll();
	await tree.remove();
	expect(existsSync(join(root, "stopped"))).toBe(false);
	expect(worktrees(repository)).toHaveLength(1);
});

it.each(["--upload-pack=touch x", "-h", "", "no space", "a\nb"])(
	"openRef refuses the name %j without asking git",
	async (ref) => {
		await expectFault(open(ref), "git-ref", "not a name that git allows");
	},
);

it("openRef explains how to get a missing ref", async () => {
	const missing = /^Cannot find "v2": the repository does not contain it\.$/;
	await expectFault(open("v2"), "git-ref", missing, "fetch-depth: 0");
	await expectFault(open("v2"), "git-ref", missing, "`git fetch origin v2`");
	for (const ref of ["main~99", "../no/folder", "/no/folder"])
		await expectFault(open(ref), "git-ref", "does not contain it", /existing folder, branch.*`git fetch`/);
	const outside = open("v1", "never", { repository: tmpdir() });
	await expectFault(outside, "git-ref", "is neither a folder nor in a git repository");
});

it("openRef recognises a shallow clone, and lists the remote's branches", async () => {
	const clone = join(root, "clone");
	git(root, "clone", "-q", "--depth", "1", "--no-single-branch", `file://${repository}`, clone);
	const tree = await open("feature/x", "remote", { repository: clone });
	expect(tree.commit).toBe(commits[0]);
	await tree.remove();
	await expectFault(
		open("main~1", "never", { repository: clone }),
		"git-ref",
		"this clone is shallow",
		"`git fetch --unshallow`",
	);
});

it("openRef reports that git is missing", async () => {
	const bare = createProcesses({ env: { PATH: "/nowhere" } });
	await expectFault(open("v1", "never", { processes: bare }), "tool-missing");
	expect(await describeFolder(repository, bare)).toBeNull();
});

it("describeFolder reports the commit and whether files were changed, and nothing without git", async () => {
	const commit = commits[1];
	expect(await describeFolder(join(repository, "deep"), processes)).toEqual({ commit, dirty: false });
	writeProject(repository, { "deep/model.txt": "three" });
	expect(await describeFolder(repository, processes)).toEqual({ commit, dirty: true });
	expect(await describeFolder(tmpdir(), processes)).toBeNull();
});

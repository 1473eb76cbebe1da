import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeFolder, openRef } from "../../../src/adapters/git/worktree.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { childEnvironment } from "../../../src/host/adapters/github/env.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "trtgate-git-")));
const repository = join(root, "a repo");
const processes = createProcesses({ env: childEnvironment() });
const commits: string[] = [];
const settings = [
	"-c",
	"user.name=t",
	"-c",
	"user.email=t@t",
	"-c",
	"commit.gpgsign=false",
	"-c",
	"init.defaultBranch=main",
];
const git = (cwd: string, ...args: string[]): string =>
	execFileSync("git", [...settings, ...args], { cwd, encoding: "utf8" }).trim();

beforeAll(() => {
	mkdirSync(join(repository, "deep"), { recursive: true });
	git(repository, "init", "-q");
	for (const text of ["one", "two"]) {
		writeFileSync(join(repository, "deep", "model.txt"), text);
		git(repository, "add", ".");
		git(repository, "commit", "-q", "-m", text);
		commits.push(git(repository, "rev-parse", "HEAD"));
	}
	git(repository, "tag", "v1", commits[0] ?? "");
	git(repository, "branch", "feature/x", commits[0] ?? "");
	writeFileSync(join(repository, ".git/hooks/post-checkout"), `#!/bin/sh\necho ran > "${root}/hook-ran"\n`, {
		mode: 0o755,
	});
});
afterAll(() => rmSync(root, { recursive: true }));

it.each(["v1", "feature/x", "HEAD~1", "main^"])("openRef checks %s out and removes it again", async (ref) => {
	const folder = join(root, "out", "base");
	const tree = await openRef({ repository, ref, folder, processes });
	expect(tree).toMatchObject({ path: `${folder}/`.replace(/\/$/, ""), commit: commits[0] });
	expect(readFileSync(join(folder, "deep/model.txt"), "utf8")).toBe("one");
	expect(existsSync(join(root, "hook-ran"))).toBe(false);
	await tree.remove();
	expect(existsSync(folder)).toBe(false);
	expect(git(repository, "worktree", "list").split("\n")).toHaveLength(1);
});

it("openRef leads to the same folder as the one it was asked from", async () => {
	const tree = await openRef({
		repository: join(repository, "deep"),
		ref: "v1",
		folder: join(root, "same"),
		processes,
	});
	expect(readFileSync(join(tree.path, "model.txt"), "utf8")).toBe("one");
	await tree.remove();
});

it("openRef replaces the leftovers of an interrupted run", async () => {
	const folder = join(root, "left");
	await openRef({ repository, ref: "v1", folder, processes });
	const again = await openRef({ repository, ref: "main", folder, processes });
	expect(again.commit).toBe(commits[1]);
	await again.remove();
});

it("openRef tidies up even after the run was cancelled", async () => {
	const stopped = createProcesses({ env: childEnvironment() });
	const folder = join(root, "stopped");
	const tree = await openRef({ repository, ref: "v1", folder, processes: stopped });
	await stopped.killAll();
	await tree.remove();
	expect(existsSync(folder)).toBe(false);
	expect(git(repository, "worktree", "list").split("\n")).toHaveLength(1);
});

it.each(["--upload-pack=touch x", "-h", "", "no space", "a\nb"])(
	"openRef refuses the name %j without asking git",
	async (ref) => {
		const run = openRef({ repository, ref, folder: join(root, "never"), processes });
		await expect(run).rejects.toMatchObject({ code: "git-ref" });
	},
);

it("openRef explains how to get a missing ref", async () => {
	const run = openRef({ repository, ref: "v2", folder: join(root, "never"), processes });
	await expect(run).rejects.toMatchObject({
		code: "git-ref",
		message: 'Cannot find "v2": the repository does not contain it.',
		fix: expect.stringContaining("fetch-depth: 0"),
	});
});

it("openRef recognises a shallow clone, and lists the remote's branches", async () => {
	const clone = join(root, "clone");
	git(root, "clone", "-q", "--depth", "1", "--no-single-branch", `file://${repository}`, clone);
	const tree = await openRef({
		repository: clone,
		ref: "feature/x",
		folder: join(root, "remote"),
		processes,
	});
	expect(tree.commit).toBe(commits[0]);
	await tree.remove();
	await expect(
		openRef({ repository: clone, ref: "main~1", folder: join(root, "never"), processes }),
	).rejects.toMatchObject({ message: expect.stringContaining("this clone is shallow") });
});

it("openRef distinguishes a folder outside any repository from a missing ref", async () => {
	await expect(
		openRef({ repository: tmpdir(), ref: "v1", folder: join(root, "never"), processes }),
	).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringContaining("is neither a folder nor in a git repository"),
	});
});

it("openRef reports that git is missing", async () => {
	const bare = createProcesses({ env: { PATH: "/nowhere" } });
	await expect(
		openRef({ repository, ref: "v1", folder: join(root, "never"), processes: bare }),
	).rejects.toMatchObject({ code: "tool-missing" });
	expect(await describeFolder(repository, bare)).toBeNull();
});

it("describeFolder reports the commit and whether files were changed", async () => {
	expect(await describeFolder(join(repository, "deep"), processes)).toEqual({
		commit: commits[1],
		dirty: false,
	});
	writeFileSync(join(repository, "deep", "model.txt"), "three");
	expect(await describeFolder(repository, processes)).toEqual({ commit: commits[1], dirty: true });
});

it("describeFolder finds no commit in a folder without git", async () => {
	expect(await describeFolder(tmpdir(), processes)).toBeNull();
});

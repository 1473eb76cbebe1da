// Both sides as folders: checked out beside the workspace, and gone afterwards.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { removeLeftWorktrees } from "../../../src/adapters/git/worktree.ts";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import { push, schedule, workflowDispatch } from "../../support/event-payloads.ts";
import { git, gitProcesses } from "../../support/git-history.ts";
import { configOf, modelsOf, open, openPull, read, texts } from "../../support/opened-arms.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";
import { makeRepository, pullEvent, workspaceOf } from "../../support/pull-repository.ts";

const zeros = "0".repeat(40);

it("both sides of a pull request are the workspace and a worktree of the merge base, in a shallow clone", async () => {
	const { repo, workspace, opened } = await openPull(texts);
	expect(opened.folders.map(({ source }) => source)).toEqual([
		{ label: "main", ref: "main", commit: repo.base, found: expect.stringContaining("merge commit") },
		{ label: "#7", ref: "refs/pull/7/merge", commit: repo.merge },
	]);
	expect(modelsOf(opened)).toEqual(["base model", "head model"]);
	expect(opened.folders[1]?.path).toBe(workspace);
	await opened.close();
	expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
	expect(existsSync(join(workspace, "out", "worktrees", "base"))).toBe(false);
	expect(git(workspace, "status", "--porcelain", "--untracked-files=no")).toBe("");
});

it("both sides are read from the config's folder in their commits", async () => {
	const repo = makeRepository({
		base: { "deep/model.onnx": "base model" },
		head: { "deep/model.onnx": "head model" },
	});
	const workspace = workspaceOf(repo);
	const opened = await open(workspace, { home: join(workspace, "deep"), event: pullEvent(repo) });
	expect(modelsOf(opened)).toEqual(["base model", "head model"]);
	expect(opened.folders[1]?.source).toMatchObject({ commit: repo.merge });
	await opened.close();
});

it("both sides name no commit for a workspace that a step has changed", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo);
	writeFileSync(join(workspace, "model.onnx"), "made by a step");
	const opened = await open(workspace, { event: pullEvent(repo) });
	expect(opened.folders[1]?.source).toEqual({
		label: "#7",
		ref: "refs/pull/7/merge",
		found: expect.stringMatching(/^The workspace as it is: \w{7} with changes/),
	});
	expect(read(opened, "head", "model.onnx")).toBe("made by a step");
	await opened.close();
});

it("both sides are those that the user names, whatever the event says", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo);
	const opened = await open(workspace, { base: repo.head, head: repo.base, event: pullEvent(repo) });
	expect(opened.folders.map(({ source }) => source.commit)).toEqual([repo.head, repo.base]);
	expect(modelsOf(opened)).toEqual(["head model", "base model"]);
	await opened.close();
	expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
});

it("both sides are the head's own files if two TensorRTs are compared, and no change is under review", async () => {
	const config = configOf("base: { trtexec: /opt/trt/bin/trtexec }");
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo);
	for (const event of [
		{},
		{
			event: parseRunEvent("workflow_dispatch", workflowDispatch, {
				sha: repo.merge,
				ref: "refs/heads/main",
			}),
		},
	]) {
		const opened = await open(workspace, { config, ...event });
		expect(opened.folders.map(({ arm, path }) => [arm, path])).toEqual([
			["base", workspace],
			["head", workspace],
		]);
	}
	const reviewed = await open(workspace, { config, event: pullEvent(repo) });
	expect(read(reviewed, "base", "model.onnx")).toBe("base model");
	await reviewed.close();
});

it("both sides are found for a head that the user names", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo, repo.base);
	const opened = await open(workspace, { head: "refs/heads/feature", event: pullEvent(repo) });
	expect(opened.folders.map(({ source }) => source.label)).toEqual(["main", "refs/heads/feature"]);
	await opened.close();
});

it("both sides are fetched by the name that the user gives, in a workflow", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo);
	const opened = await open(workspace, { base: "main", event: pullEvent(repo) });
	expect(opened.folders[0]?.source).toEqual({ label: "main", ref: "main", commit: repo.base });
	await opened.close();
	await expect(open(workspace, { base: "main" })).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringContaining("shallow"),
	});
});

it("there is only a head, with the reason, if there is no earlier release", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo, repo.base);
	const event = parseRunEvent("schedule", schedule(), { sha: repo.base, ref: "refs/heads/main" });
	const opened = await open(workspace, { event });
	expect(opened).toMatchObject({
		folders: [{ arm: "head", source: { label: "main", commit: repo.base } }],
		noBase: expect.stringMatching(/^no release/),
	});
	await opened.close();
});

it("a base in a workflow without git or a git repository is an error, since one may exist", async () => {
	const folder = writeProject(temporaryFolder(), { "model.onnx": "x" });
	const event = parseRunEvent("workflow_dispatch", workflowDispatch("refs/heads/main"), {
		sha: "a".repeat(40),
		ref: "refs/heads/main",
	});
	await expect(open(folder, { event })).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringContaining("not a git repository"),
	});
	await expect(open(folder, { event }, { PATH: folder })).rejects.toMatchObject({
		code: "tool-missing",
		fix: expect.stringContaining("Install git"),
	});
	git(folder, "init", "--quiet");
	expect(await open(folder, { event })).toMatchObject({
		folders: [{ arm: "head" }],
		noBase: expect.stringContaining("no commit"),
	});
});

it("both sides stay as they were on the command line", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo);
	expect(await open(workspace)).toMatchObject({
		folders: [{ arm: "head", source: { commit: repo.merge } }],
		noBase: "no base was given",
	});
});

it("both sides are compared on the command line with what the config pins, or with the last release, from what the clone has", async () => {
	const folder = writeProject(temporaryFolder(), { "model.onnx": "released" });
	git(folder, "init", "--quiet");
	const commit = (): string => {
		git(folder, "add", "--all");
		git(folder, "commit", "--quiet", "--message", "State");
		return git(folder, "rev-parse", "HEAD");
	};
	const released = commit();
	git(folder, "tag", "v1.0.0");
	writeProject(folder, { "model.onnx": "merged" });
	const merged = commit();
	writeProject(folder, { "model.onnx": "not committed" });
	const pinned = await open(folder, { config: configOf("baseline: { from: pinned, ref: HEAD }\n") });
	expect(pinned.folders[0]?.source).toMatchObject({
		label: "HEAD",
		commit: merged,
		found: expect.stringContaining("baseline.ref"),
	});
	expect([read(pinned, "base", "model.onnx"), read(pinned, "head", "model.onnx")]).toEqual([
		"merged",
		"not committed",
	]);
	await pinned.close();
	const tag = await open(folder, { config: configOf("baseline: { from: tag }\n") });
	expect(tag.folders[0]?.source).toMatchObject({
		label: "v1.0.0",
		commit: released,
		found: expect.stringContaining("last release"),
	});
	await tag.close();
	const nowhere = open(folder, { config: configOf("baseline: { from: pinned, ref: v9 }\n") });
	await expect(nowhere).rejects.toMatchObject({ code: "git-ref", message: expect.stringContaining('"v9"') });
});

it("both sides leave nothing behind if the second cannot be opened", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo);
	await expect(
		open(workspace, { head: repo.merge, base: "nowhere", event: pullEvent(repo) }),
	).rejects.toMatchObject({ code: "git-ref" });
	expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
});

it("both sides that a killed run left are removed by the post step, from the repository too", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo);
	await open(workspace, { head: repo.merge, event: pullEvent(repo) });
	git(workspace, "worktree", "lock", join(workspace, "out", "worktrees", "base"));
	expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(3);
	writeProject(join(workspace, "out", "worktrees"), {
		"odd/.git": "gitdir: /nowhere/worktrees/odd\n",
		unused: "file",
	});
	await removeLeftWorktrees(join(workspace, "out", "worktrees"), gitProcesses());
	expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
	expect(existsSync(join(workspace, "out", "worktrees"))).toBe(false);
	await removeLeftWorktrees(join(workspace, "out", "worktrees"), gitProcesses());
});

it("both sides run no hook, no filter and no submodule of the repository", async () => {
	const repo = makeRepository({
		base: { ...texts.base, ".gitattributes": "*.onnx filter=evil\n" },
		head: texts.head,
	});
	const workspace = workspaceOf(repo);
	const mark = join(repo.root, "ran");
	writeFileSync(join(workspace, ".git/hooks/post-checkout"), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
	const opened = await open(workspace, { event: pullEvent(repo) });
	expect(existsSync(mark)).toBe(false);
	await opened.close();
});

it("both sides are found after a push, by its commit before", async () => {
	const repo = makeRepository(texts);
	const workspace = workspaceOf(repo, repo.base);
	const parent = git(repo.origin, "rev-parse", `${repo.base}^`);
	const event = parseRunEvent("push", push("refs/heads/main", parent, repo.base), {
		sha: repo.base,
		ref: "refs/heads/main",
	});
	const opened = await open(workspace, { event });
	expect(opened.folders[0]?.source).toMatchObject({
		commit: parent,
		found: expect.stringContaining("main before this push"),
	});
	await opened.close();
	const first = parseRunEvent("push", push("refs/heads/main", zeros, repo.base), {
		sha: repo.base,
		ref: "refs/heads/main",
	});
	const again = await open(workspace, { event: first });
	expect(again.folders[0]?.source).toMatchObject({
		commit: parent,
		found: expect.stringContaining("main is new"),
	});
	await again.close();
});

const configText = (rest = ""): string => `version: 1\nmodels:\n  net: { onnx: model.onnx }\n${rest}`;
const withConfig = (base: string, head: string) =>
	makeRepository({
		base: { ...texts.base, "trtgate.yml": base },
		head: { ...texts.head, "trtgate.yml": head },
	});

it("both sides have their own configs, and the target branch's is the one whose rules hold", async () => {
	const repo = withConfig(
		configText("gates: { memory: { fail: 1% } }\n"),
		configText("gates: { memory: { fail: off } }\n"),
	);
	const opened = await open(workspaceOf(repo), { event: pullEvent(repo) });
	for (const side of [opened.baseConfig, opened.rules])
		expect(side).toMatchObject({ state: "read", config: { gates: { memory: { fail: 0.01 } } } });
	await opened.close();
});

it("both sides are opened if the base has no config, or one that cannot be read", async () => {
	const none = makeRepository(texts);
	const opened = await open(workspaceOf(none), { event: pullEvent(none) });
	expect([opened.baseConfig, opened.rules]).toEqual([{ state: "absent" }, { state: "absent" }]);
	await opened.close();
	const broken = withConfig("version: 1\nmodels: none\n", configText());
	const other = await open(workspaceOf(broken), { event: pullEvent(broken) });
	for (const side of [other.baseConfig, other.rules])
		expect(side).toMatchObject({ state: "broken", why: expect.stringContaining("models") });
	await other.close();
});

it("the base of a pull request is chosen by the target branch's config, never by the head's", async () => {
	const repo = withConfig(configText(), configText());
	const workspace = workspaceOf(repo);
	for (const ref of [repo.head, "refs/heads/nowhere"]) {
		const config = configOf(`baseline: { from: pinned, ref: ${ref} }\n`);
		const opened = await open(workspace, { config, event: pullEvent(repo) });
		expect(opened.folders[0]?.source.commit).toBe(repo.base);
		await opened.close();
	}
});

it("the base of a pull request is what the target branch pins, if that is part of the branch", async () => {
	const repo = withConfig(configText("baseline: { from: pinned, ref: old }\n"), configText());
	const first = git(repo.origin, "rev-parse", `${repo.base}^`);
	git(repo.origin, "tag", "old", first);
	const opened = await open(workspaceOf(repo), { event: pullEvent(repo) });
	expect(opened.folders[0]?.source).toMatchObject({ label: "old", commit: first });
	expect(opened.rules).toMatchObject({ state: "read", config: { baseline: { from: "pinned" } } });
	expect(opened.baseConfig).toEqual({ state: "absent" });
	await opened.close();
});

it("the base of a pull request falls back to the target branch, with a note, if no release is there yet", async () => {
	const repo = withConfig(configText("baseline: { from: tag }\n"), configText());
	const opened = await open(workspaceOf(repo), { event: pullEvent(repo) });
	expect(opened.folders[0]?.source.commit).toBe(repo.base);
	expect(opened.notes).toEqual([
		expect.stringMatching(/^baseline\.from is tag, but no release .*: the base is main instead\.$/),
	]);
	await opened.close();
});

it("the base of a pull request is refused if the target branch pins a commit of the change", async () => {
	const repo = withConfig(configText("baseline: { from: pinned, ref: feature }\n"), configText());
	await expect(open(workspaceOf(repo), { event: pullEvent(repo) })).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringMatching(/is not part of main, the branch that this change goes to/),
	});
});

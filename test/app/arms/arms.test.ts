import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeLeftWorktrees } from "../../../src/adapters/git/worktree.ts";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import { schedule, workflowDispatch } from "../../support/event-payloads.ts";
import { git, gitProcesses } from "../../support/git-history.ts";
import { configOf, modelsOf, open, read, texts } from "../../support/opened-arms.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";
import {
	makeRepository,
	type PullRepository,
	pullEvent,
	workspaceOf,
} from "../../support/pull-repository.ts";

let repo: PullRepository;
beforeAll(() => {
	repo = makeRepository(texts, afterAll);
});

const openPull = (of = repo) => open(workspaceOf(of), { event: pullEvent(of) });
const worktrees = (workspace: string) => git(workspace, "worktree", "list").split("\n").length;
const eventOn = (name: string, payload: unknown, sha: string) =>
	parseRunEvent(name, payload, { sha, ref: "refs/heads/main" });

it("both sides of a pull request are the workspace and a worktree of the merge base, in a shallow clone", async () => {
	const workspace = workspaceOf(repo);
	const opened = await open(workspace, { event: pullEvent(repo) });
	expect(opened.folders.map(({ source }) => source)).toEqual([
		{ label: "main", ref: "main", commit: repo.base, found: expect.stringContaining("merge commit") },
		{ label: "#7", ref: "refs/pull/7/merge", commit: repo.merge },
	]);
	expect(modelsOf(opened)).toEqual(["base model", "head model"]);
	expect(opened.folders[1]?.path).toBe(workspace);
	await opened.close();
	expect(worktrees(workspace)).toBe(1);
	expect(existsSync(join(workspace, "out", "worktrees", "base"))).toBe(false);
	expect(git(workspace, "status", "--porcelain", "--untracked-files=no")).toBe("");
});

it("both sides are read from the config's folder in their commits", async () => {
	const deep = (text: string) => ({ "deep/model.onnx": text });
	const of = makeRepository({ base: deep("base model"), head: deep("head model") });
	const workspace = workspaceOf(of);
	const opened = await open(workspace, { home: join(workspace, "deep"), event: pullEvent(of) });
	expect(modelsOf(opened)).toEqual(["base model", "head model"]);
	expect(opened.folders[1]?.source).toMatchObject({ commit: of.merge });
});

it("both sides name no commit for a workspace that a step has changed", async () => {
	const workspace = workspaceOf(repo);
	writeFileSync(join(workspace, "model.onnx"), "made by a step");
	const opened = await open(workspace, { event: pullEvent(repo) });
	expect(opened.folders[1]?.source).toEqual({
		label: "#7",
		ref: "refs/pull/7/merge",
		found: expect.stringMatching(/^The workspace as it is: \w{7} with changes/),
	});
	expect(read(opened, "head", "model.onnx")).toBe("made by a step");
});

it("both sides are those that the user names, whatever the event says", async () => {
	const workspace = workspaceOf(repo);
	const opened = await open(workspace, { base: repo.head, head: repo.base, event: pullEvent(repo) });
	expect(opened.folders.map(({ source }) => source.commit)).toEqual([repo.head, repo.base]);
	expect(modelsOf(opened)).toEqual(["head model", "base model"]);
	await opened.close();
	expect(worktrees(workspace)).toBe(1);
});

it("both sides are the head's own files if two TensorRTs are compared, and no change is under review", async () => {
	const config = configOf("base: { trtexec: /opt/trt/bin/trtexec }");
	const workspace = workspaceOf(repo);
	for (const of of [{}, { event: eventOn("workflow_dispatch", workflowDispatch, repo.merge) }]) {
		const { folders } = await open(workspace, { config, ...of });
		expect(folders).toMatchObject([
			{ arm: "base", path: workspace },
			{ arm: "head", path: workspace },
		]);
	}
	const reviewed = await open(workspace, { config, event: pullEvent(repo) });
	expect(read(reviewed, "base", "model.onnx")).toBe("base model");
});

it("both sides are found for a head that the user names", async () => {
	const workspace = workspaceOf(repo, repo.base);
	const opened = await open(workspace, { head: "refs/heads/feature", event: pullEvent(repo) });
	expect(opened.folders.map(({ source }) => source.label)).toEqual(["main", "refs/heads/feature"]);
});

it("both sides are fetched by the name that the user gives, in a workflow", async () => {
	const workspace = workspaceOf(repo);
	const opened = await open(workspace, { base: "main", event: pullEvent(repo) });
	expect(opened.folders[0]?.source).toEqual({ label: "main", ref: "main", commit: repo.base });
	await opened.close();
	await expect(open(workspace, { base: "main" })).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringContaining("shallow"),
	});
});

it("a base in a workflow without git or a git repository is an error, since one may exist", async () => {
	const folder = writeProject(temporaryFolder(), { "model.onnx": "x" });
	const event = eventOn("workflow_dispatch", workflowDispatch("refs/heads/main"), "a".repeat(40));
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

it("there is only a head, with the reason, on the command line and before the first release", async () => {
	const workspace = workspaceOf(repo, repo.base);
	const folders = [{ arm: "head", source: { commit: repo.base } }];
	expect(await open(workspace)).toMatchObject({ folders, noBase: "no base was given" });
	expect(await open(workspace, { event: eventOn("schedule", schedule(), repo.base) })).toMatchObject({
		folders: [{ arm: "head", source: { label: "main" } }],
		noBase: expect.stringMatching(/^no release/),
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
	const tag = await open(folder, { config: configOf("baseline: { from: tag }\n") });
	expect(tag.folders[0]?.source).toMatchObject({
		label: "v1.0.0",
		commit: released,
		found: expect.stringContaining("last release"),
	});
	const nowhere = open(folder, { config: configOf("baseline: { from: pinned, ref: v9 }\n") });
	await expect(nowhere).rejects.toMatchObject({ code: "git-ref", message: expect.stringContaining('"v9"') });
});

it("both sides leave nothing behind if the second cannot be opened", async () => {
	const workspace = workspaceOf(repo);
	await expect(
		open(workspace, { head: repo.merge, base: "nowhere", event: pullEvent(repo) }),
	).rejects.toMatchObject({ code: "git-ref" });
	expect(worktrees(workspace)).toBe(1);
});

it("both sides that a killed run left are removed by the post step, from the repository too", async () => {
	const workspace = workspaceOf(repo);
	await open(workspace, { head: repo.merge, event: pullEvent(repo) });
	git(workspace, "worktree", "lock", join(workspace, "out", "worktrees", "base"));
	expect(worktrees(workspace)).toBe(3);
	writeProject(join(workspace, "out", "worktrees"), {
		"odd/.git": "gitdir: /nowhere/worktrees/odd\n",
		unused: "file",
	});
	await removeLeftWorktrees(join(workspace, "out", "worktrees"), gitProcesses());
	expect(worktrees(workspace)).toBe(1);
	expect(existsSync(join(workspace, "out", "worktrees"))).toBe(false);
	await removeLeftWorktrees(join(workspace, "out", "worktrees"), gitProcesses());
});

it("both sides run no hook, no filter and no submodule of the repository", async () => {
	const evil = { ".gitattributes": "*.onnx filter=evil\n" };
	const of = makeRepository({ base: { ...texts.base, ...evil }, head: texts.head });
	const workspace = workspaceOf(of);
	const mark = join(of.root, "ran");
	writeFileSync(join(workspace, ".git/hooks/post-checkout"), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
	await open(workspace, { event: pullEvent(of) });
	expect(existsSync(mark)).toBe(false);
});

const configText = (rest = ""): string => `version: 1\nmodels:\n  net: { onnx: model.onnx }\n${rest}`;
const withConfig = (base: string, head = configText()) =>
	makeRepository({
		base: { ...texts.base, "trtgate.yml": base },
		head: { ...texts.head, "trtgate.yml": head },
	});
const pinning = (ref: string) => `baseline: { from: pinned, ref: ${ref} }\n`;

it("both sides have their own configs, and the target branch's is the one whose rules hold", async () => {
	const limit = (fail: string) => configText(`gates: { memory: { fail: ${fail} } }\n`);
	const { baseConfig, rules } = await openPull(withConfig(limit("1%"), limit("off")));
	for (const side of [baseConfig, rules])
		expect(side).toMatchObject({ state: "read", config: { gates: { memory: { fail: 0.01 } } } });
});

it("both sides are opened if the base has no config, or one that cannot be read", async () => {
	const opened = await openPull();
	expect([opened.baseConfig, opened.rules]).toEqual([{ state: "absent" }, { state: "absent" }]);
	const { baseConfig, rules } = await openPull(withConfig("version: 1\nmodels: none\n"));
	for (const side of [baseConfig, rules])
		expect(side).toMatchObject({ state: "broken", why: expect.stringContaining("models") });
});

it("the base of a pull request is chosen by the target branch's config, never by the head's", async () => {
	const of = withConfig(configText());
	const workspace = workspaceOf(of);
	for (const ref of [of.head, "refs/heads/nowhere"]) {
		const opened = await open(workspace, { config: configOf(pinning(ref)), event: pullEvent(of) });
		expect(opened.folders[0]?.source.commit).toBe(of.base);
		await opened.close();
	}
});

it("the base of a pull request is what the target branch pins, if that is part of the branch", async () => {
	const of = withConfig(configText(pinning("old")));
	const first = git(of.origin, "rev-parse", `${of.base}^`);
	git(of.origin, "tag", "old", first);
	const opened = await openPull(of);
	expect(opened.folders[0]?.source).toMatchObject({ label: "old", commit: first });
	expect(opened.rules).toMatchObject({ state: "read", config: { baseline: { from: "pinned" } } });
	expect(opened.baseConfig).toEqual({ state: "absent" });
	await expect(openPull(withConfig(configText(pinning("feature"))))).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringMatching(/is not part of main, the branch that this change goes to/),
	});
});

it("the base of a pull request falls back to the target branch, with a note, if no release is there yet", async () => {
	const of = withConfig(configText("baseline: { from: tag }\n"));
	const { folders, notes } = await openPull(of);
	expect(folders[0]?.source.commit).toBe(of.base);
	expect(notes).toEqual([
		expect.stringMatching(/^baseline\.from is tag, but no release .*: the base is main instead\.$/),
	]);
});

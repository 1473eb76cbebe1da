import { existsSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeLeftWorktrees } from "../../../src/adapters/git/worktree.ts";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import { schedule, workflowDispatch } from "../../support/event-payloads.ts";
import { commitAll, git, gitProcesses, worktrees } from "../../support/git-history.ts";
import { configOf, modelsOf, open, read, texts } from "../../support/opened-arms.ts";
import {
	expectFault,
	folderWith,
	temporaryFolder,
	writeProject,
	writeScript,
} from "../../support/project.ts";
import { makeRepository, pullEvent, workspaceOf } from "../../support/pull-repository.ts";

let repo: ReturnType<typeof makeRepository>;
beforeAll(() => {
	repo = makeRepository(texts, afterAll);
});

async function openPull(of = repo, request: Parameters<typeof open>[1] = {}) {
	const workspace = workspaceOf(of);
	return { workspace, ...(await open(workspace, { event: pullEvent(of), ...request })) };
}
const eventOn = (name: string, payload: unknown, sha: string) =>
	parseRunEvent(name, payload, { sha, ref: "refs/heads/main" });

it("both sides of a pull request are the workspace and a worktree of the merge base, in a shallow clone", async () => {
	const { workspace, ...opened } = await openPull();
	expect(opened.folders.map(({ source }) => source)).toEqual([
		{ label: "main", ref: "main", commit: repo.base, found: expect.stringContaining("merge commit") },
		{ label: "#7", ref: "refs/pull/7/merge", commit: repo.merge },
	]);
	expect(modelsOf(opened)).toEqual(["base model", "head model"]);
	expect(opened.folders[1]?.path).toBe(workspace);
	await opened.close();
	expect(worktrees(workspace)).toHaveLength(1);
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
	const { workspace, ...opened } = await openPull(repo, { base: repo.head, head: repo.base });
	expect(opened.folders.map(({ source }) => source.commit)).toEqual([repo.head, repo.base]);
	expect(modelsOf(opened)).toEqual(["head model", "base model"]);
	await opened.close();
	expect(worktrees(workspace)).toHaveLength(1);
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

it.each(["HEAD", "."])(
	"a change under review is not compared with itself, as by the base %s",
	async (base) => {
		await expectFault(openPull(repo, { base }), "git-ref", "nothing to be compared with", /the input `base`/);
		const config = configOf("base: { trtexec: /opt/trt/bin/trtexec }");
		for (const other of [{ config }, { event: eventOn("workflow_dispatch", workflowDispatch, repo.merge) }])
			expect((await openPull(repo, { base, ...other })).folders).toHaveLength(2);
		const workspace = workspaceOf(repo);
		writeFileSync(join(workspace, "model.onnx"), "made by a step");
		const changed = await open(workspace, { base, event: pullEvent(repo) });
		expect(changed.folders).toHaveLength(2);
	},
);

it("a base is no folder that merely has the name of a branch", async () => {
	const workspace = workspaceOf(repo);
	writeProject(workspace, { "release/notes.md": "1.0" });
	for (const event of [pullEvent(repo), undefined])
		await expectFault(
			open(workspace, { base: "release", event }),
			"git-ref",
			"The base release is a folder",
			/refs\/heads/,
		);
	writeProject(workspace, { "release/model.onnx": "earlier" });
	expect(modelsOf(await open(workspace, { base: "release" }))).toEqual(["earlier", "head model"]);
});

it("both sides are fetched by the name that the user gives, in a workflow", async () => {
	const { workspace, ...opened } = await openPull(repo, { base: "main" });
	expect(opened.folders[0]?.source).toEqual({ label: "main", ref: "main", commit: repo.base });
	await opened.close();
	await expectFault(open(workspace, { base: "main" }), "git-ref", "shallow");
});

it("a base in a workflow without git or a git repository is an error, since one may exist", async () => {
	const folder = folderWith({ "model.onnx": "x" });
	const event = eventOn("workflow_dispatch", workflowDispatch("refs/heads/main"), "a".repeat(40));
	await expectFault(open(folder, { event }), "git-ref", "the workspace is not a git repository");
	const elsewhere = open(workspaceOf(repo), { head: folder, event });
	await expectFault(elsewhere, "git-ref", `the head ${folder} is not a git repository`);
	await expectFault(open(folder, { event }, { PATH: folder }), "tool-missing", "", "Install git");
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
	const folder = folderWith({ "model.onnx": "released" });
	git(folder, "init", "--quiet");
	const released = commitAll(folder);
	git(folder, "tag", "v1.0.0");
	const merged = commitAll(writeProject(folder, { "model.onnx": "merged" }));
	writeProject(folder, { "model.onnx": "not committed" });
	const pinned = await open(folder, { config: configOf("baseline: { from: pinned, ref: HEAD }\n") });
	const found = (words: string) => expect.stringContaining(words);
	const head = { label: "HEAD", commit: merged, found: found("baseline.ref") };
	expect(pinned.folders[0]?.source).toMatchObject(head);
	expect(modelsOf(pinned)).toEqual(["merged", "not committed"]);
	const tag = await open(folder, { config: configOf("baseline: { from: tag }\n") });
	const tagged = { label: "v1.0.0", commit: released, found: found("last release") };
	expect(tag.folders[0]?.source).toMatchObject(tagged);
	const nowhere = open(folder, { config: configOf("baseline: { from: pinned, ref: v9 }\n") });
	await expectFault(nowhere, "git-ref", '"v9"');
});

it("both sides leave nothing behind if the second cannot be opened", async () => {
	const workspace = workspaceOf(repo);
	await expectFault(
		open(workspace, { head: repo.merge, base: "nowhere", event: pullEvent(repo) }),
		"git-ref",
	);
	expect(worktrees(workspace)).toHaveLength(1);
});

it("both sides that a killed run left are removed by the post step, from the repository too", async () => {
	const { workspace } = await openPull(repo, { head: repo.merge });
	const left = join(workspace, "out/worktrees");
	git(workspace, "worktree", "lock", join(left, "base"));
	expect(worktrees(workspace)).toHaveLength(3);
	writeProject(left, { "odd/.git": "gitdir: /nowhere/worktrees/odd\n", unused: "file" });
	await removeLeftWorktrees(left, gitProcesses());
	expect(worktrees(workspace)).toHaveLength(1);
	expect(existsSync(left)).toBe(false);
	await removeLeftWorktrees(left, gitProcesses());
});

it("both sides run no hook, no filter and no submodule of the repository", async () => {
	const evil = { ".gitattributes": "*.onnx filter=evil\n" };
	const of = makeRepository({ base: { ...texts.base, ...evil }, head: texts.head });
	const workspace = workspaceOf(of);
	const mark = join(of.root, "ran");
	writeScript(join(workspace, ".git/hooks/post-checkout"), `touch ${mark}`);
	await open(workspace, { event: pullEvent(of) });
	expect(existsSync(mark)).toBe(false);
});

const configText = (rest = "") => `version: 1\nmodels:\n  net: { onnx: model.onnx }\n${rest}`;
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

it("the rules of a pull request are the target branch's newest, wherever the change left it", async () => {
	const limit = (fail: string) => configText(`gates: { memory: { fail: ${fail} } }\n`);
	const work = temporaryFolder();
	git(work, "init", "-q");
	const commit = (fail: string) => {
		writeProject(work, { ...texts.base, "trtgate.yml": limit(fail) });
		return commitAll(work);
	};
	const old = commit("50%");
	const base = commit("1%");
	git(work, "checkout", "-q", "-b", "feature", old);
	writeProject(work, texts.head);
	const head = commitAll(work);
	git(work, "remote", "add", "origin", work);
	const event = pullEvent({ root: work, origin: work, base, head, merge: head });
	const opened = await open(work, { event });
	expect(opened.folders[0]?.source.commit).toBe(old);
	expect(opened.baseConfig).toMatchObject({ config: { gates: { memory: { fail: 0.5 } } } });
	expect(opened.rules).toMatchObject({ config: { gates: { memory: { fail: 0.01 } } } });
	expect(opened.notes).toEqual([
		expect.stringContaining(`those of main at ${base.slice(0, 7)}, whose config`),
	]);
});

it("both sides are refused if a link leads to the config's folder, unless the base has that link too", async () => {
	const deep = (text: string, folder: string) => ({
		[`${folder}/model.onnx`]: text,
		[`${folder}/trtgate.yml`]: configText(),
	});
	const openLinked = async (base: Parameters<typeof makeRepository>[0]["base"], isLinkInBase: boolean) => {
		const root = temporaryFolder();
		writeProject(root, base);
		git(root, "init", "-q", "-b", "main");
		if (isLinkInBase) symlinkSync("real", join(root, "nets"));
		const old = commitAll(root);
		git(root, "checkout", "-q", "-b", "feature");
		if (!isLinkInBase) {
			renameSync(join(root, "nets"), join(root, "moved"));
			symlinkSync(existsSync(join(root, "real")) ? "real" : "moved", join(root, "nets"));
		}
		const head = commitAll(root);
		git(root, "remote", "add", "origin", root);
		const event = pullEvent({ root, origin: root, base: old, head, merge: head });
		return open(root, { home: join(root, "nets"), event });
	};
	const refused = "lies behind a link";
	await expectFault(openLinked(deep("model", "nets"), false), "config-missing", refused);
	const both = { ...deep("model", "nets"), ...deep("other", "real") };
	await expectFault(openLinked(both, false), "config-missing", refused);
	expect((await openLinked(deep("model", "real"), true)).rules).toMatchObject({ state: "read" });
});

it("both sides are refused if the config's folder became a submodule, which has a history of its own", async () => {
	const files = { "nets/model.onnx": "model", "nets/trtgate.yml": configText() };
	const [root, other] = [folderWith(files), folderWith(texts.base)];
	for (const folder of [other, root]) git(folder, "init", "-q", "-b", "main");
	commitAll(other);
	const base = commitAll(root);
	git(root, "checkout", "-q", "-b", "feature");
	git(root, "rm", "-rq", "nets");
	git(root, "submodule", "--quiet", "add", other, "nets");
	git(root, "remote", "add", "origin", root);
	writeProject(join(root, "nets"), { ...texts.head, "trtgate.yml": configText() });
	commitAll(join(root, "nets"));
	const head = commitAll(root);
	const event = pullEvent({ root, origin: root, base, head, merge: head });
	const asked = open(root, { home: join(root, "nets"), event });
	await expectFault(asked, "config-missing", "lies in a submodule");
});

it("both sides are opened if the base has no config, or one that cannot be read", async () => {
	const absent = { state: "absent" };
	expect(await openPull()).toMatchObject({ baseConfig: absent, rules: absent });
	const { baseConfig, rules } = await openPull(withConfig("version: 1\nmodels: none\n"));
	for (const side of [baseConfig, rules])
		expect(side).toMatchObject({ state: "broken", why: expect.stringContaining("models") });
});

it("the base of a pull request is chosen by the target branch's config, never by the head's", async () => {
	const of = withConfig(configText());
	for (const ref of [of.head, "refs/heads/nowhere"]) {
		const { folders } = await openPull(of, { config: configOf(pinning(ref)) });
		expect(folders[0]?.source.commit).toBe(of.base);
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
	const words = "is not part of main, the branch that this change goes to";
	await expectFault(openPull(withConfig(configText(pinning("feature")))), "git-ref", words);
});

it("the base of a pull request falls back to the target branch, with a note, if no release is there yet", async () => {
	const of = withConfig(configText("baseline: { from: tag }\n"));
	const { folders, notes } = await openPull(of);
	expect(folders[0]?.source.commit).toBe(of.base);
	expect(notes).toEqual([
		expect.stringMatching(/^baseline\.from is tag, but no release .*: the base is main instead\.$/),
	]);
});

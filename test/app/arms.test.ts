// Both arms as folders: checked out beside the workspace, with the files of Git LFS that they need, and gone afterwards.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { removeLeftWorktrees } from "../../src/adapters/git/worktree.ts";
import { type ArmsRequest, type OpenedArms, openArms } from "../../src/app/arms.ts";
import type { Config } from "../../src/core/config/config.ts";
import { loadConfig } from "../../src/core/config/parse.ts";
import { parseRunEvent } from "../../src/formats/github/event.ts";
import { push, repository, schedule, workflowDispatch } from "../support/event-payloads.ts";
import { checkOut, git, gitProcesses } from "../support/git-history.ts";
import { externalTensor, model } from "../support/onnx-writer.ts";
import { fixtures, temporaryFolder, writeProject } from "../support/project.ts";
import { makeRepository, pullEvent, workspaceOf } from "../support/pull-repository.ts";

const zeros = "0".repeat(40);

function configOf(rest = "", path = "trtgate.yml"): Config {
	const text = `version: 1\nmodels:\n  net:\n    onnx: model.onnx\n    golden: golden/golden.json\n    workloads: [{ name: one }]\n${rest}`;
	const loaded = loadConfig(text, { path });
	if (loaded.state === "invalid") throw loaded.errors[0];
	return loaded.config;
}

async function open(
	workspace: string,
	request: Partial<ArmsRequest> = {},
	env: Readonly<Record<string, string>> = {},
): Promise<OpenedArms> {
	const whole = { cwd: workspace, home: workspace, outFolder: join(workspace, "out"), config: configOf(), ...request };
	return openArms(whole, gitProcesses(env));
}

const read = (opened: OpenedArms, arm: "base" | "head", name: string): string =>
	readFileSync(join(opened.folders.find((folder) => folder.arm === arm)?.path ?? "none", name), "utf8");

const texts = { base: { "model.onnx": "base model" }, head: { "model.onnx": "head model" } };

describe("both arms", () => {
	it("of a pull request are the workspace and a worktree of the merge base, in a shallow clone", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo);
		const opened = await open(workspace, { event: pullEvent(repo) });
		expect(opened.folders.map(({ source }) => source)).toEqual([
			{ label: "main", ref: "main", commit: repo.base, found: expect.stringContaining("merge base") },
			{ label: "#7", ref: "refs/pull/7/merge", commit: repo.merge },
		]);
		expect([read(opened, "base", "model.onnx"), read(opened, "head", "model.onnx")]).toEqual(["base model", "head model"]);
		expect(opened.folders[1]?.path).toBe(workspace);
		await opened.close();
		expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
		expect(existsSync(join(workspace, "out", "worktrees", "base"))).toBe(false);
		expect(git(workspace, "status", "--porcelain", "--untracked-files=no")).toBe("");
	});

	it("lie in the config's folder of both commits", async () => {
		const repo = makeRepository({ base: { "deep/model.onnx": "base model" }, head: { "deep/model.onnx": "head model" } });
		const workspace = workspaceOf(repo);
		const opened = await open(workspace, { home: join(workspace, "deep"), event: pullEvent(repo) });
		expect([read(opened, "base", "model.onnx"), read(opened, "head", "model.onnx")]).toEqual(["base model", "head model"]);
		expect(opened.folders[1]?.source).toMatchObject({ commit: repo.merge });
		await opened.close();
	});

	it("name no commit for a workspace that a step has changed", async () => {
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

	it("are those that the user names, whatever the event says", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo);
		const opened = await open(workspace, { base: repo.head, head: repo.base, event: pullEvent(repo) });
		expect(opened.folders.map(({ source }) => source.commit)).toEqual([repo.head, repo.base]);
		expect([read(opened, "base", "model.onnx"), read(opened, "head", "model.onnx")]).toEqual(["head model", "base model"]);
		await opened.close();
		expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
	});

	it("are found for a head that the user names", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo, repo.base);
		const opened = await open(workspace, { head: "refs/heads/feature", event: pullEvent(repo) });
		expect(opened.folders.map(({ source }) => source.label)).toEqual(["main", "refs/heads/feature"]);
		await opened.close();
	});

	it("are fetched by the name that the user gives, in a workflow", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo);
		const opened = await open(workspace, { base: "main", event: pullEvent(repo) });
		expect(opened.folders[0]?.source).toEqual({ label: "main", ref: "main", commit: repo.base });
		await opened.close();
		await expect(open(workspace, { base: "main" })).rejects.toMatchObject({ code: "git-ref", message: expect.stringContaining("shallow") });
	});

	it("are one, with the reason, where there is no earlier release", async () => {
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

	it("are one in a folder that git knows nothing of", async () => {
		const folder = writeProject(temporaryFolder(), { "model.onnx": "x" });
		const event = parseRunEvent("workflow_dispatch", workflowDispatch("refs/heads/main"), { sha: "a".repeat(40), ref: "refs/heads/main" });
		expect(await open(folder, { event })).toMatchObject({
			folders: [{ arm: "head" }],
			noBase: expect.stringContaining("git knows no commit"),
		});
	});

	it("stay as they were on the command line", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo);
		expect(await open(workspace)).toMatchObject({
			folders: [{ arm: "head", source: { commit: repo.merge } }],
			noBase: "no base was given, so only builds, goldens and absolute limits are checked.",
		});
	});

	it("are compared on the command line with what the config pins, or with the last release, from what the clone has", async () => {
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
		expect(pinned.folders[0]?.source).toMatchObject({ label: "HEAD", commit: merged, found: expect.stringContaining("baseline.ref") });
		expect([read(pinned, "base", "model.onnx"), read(pinned, "head", "model.onnx")]).toEqual(["merged", "not committed"]);
		await pinned.close();
		const tag = await open(folder, { config: configOf("baseline: { from: tag }\n") });
		expect(tag.folders[0]?.source).toMatchObject({ label: "v1.0.0", commit: released, found: expect.stringContaining("last release") });
		await tag.close();
		const nowhere = open(folder, { config: configOf("baseline: { from: pinned, ref: v9 }\n") });
		await expect(nowhere).rejects.toMatchObject({ code: "git-ref", message: expect.stringContaining('"v9"') });
	});

	it("leave nothing behind where the second cannot be opened", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo);
		await expect(open(workspace, { head: repo.merge, base: "nowhere", event: pullEvent(repo) })).rejects.toMatchObject({ code: "git-ref" });
		expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
	});

	it("that a killed run left are removed by the post step, from the repository too", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo);
		await open(workspace, { head: repo.merge, event: pullEvent(repo) });
		git(workspace, "worktree", "lock", join(workspace, "out", "worktrees", "base"));
		expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(3);
		writeProject(join(workspace, "out", "worktrees"), { "odd/.git": "gitdir: /nowhere/worktrees/odd\n", stray: "file" });
		await removeLeftWorktrees(join(workspace, "out", "worktrees"), gitProcesses());
		expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
		expect(existsSync(join(workspace, "out", "worktrees"))).toBe(false);
		await removeLeftWorktrees(join(workspace, "out", "worktrees"), gitProcesses());
	});

	it("run no hook, no filter and no submodule of the repository", async () => {
		const repo = makeRepository({ base: { ...texts.base, ".gitattributes": "*.onnx filter=evil\n" }, head: texts.head });
		const workspace = workspaceOf(repo);
		const mark = join(repo.root, "ran");
		writeFileSync(join(workspace, ".git/hooks/post-checkout"), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
		const opened = await open(workspace, { event: pullEvent(repo) });
		expect(existsSync(mark)).toBe(false);
		await opened.close();
	});

	it("are found after a push, by its commit before", async () => {
		const repo = makeRepository(texts);
		const workspace = workspaceOf(repo, repo.base);
		const parent = git(repo.origin, "rev-parse", `${repo.base}^`);
		const event = parseRunEvent("push", push("refs/heads/main", parent, repo.base), { sha: repo.base, ref: "refs/heads/main" });
		const opened = await open(workspace, { event });
		expect(opened.folders[0]?.source).toMatchObject({ commit: parent, found: expect.stringContaining("main before this push") });
		await opened.close();
		const first = parseRunEvent("push", push("refs/heads/main", zeros, repo.base), { sha: repo.base, ref: "refs/heads/main" });
		const again = await open(workspace, { event: first });
		expect(again.folders[0]?.source).toMatchObject({ commit: parent, found: expect.stringContaining("main is new") });
		await again.close();
	});
});

const attributes = "*.onnx filter=lfs diff=lfs merge=lfs -text\n*.bin filter=lfs -text\n*.npy filter=lfs -text\n*.pt filter=lfs -text\n";
const weights = "sixteen bytes...";
/** A model of which only the weights lie in Git LFS. */
const withWeights = model({ initializers: [externalTensor("w", [4], { location: "w,1 [a].bin" })] });

interface LfsWorld {
	store: string;
	env: Readonly<Record<string, string>>;
	pointer(content: string | Uint8Array, stored?: boolean): string;
	pulls(): { args: string[]; filter?: boolean }[];
}

function installLfs(folder: string): LfsWorld {
	const [store, bin] = [join(folder, "lfs-store"), join(folder, "lfs-bin")];
	for (const made of [store, bin]) mkdirSync(made, { recursive: true });
	const program = join(bin, "git-lfs");
	writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${resolve("test/support/programs/git-lfs.mjs")}" "${store}" "$@"\n`);
	chmodSync(program, 0o755);
	const log = join(store, "log");
	return {
		store,
		env: { PATH: `${bin}:${process.env["PATH"] ?? ""}` },
		pointer(content, stored = true) {
			const oid = createHash("sha256").update(content).digest("hex");
			if (stored) writeFileSync(join(store, oid), content);
			return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
		},
		pulls: () =>
			existsSync(log)
				? readFileSync(log, "utf8")
						.trim()
						.split("\n")
						.map((text) => JSON.parse(text))
				: [],
	};
}

/** A PATH that has git and no git-lfs, whatever this machine has. */
function pathWithoutLfs(folder: string): string {
	const bin = join(folder, "git-only");
	mkdirSync(bin);
	const path = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
	// git finds git-lfs also beside its own programs.
	writeFileSync(
		join(bin, "git"),
		`#!/bin/sh\ncase " $* " in *" lfs "*) echo "git: 'lfs' is not a git command." >&2; exit 1;; esac\nexec ${path} "$@"\n`,
		{ mode: 0o755 },
	);
	return `${bin}:/usr/bin:/bin`;
}

describe("files of Git LFS", () => {
	it("are fetched where the base needs them, and no others", async () => {
		const world = installLfs(temporaryFolder());
		const files = { ".gitattributes": attributes, "model.onnx": world.pointer("the base's model"), "other.onnx": world.pointer("another") };
		const repo = makeRepository({ base: files, head: { ...files, "model.onnx": "head model" } });
		const opened = await open(workspaceOf(repo), { event: pullEvent(repo) }, world.env);
		expect(read(opened, "base", "model.onnx")).toBe("the base's model");
		expect(read(opened, "base", "other.onnx")).toContain("git-lfs");
		expect(world.pulls()).toEqual([{ args: ["--include=/model.onnx", "--exclude=", "origin"], filter: true }]);
		expect(opened.notes).toEqual([]);
		await opened.close();
	});

	it("include external data that the model names", async () => {
		const world = installLfs(temporaryFolder());
		const files = { ".gitattributes": attributes, "model.onnx": world.pointer(withWeights), "w,1 [a].bin": world.pointer(weights) };
		const repo = makeRepository({ base: files, head: { ...files, "model.onnx": "head model" } });
		const opened = await open(workspaceOf(repo), { event: pullEvent(repo) }, world.env);
		expect(read(opened, "base", "w,1 [a].bin")).toBe(weights);
		expect(world.pulls().map(({ args }) => args[0])).toEqual(["--include=/model.onnx", "--include=/w?1??a?.bin"]);
		await opened.close();
	});

	it("include a head's golden tensors, and everything where a command prepares the model", async () => {
		const world = installLfs(temporaryFolder());
		const golden = Object.fromEntries(
			["x0.npy", "y0.npy"].map((name) => [`golden/${name}`, world.pointer(readFileSync(join(fixtures, "golden", name)))]),
		);
		const files = {
			".gitattributes": attributes,
			"golden/golden.json": "fixture:golden/golden.json",
			"weights.pt": world.pointer("weights"),
			...golden,
		};
		const repo = makeRepository({ base: files, head: { ...files, "model.onnx": "head model" } });
		const workspace = workspaceOf(repo);
		const opened = await open(workspace, { base: repo.base, head: repo.head, event: pullEvent(repo) }, world.env);
		expect(world.pulls().map(({ args }) => args[0])).toEqual(["--include=/golden/x0.npy,/golden/y0.npy"]);
		await opened.close();
		const preparing = configOf().models.map((each) => ({ ...each, prepare: "python export.py" }));
		const again = await open(workspace, { config: { ...configOf(), models: preparing }, event: pullEvent(repo) }, world.env);
		expect(world.pulls().at(-1)?.args).toEqual(["--exclude=", "origin"]);
		expect(read(again, "base", "weights.pt")).toBe("weights");
		await again.close();
	});

	it("stay pointers, with the way out said, where git-lfs is not installed", async () => {
		const folder = temporaryFolder();
		const world = installLfs(folder);
		const files = { ".gitattributes": attributes, "model.onnx": world.pointer("model") };
		const repo = makeRepository({ base: files, head: { ...files, "model.onnx": "head model" } });
		const workspace = workspaceOf(repo);
		// As `git lfs install` configured it, on a machine that lost git-lfs.
		for (const part of ["smudge", "process"]) git(workspace, "config", `filter.lfs.${part}`, "git-lfs-is-gone");
		git(workspace, "config", "filter.lfs.required", "true");
		const opened = await open(workspace, { event: pullEvent(repo) }, { PATH: pathWithoutLfs(folder) });
		expect(read(opened, "base", "model.onnx")).toContain("git-lfs");
		expect(opened.notes).toEqual([expect.stringMatching(/git-lfs is not installed here.*lfs: true/)]);
		await opened.close();
	});

	it("that the server lacks are named in a note", async () => {
		const world = installLfs(temporaryFolder());
		const files = { ".gitattributes": attributes, "model.onnx": world.pointer("model", false) };
		const repo = makeRepository({ base: files, head: { ...files, "model.onnx": "head model" } });
		const opened = await open(workspaceOf(repo), { event: pullEvent(repo) }, world.env);
		expect(opened.notes).toEqual([expect.stringMatching(/could not be fetched: Failed to fetch some objects/)]);
		await opened.close();
	});

	it("are not asked for where the head of a fork names the server", async () => {
		const world = installLfs(temporaryFolder());
		const files = {
			".gitattributes": attributes,
			".lfsconfig": "[lfs]\n\turl = https://collector.invalid\n",
			"model.onnx": world.pointer("model"),
		};
		const repo = makeRepository({ base: { "model.onnx": "base model" }, head: files });
		const workspace = workspaceOf(repo);
		const headRepository = repository("stranger/engines", 80_002);
		const opened = await open(workspace, { head: repo.head, event: pullEvent(repo, { headRepository }) }, world.env);
		expect(opened.notes).toEqual([expect.stringMatching(/names its own LFS server in \.lfsconfig and comes from a fork/)]);
		expect(world.pulls()).toEqual([]);
		await opened.close();
		const ours = await open(workspace, { head: repo.head, event: pullEvent(repo) }, world.env);
		expect(world.pulls()).toHaveLength(1);
		await ours.close();
	});

	it("cost nothing in a repository without them", async () => {
		const world = installLfs(temporaryFolder());
		const repo = makeRepository({ base: { "model.onnx": world.pointer("model") }, head: texts.head });
		const opened = await open(workspaceOf(repo), { event: pullEvent(repo) }, world.env);
		expect(world.pulls()).toEqual([]);
		await opened.close();
	});
});

const hasLfs = (() => {
	try {
		execFileSync("git", ["lfs", "version"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
})();

describe.skipIf(!hasLfs)("the real git-lfs", () => {
	it("fetches what is asked for, and takes no program from the repository's .lfsconfig", async () => {
		const root = temporaryFolder();
		const [work, origin, mark] = [join(root, "work"), join(root, "origin.git"), join(root, "ran")];
		const evil = join(root, "evil.sh");
		writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
		const hostile = `[lfs]\n\tstandalonetransferagent = evil\n\tfetchexclude = *\n[lfs "customtransfer.evil"]\n\tpath = ${evil}\n[filter "lfs"]\n\tsmudge = ${evil}\n`;
		mkdirSync(join(work, "d [x]"), { recursive: true });
		git(root, "init", "-q", "--bare", origin);
		git(origin, "config", "uploadpack.allowAnySHA1InWant", "true");
		git(work, "init", "-q");
		git(work, "lfs", "install", "--local");
		writeProject(work, {
			".gitattributes": attributes,
			".lfsconfig": hostile,
			"d [x]/model.onnx": withWeights,
			"d [x]/w,1 [a].bin": weights,
			"other.onnx": "other",
		});
		git(work, "add", "-A");
		git(work, "commit", "-q", "-m", "base");
		git(work, "remote", "add", "origin", `file://${origin}`);
		git(work, "push", "-q", "origin", "HEAD:main");
		const base = git(work, "rev-parse", "HEAD");
		writeProject(work, { "other.onnx": "changed" });
		git(work, "commit", "-q", "-a", "-m", "head");
		git(work, "push", "-q", "origin", "HEAD:main");
		const head = git(work, "rev-parse", "HEAD");
		const workspace = checkOut({ origin, folder: join(root, "workspace"), ref: "refs/heads/main", commit: head, depth: 1 });
		const event = parseRunEvent("push", push("refs/heads/main", base, head), { sha: head, ref: "refs/heads/main" });
		const opened = await open(workspace, { home: join(workspace, "d [x]"), event });
		expect(opened.notes).toEqual([]);
		expect(read(opened, "base", "w,1 [a].bin")).toBe(weights);
		expect(read(opened, "base", "../other.onnx")).toContain("git-lfs");
		expect(existsSync(mark)).toBe(false);
		await opened.close();
	});
});

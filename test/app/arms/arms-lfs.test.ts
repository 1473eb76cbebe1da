import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import { push, stranger } from "../../support/event-payloads.ts";
import { checkOut, commitAll, git } from "../../support/git-history.ts";
import { pathWithoutLfs } from "../../support/git-without-lfs.ts";
import { externalTensor, model } from "../../support/onnx-writer.ts";
import { configOf, open, openPull, read, texts } from "../../support/opened-arms.ts";
import {
	fixtures,
	lfsPointer,
	type ProjectFiles,
	sha256,
	temporaryFolder,
	writeProject,
	writeScript,
} from "../../support/project.ts";
import { makeRepository, pullEvent, workspaceOf } from "../../support/pull-repository.ts";

const attributes = ["onnx", "bin", "npy", "pt"].map((kind) => `*.${kind} filter=lfs -text\n`).join("");
const weights = "sixteen bytes...";
const withWeights = model({ initializers: [externalTensor("w", [4], { location: "w,1 [a].bin" })] });

const changing = (unwritten: ProjectFiles) => {
	const files = { ".gitattributes": attributes, ...unwritten };
	return { base: files, head: { ...files, ...texts.head } };
};

function installLfs(folder = temporaryFolder()) {
	const [store, bin] = [join(folder, "lfs-store"), join(folder, "lfs-bin")];
	mkdirSync(store);
	const run = `exec "${process.execPath}" "${resolve("test/support/programs/git-lfs.mjs")}"`;
	writeScript(join(bin, "git-lfs"), `${run} "${store}" "$@"`);
	const log = join(store, "log");
	return {
		env: { PATH: `${bin}:${process.env["PATH"] ?? ""}` },
		pointer(content: string | Uint8Array, stored = true) {
			if (stored) writeFileSync(join(store, sha256(content)), content);
			return lfsPointer(content);
		},
		pulls(): { args: string[]; filter?: boolean }[] {
			const lines = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
			return lines.map((text) => JSON.parse(text));
		},
	};
}

it("files of Git LFS are fetched if the base needs them, and no others", async () => {
	const world = installLfs();
	const files = { "model.onnx": world.pointer("the base's model"), "other.onnx": world.pointer("another") };
	const { opened } = await openPull(changing(files), world.env);
	expect(read(opened, "base", "model.onnx")).toBe("the base's model");
	expect(read(opened, "base", "other.onnx")).toContain("git-lfs");
	expect(world.pulls()).toEqual([{ args: ["--include=/model.onnx", "--exclude=", "origin"], filter: true }]);
	expect(opened.notes).toEqual([]);
});

it("files of Git LFS include external data that the model names", async () => {
	const world = installLfs();
	const files = { "model.onnx": world.pointer(withWeights), "w,1 [a].bin": world.pointer(weights) };
	const { opened } = await openPull(changing(files), world.env);
	expect(read(opened, "base", "w,1 [a].bin")).toBe(weights);
	expect(world.pulls().map(({ args }) => args[0])).toEqual([
		"--include=/model.onnx",
		"--include=/w?1??a?.bin",
	]);
});

it("files of Git LFS include a head's golden tensors, and everything if a command prepares the model", async () => {
	const world = installLfs();
	const golden = ["golden/x0.npy", "golden/y0.npy"].map((name) => [
		name,
		world.pointer(readFileSync(join(fixtures, name))),
	]);
	const files = {
		"golden/golden.json": "fixture:golden/golden.json",
		"weights.pt": world.pointer("weights"),
		...Object.fromEntries(golden),
	};
	const repo = makeRepository(changing(files));
	const workspace = workspaceOf(repo);
	await open(workspace, { base: repo.base, head: repo.head, event: pullEvent(repo) }, world.env);
	expect(world.pulls().map(({ args }) => args[0])).toEqual(["--include=/golden/x0.npy,/golden/y0.npy"]);
	const prepare = { command: "python export.py", env: [] };
	const config = { ...configOf(), models: configOf().models.map((each) => ({ ...each, prepare })) };
	const again = await open(workspace, { config, event: pullEvent(repo) }, world.env);
	expect(world.pulls().at(-1)?.args).toEqual(["--exclude=", "origin"]);
	expect(read(again, "base", "weights.pt")).toBe("weights");
});

it("files of Git LFS stay pointers, with a fix, if git-lfs is not installed", async () => {
	const folder = temporaryFolder();
	const world = installLfs(folder);
	const files = { "model.onnx": world.pointer("model") };
	const repo = makeRepository(changing(files));
	const workspace = workspaceOf(repo);
	// As `git lfs install` configured it, on a machine that lost git-lfs.
	for (const part of ["smudge", "process"]) git(workspace, "config", `filter.lfs.${part}`, "git-lfs-is-gone");
	git(workspace, "config", "filter.lfs.required", "true");
	const opened = await open(workspace, { event: pullEvent(repo) }, { PATH: pathWithoutLfs(folder) });
	expect(read(opened, "base", "model.onnx")).toContain("git-lfs");
	expect(opened.notes).toEqual([expect.stringContaining("git-lfs is not installed")]);
	expect(opened.folders[0]?.lfsProblem?.fix).toContain("apt-get install -y git-lfs");
});

it("files of Git LFS that the server lacks are named in a note", async () => {
	const world = installLfs();
	const files = { "model.onnx": world.pointer("model", false) };
	const { opened } = await openPull(changing(files), world.env);
	expect(opened.notes).toEqual([expect.stringMatching(/could not be fetched: Failed to fetch some objects/)]);
});

it("files of Git LFS are not fetched if the head of a fork names the server", async () => {
	const world = installLfs();
	const files = {
		".gitattributes": attributes,
		".lfsconfig": "[lfs]\n\turl = https://collector.invalid\n",
		"model.onnx": world.pointer("model"),
	};
	const repo = makeRepository({ base: { "model.onnx": "base model" }, head: files });
	const workspace = workspaceOf(repo);
	const fork = { head: repo.head, event: pullEvent(repo, { headRepository: stranger }) };
	const opened = await open(workspace, fork, world.env);
	expect(opened.notes).toEqual([
		expect.stringMatching(/sets its own LFS server in \.lfsconfig and comes from a fork/),
	]);
	expect(world.pulls()).toEqual([]);
	await open(workspace, { head: repo.head, event: pullEvent(repo) }, world.env);
	expect(world.pulls()).toHaveLength(1);
});

it("files of Git LFS cost nothing in a repository without them", async () => {
	const world = installLfs();
	await openPull({ base: { "model.onnx": world.pointer("model") }, head: texts.head }, world.env);
	expect(world.pulls()).toEqual([]);
});

const hasLfs = (() => {
	try {
		execFileSync("git", ["lfs", "version"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
})();

it.skipIf(!hasLfs)(
	"the real git-lfs fetches the requested files, and runs no program from the repository's .lfsconfig",
	async () => {
		const root = temporaryFolder();
		const [work, origin, mark] = [join(root, "work"), join(root, "origin.git"), join(root, "ran")];
		const evil = writeScript(join(root, "evil.sh"), `touch ${mark}`);
		const hostile = `[lfs]\n\tstandalonetransferagent = evil\n\tfetchexclude = *\n[lfs "customtransfer.evil"]\n\tpath = ${evil}\n[filter "lfs"]\n\tsmudge = ${evil}\n`;
		git(root, "init", "-q", "--bare", origin);
		git(origin, "config", "uploadpack.allowAnySHA1InWant", "true");
		git(root, "init", "-q", work);
		git(work, "lfs", "install", "--local");
		writeProject(work, {
			".gitattributes": attributes,
			".lfsconfig": hostile,
			"d [x]/model.onnx": withWeights,
			"d [x]/w,1 [a].bin": weights,
			"other.onnx": "other",
		});
		const base = commitAll(work);
		git(work, "remote", "add", "origin", `file://${origin}`);
		git(work, "push", "-q", "origin", "HEAD:main");
		const head = commitAll(writeProject(work, { "other.onnx": "changed" }));
		git(work, "push", "-q", "origin", "HEAD:main");
		const [folder, ref] = [join(root, "workspace"), "refs/heads/main"];
		const workspace = checkOut({ origin, folder, ref, commit: head, depth: 1 });
		const event = parseRunEvent("push", push(ref, base, head), { sha: head, ref });
		const opened = await open(workspace, { home: join(workspace, "d [x]"), event });
		expect(opened.notes).toEqual([]);
		expect(read(opened, "base", "w,1 [a].bin")).toBe(weights);
		expect(read(opened, "base", "../other.onnx")).toContain("git-lfs");
		expect(existsSync(mark)).toBe(false);
	},
);

import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { type GitStore, runGit } from "./git.ts";
import { type Call, notFound, ok, type Reply, type Route, refuse, route, textOf, textsOf } from "./http.ts";
import type { Json } from "./render.ts";

export interface CommitFacts {
	sha: string;
	tree: string;
	parents: string[];
	message: string;
}

const text = (bytes: Buffer): string => bytes.toString().trimEnd();
const isSha = (value: string): boolean => /^[0-9a-f]{40}$/.test(value);

export async function typeOf(git: GitStore, sha: string): Promise<string | undefined> {
	return isSha(sha) ? await git.run(["cat-file", "-t", sha]).then(text, () => undefined) : undefined;
}

export async function readCommit(git: GitStore, sha: string): Promise<CommitFacts | undefined> {
	if ((await typeOf(git, sha)) !== "commit") return undefined;
	const shown = text(await git.run(["show", "-s", "--format=%T%x00%P%x00%B", sha]));
	const [tree = "", parents = "", message = ""] = shown.split("\0");
	return { sha, tree, parents: parents.split(" ").filter(isSha), message: message.trimEnd() };
}

function renderGitCommit({ sha, message, tree, parents }: CommitFacts): Json {
	return { sha, message, tree: { sha: tree }, parents: parents.map((parent) => ({ sha: parent })) };
}

async function writeBlob(git: GitStore, content: string | Buffer): Promise<string> {
	return text(await git.run(["hash-object", "-w", "--stdin"], content));
}

interface TreeEntry {
	path?: string;
	mode?: string;
	sha?: string | null;
}

async function listTree(git: GitStore, sha: string, isRecursive: boolean): Promise<Json[]> {
	const argv = ["ls-tree", "-z", "-l", ...(isRecursive ? ["-r", "-t"] : []), sha];
	const lines = (await git.run(argv)).toString().split("\0").filter(Boolean);
	return lines.map((line) => {
		const [, mode = "", type = "", object = "", size = "", path = ""] =
			/^(\d+) (\w+) (\w+) +(\S+)\t(.*)$/s.exec(line) ?? [];
		return { path, mode, type, sha: object, ...(size === "-" ? {} : { size: Number(size) }) };
	});
}

/** git itself would pass over such a path without a word. */
function isTreePath(path: string): boolean {
	return path.split("/").every((part) => !["", ".", ".."].includes(part) && part.toLowerCase() !== ".git");
}

async function writeTree(git: GitStore, entries: readonly TreeEntry[], base?: string): Promise<string> {
	if (entries.some(({ path }) => !isTreePath(path ?? ""))) throw new Error("a path that no tree can hold");
	const env = { GIT_INDEX_FILE: `${git.folder}/index-${randomUUID()}` };
	try {
		if (base !== undefined) await runGit(git.folder, ["read-tree", base], { env });
		const lines: string[] = [];
		for (const entry of entries) {
			const { mode, sha, path } = entry;
			lines.push(sha ? `${mode} ${sha}\t${path}\0` : `0 ${"0".repeat(40)}\t${path}\0`);
		}
		await runGit(git.folder, ["update-index", "-z", "--index-info"], { env, input: lines.join("") });
		return text(await runGit(git.folder, ["write-tree"], { env }));
	} finally {
		await rm(env.GIT_INDEX_FILE, { force: true });
	}
}

async function treeOf(git: GitStore, name: string): Promise<string | undefined> {
	const sha = isSha(name) ? name : await git.resolve(name);
	return sha === undefined
		? undefined
		: await git.run(["rev-parse", "--verify", "--quiet", `${sha}^{tree}`]).then(text, () => undefined);
}

async function renderTree(call: Call, sha: string, isRecursive: boolean): Promise<Json> {
	return { sha, truncated: false, tree: await listTree(await call.world.git(), sha, isRecursive) };
}

async function createTree(call: Call): Promise<Reply> {
	const git = await call.world.git();
	const entries = call.body["tree"] as TreeEntry[];
	if (entries.some(({ path, mode, sha }) => !path || !mode || sha === undefined))
		return refuse(422, "Must supply a valid tree: path, mode and sha");
	for (const { sha } of entries)
		if (typeof sha === "string" && (await typeOf(git, sha)) === undefined)
			return refuse(422, `GitRPC::BadObjectState: ${sha}`);
	const named = textOf(call, "base_tree");
	const base = named === undefined ? undefined : await treeOf(git, named);
	if (named !== undefined && base === undefined) return notFound();
	const tree = await writeTree(git, entries, base).catch(() => undefined);
	if (tree === undefined) return refuse(422, "tree.path contains a malformed path component");
	return ok(await renderTree(call, tree, false), 201);
}

async function createCommit(call: Call): Promise<Reply> {
	const git = await call.world.git();
	const tree = textOf(call, "tree") ?? "";
	const parents = textsOf(call.body["parents"]);
	if ((await typeOf(git, tree)) !== "tree") return refuse(422, "Tree SHA does not exist");
	for (const parent of parents)
		if ((await typeOf(git, parent)) !== "commit")
			return refuse(422, "Parent SHA does not exist or is not a commit object");
	const argv = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-"];
	const commit = await readCommit(git, text(await git.run(argv, textOf(call, "message") ?? "")));
	return commit ? ok(renderGitCommit(commit), 201) : notFound();
}

export const objectRoutes: readonly Route[] = [
	route("POST /git/blobs", [{ contents: "write" }], async (call) => {
		const encoding = textOf(call, "encoding") === "base64" ? "base64" : "utf8";
		const sha = await writeBlob(await call.world.git(), Buffer.from(textOf(call, "content") ?? "", encoding));
		return ok({ sha }, 201);
	}),
	route("GET /git/blobs/{file_sha}", [{ contents: "read" }], async (call) => {
		const git = await call.world.git();
		const sha = call.params["file_sha"] ?? "";
		if ((await typeOf(git, sha)) !== "blob") return notFound();
		const content = await git.run(["cat-file", "blob", sha]);
		return ok({ sha, size: content.length, content: content.toString("base64"), encoding: "base64" });
	}),
	route("POST /git/trees", [{ contents: "write" }], createTree),
	route("GET /git/trees/{tree_sha}", [{ contents: "read" }], async (call) => {
		const sha = await treeOf(await call.world.git(), call.params["tree_sha"] ?? "");
		return sha === undefined ? notFound() : ok(await renderTree(call, sha, call.query.has("recursive")));
	}),
	route("POST /git/commits", [{ contents: "write" }], createCommit),
	route("GET /git/commits/{commit_sha}", [{ contents: "read" }], async (call) => {
		const commit = await readCommit(await call.world.git(), call.params["commit_sha"] ?? "");
		return commit ? ok(renderGitCommit(commit)) : notFound();
	}),
];

// Files of a branch by path: read, written and removed as commits.
import { type CommitFacts, readCommit, writeBlob, writeCommit, writeTree } from "./git-objects.ts";
import { type Call, notFound, ok, type Reply, type Route, refuse, textOf } from "./http.ts";
import { type Json, pageUrl, repositoryUrl } from "./render.ts";
import type { World } from "./world.ts";

interface Entry {
	path: string;
	type: string;
	mode: string;
	sha: string;
	sizeBytes: number;
}

function pathOf(call: Call): string {
	return (call.params["path"] ?? "").replace(/^\/+|\/+$/g, "");
}

async function listAt(world: World, commit: string, argument: string): Promise<Entry[]> {
	const git = await world.git();
	const lines = (await git.run(["ls-tree", "-z", "-l", commit, ...(argument === "" ? [] : ["--", argument])]))
		.toString()
		.split("\0");
	return lines.filter(Boolean).map((line) => {
		const [, mode = "", type = "", sha = "", size = "", path = ""] =
			/^(\d+) (\w+) (\w+) +(\S+)\t(.*)$/s.exec(line) ?? [];
		return { path, type, mode, sha, sizeBytes: size === "-" ? 0 : Number(size) };
	});
}

function typeLabel(entry: Entry): string {
	if (entry.type === "tree") return "dir";
	if (entry.type === "commit") return "submodule";
	return entry.mode === "120000" ? "symlink" : "file";
}

function renderEntry(world: World, entry: Entry, ref: string): Json {
	const url = `${repositoryUrl(world)}/contents/${encodeURI(entry.path)}?ref=${encodeURIComponent(ref)}`;
	const git = `${repositoryUrl(world)}/git/${entry.type}s/${entry.sha}`;
	const html = pageUrl(world, `/${entry.type === "tree" ? "tree" : "blob"}/${ref}/${entry.path}`);
	const download = entry.type === "blob" ? pageUrl(world, `/raw/${ref}/${entry.path}`) : null;
	return {
		...{
			type: typeLabel(entry),
			name: entry.path.split("/").at(-1),
			path: entry.path,
			sha: entry.sha,
			size: entry.sizeBytes,
		},
		...{ url, git_url: git, html_url: html, download_url: download, _links: { self: url, git, html } },
	};
}

/** GitHub sends no content of files over this size; over the second it refuses them. */
const [inlineBytes, maxBytes] = [1024 * 1024, 100 * 1024 * 1024];

async function getFile(call: Call, entry: Entry, ref: string): Promise<Reply> {
	const content = await (await call.world.git()).run(["cat-file", "blob", entry.sha]);
	if (/\braw\b/.test(call.headers["accept"] ?? ""))
		return {
			status: 200,
			body: content,
			headers: { "content-type": "application/vnd.github.raw+json; charset=utf-8" },
		};
	if (entry.sizeBytes > maxBytes)
		return refuse(403, "This API returns blobs up to 100 MB in size.", {
			errors: [{ resource: "Blob", field: "data", code: "too_large" }],
		});
	const isInline = entry.sizeBytes <= inlineBytes;
	// GitHub breaks base64 into lines of 60.
	const lines = isInline ? content.toString("base64").replace(/(.{60})/g, "$1\n") : "";
	return ok({
		...renderEntry(call.world, entry, ref),
		encoding: isInline ? "base64" : "none",
		content: lines,
	});
}

async function getContent(call: Call): Promise<Reply> {
	const ref = call.query.get("ref") ?? call.world.state.defaultBranch;
	const commit = await (await call.world.git()).resolve(ref);
	if (commit === undefined) return refuse(404, `No commit found for the ref ${ref}`);
	const path = pathOf(call);
	const [entry] = path === "" ? [] : await listAt(call.world, commit, path);
	if (entry?.type === "blob") return getFile(call, entry, ref);
	if (entry === undefined && path !== "") return notFound();
	const inside = await listAt(call.world, commit, path === "" ? "" : `${path}/`);
	return ok(inside.map((one) => renderEntry(call.world, one, ref)));
}

interface Target {
	branch: string;
	head: CommitFacts;
	entry: Entry | undefined;
}

async function targetOf(call: Call): Promise<Target | Reply> {
	const branch = (
		textOf(call, "branch") ??
		call.query.get("branch") ??
		call.world.state.defaultBranch
	).replace(/^refs\/heads\//, "");
	const git = await call.world.git();
	const sha = await git.resolve(`refs/heads/${branch}`);
	const head = sha === undefined ? undefined : await readCommit(git, sha);
	if (!head) return refuse(404, `Branch ${branch} not found`);
	const [entry] = await listAt(call.world, head.sha, pathOf(call));
	return { branch, head, entry };
}

/** The file as the client last saw it, or a conflict. */
function judgeSha(call: Call, entry: Entry | undefined): Reply | undefined {
	const given = textOf(call, "sha") ?? call.query.get("sha") ?? undefined;
	if (entry && given === undefined) return refuse(422, `Invalid request.\n\n"sha" wasn't supplied.`);
	return given !== undefined && given !== entry?.sha
		? refuse(409, `${pathOf(call)} does not match ${given}`)
		: undefined;
}

async function commitChange(call: Call, target: Target, sha: string | null): Promise<CommitFacts | Reply> {
	const git = await call.world.git();
	const entries = [{ path: pathOf(call), mode: target.entry?.mode ?? "100644", sha }];
	const tree = await writeTree(git, entries, target.head.tree).catch(() => undefined);
	if (tree === undefined) return refuse(422, "path contains a malformed path component");
	const { author, committer } = call.body;
	const commit = await writeCommit(git, {
		tree,
		parents: [target.head.sha],
		message: textOf(call, "message") ?? "",
		author,
		committer,
	});
	const update = ["update-ref", `refs/heads/${target.branch}`, commit, target.head.sha];
	const isMoved = await git.run(update).then(
		() => true,
		() => false,
	);
	if (!isMoved) return refuse(409, `is at another commit but expected ${target.head.sha}`);
	return (await readCommit(git, commit)) as CommitFacts;
}

function renderChange(world: World, commit: CommitFacts, content: Json | null): Json {
	const url = `${repositoryUrl(world)}/git`;
	const { sha, author, committer, message } = commit;
	const verification = {
		verified: false,
		reason: "unsigned",
		signature: null,
		payload: null,
		verified_at: null,
	};
	const parents = commit.parents.map((parent) => ({
		sha: parent,
		url: `${url}/commits/${parent}`,
		html_url: pageUrl(world, `/commit/${parent}`),
	}));
	const html = pageUrl(world, `/commit/${sha}`);
	const tree = { sha: commit.tree, url: `${url}/trees/${commit.tree}` };
	const facts = { sha, node_id: `C_${sha}`, url: `${url}/commits/${sha}`, html_url: html };
	return { content, commit: { ...facts, author, committer, message, tree, parents, verification } };
}

async function putContent(call: Call): Promise<Reply> {
	const target = await targetOf(call);
	if ("status" in target) return target;
	const wrong = judgeSha(call, target.entry);
	if (wrong) return wrong;
	const encoded = (textOf(call, "content") ?? "").replace(/\s/g, "");
	if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) return refuse(422, "content is not valid Base64");
	const git = await call.world.git();
	const commit = await commitChange(call, target, await writeBlob(git, Buffer.from(encoded, "base64")));
	if ("status" in commit) return commit;
	const [entry] = await listAt(call.world, commit.sha, pathOf(call));
	return ok(
		renderChange(call.world, commit, entry ? renderEntry(call.world, entry, target.branch) : null),
		target.entry ? 200 : 201,
	);
}

async function deleteContent(call: Call): Promise<Reply> {
	const target = await targetOf(call);
	if ("status" in target) return target;
	if (!target.entry) return notFound();
	const wrong = judgeSha(call, target.entry);
	if (wrong) return wrong;
	const commit = await commitChange(call, target, null);
	return "status" in commit ? commit : ok(renderChange(call.world, commit, null));
}

const template = "/repos/{owner}/{repo}/contents/{path}";

export const contentRoutes: readonly Route[] = [
	{ method: "GET", template, needs: [{ contents: "read" }], handle: getContent },
	{ method: "PUT", template, needs: [{ contents: "write" }], handle: putContent },
	{ method: "DELETE", template, needs: [{ contents: "write" }], handle: deleteContent },
];

// Refs, objects, contents and comparisons of the local GitHub, on a real repository.
import { execFileSync } from "node:child_process";
import { getOctokit } from "@actions/github";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../project.ts";
import { type LocalGitHub, startLocalGitHub } from "./start.ts";

const target = { owner: "acme", repo: "engines" };

async function start(
	gitDir?: string,
): Promise<{ github: LocalGitHub; octokit: ReturnType<typeof getOctokit> }> {
	const github = await startLocalGitHub(gitDir === undefined ? {} : { gitDir });
	onTestFinished(github.close);
	const token = github.token({ contents: "write", "pull-requests": "write" });
	return { github, octokit: getOctokit(token, { baseUrl: github.url }) };
}

async function statusOf(call: Promise<unknown>): Promise<string> {
	return call.then(
		() => "done",
		(cause: unknown) => `${(cause as { status: number }).status} ${(cause as Error).message}`,
	);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

it("contents are written, read, changed against their sha, listed and deleted", async () => {
	const { github, octokit } = await start();
	const file = { ...target, path: "golden/resnet50/golden.json" };
	const made = await octokit.rest.repos.createOrUpdateFileContents({
		...file,
		message: "Record",
		content: base64("one\n"),
	});
	expect(made.status).toBe(201);
	const read = await octokit.rest.repos.getContent(file);
	expect(read.data).toMatchObject({ type: "file", size: 4, encoding: "base64", sha: made.data.content?.sha });
	const put = (sha?: string) =>
		octokit.rest.repos.createOrUpdateFileContents({
			...file,
			message: "Again",
			content: base64("two\n"),
			...(sha ? { sha } : {}),
		});
	expect(await statusOf(put())).toMatch(/422.*sha/s);
	expect(await statusOf(put("0".repeat(40)))).toMatch(/409.*does not match/);
	expect((await put(made.data.content?.sha)).status).toBe(200);
	const raw = await octokit.rest.repos.getContent({ ...file, mediaType: { format: "raw" } });
	expect(raw.data).toBe("two\n");
	const folder = await octokit.rest.repos.getContent({ ...target, path: "golden" });
	expect(folder.data).toMatchObject([{ type: "dir", name: "resnet50", path: "golden/resnet50" }]);
	expect((await octokit.rest.repos.getContent({ ...target, path: "" })).data).toMatchObject([
		{ type: "dir", name: "golden" },
	]);
	const sha = (await octokit.rest.repos.getContent(file)).data as { sha: string };
	await octokit.rest.repos.deleteFile({ ...file, message: "Remove", sha: sha.sha });
	expect(await statusOf(octokit.rest.repos.getContent(file))).toMatch(/^404/);
	expect((await octokit.rest.repos.listCommits(target)).data.map(({ commit }) => commit.message)).toEqual([
		"Remove",
		"Again",
		"Record",
		"Initial commit",
	]);
	expect(github.state.violations).toEqual([]);
});

it("refs and objects make an orphan branch of blobs, trees and commits, and refuse what is no fast-forward", async () => {
	const { github, octokit } = await start();
	const blob = await octokit.rest.git.createBlob({ ...target, content: base64("{}\n"), encoding: "base64" });
	const entry = {
		path: "series/resnet50.jsonl",
		mode: "100644" as const,
		type: "blob" as const,
		sha: blob.data.sha,
	};
	const tree = await octokit.rest.git.createTree({ ...target, tree: [entry] });
	const commit = (parents: string[], message: string) =>
		octokit.rest.git.createCommit({ ...target, message, tree: tree.data.sha, parents });
	const first = await commit([], "First");
	const ref = "heads/trtgate-history";
	await octokit.rest.git.createRef({ ...target, ref: `refs/${ref}`, sha: first.data.sha });
	const second = await commit([first.data.sha], "Second");
	await octokit.rest.git.updateRef({ ...target, ref, sha: second.data.sha });
	const rival = await commit([first.data.sha], "Rival");
	expect(await statusOf(octokit.rest.git.updateRef({ ...target, ref, sha: rival.data.sha }))).toMatch(
		/422 Update is not a fast forward/,
	);
	expect(
		await statusOf(octokit.rest.git.createRef({ ...target, ref: `refs/${ref}`, sha: rival.data.sha })),
	).toMatch(/422 Reference already exists/);
	expect((await octokit.rest.git.getRef({ ...target, ref })).data.object.sha).toBe(second.data.sha);
	const more = {
		path: "series/vit.jsonl",
		mode: "100644" as const,
		type: "blob" as const,
		content: "{}\n{}\n",
	};
	const both = await octokit.rest.git.createTree({ ...target, base_tree: tree.data.sha, tree: [more] });
	const listed = await octokit.rest.git.getTree({ ...target, tree_sha: both.data.sha, recursive: "1" });
	expect(listed.data.tree.map(({ path, type }) => `${type} ${path}`)).toEqual([
		"tree series",
		"blob series/resnet50.jsonl",
		"blob series/vit.jsonl",
	]);
	const without = await octokit.rest.git.createTree({
		...target,
		base_tree: both.data.sha,
		tree: [{ ...more, content: undefined as never, sha: null }],
	});
	expect(without.data.sha).toBe(tree.data.sha);
	expect((await octokit.rest.git.getBlob({ ...target, file_sha: blob.data.sha })).data.content).toBe(
		base64("{}\n"),
	);
	expect(
		(await octokit.rest.git.listMatchingRefs({ ...target, ref: "heads/" })).data.map((found) => found.ref),
	).toEqual(["refs/heads/main", `refs/${ref}`]);
	await octokit.rest.git.deleteRef({ ...target, ref });
	expect(await statusOf(octokit.rest.git.getRef({ ...target, ref }))).toMatch(/^404/);
	expect(github.state.violations).toEqual([]);
});

it("writers at the same time win once: one moves the branch, the others are refused", async () => {
	const { octokit } = await start();
	const put = (name: string) =>
		statusOf(
			octokit.rest.repos.createOrUpdateFileContents({
				...target,
				path: name,
				message: name,
				content: base64(name),
			}),
		);
	const ends = await Promise.all(["a", "b", "c"].map(put));
	expect(ends.every((end) => end === "done" || /^409/.test(end))).toBe(true);
	const files = (await octokit.rest.repos.getContent({ ...target, path: "" })).data as unknown[];
	expect(files).toHaveLength(ends.filter((end) => end === "done").length);
});

it("writers at the same time cannot leave the tree", async () => {
	const { octokit } = await start();
	const entry = { path: "../outside", mode: "100644" as const, type: "blob" as const, content: "x" };
	expect(await statusOf(octokit.rest.git.createTree({ ...target, tree: [entry] }))).toMatch(
		/^422.*malformed/,
	);
	expect(
		await statusOf(octokit.rest.git.createRef({ ...target, ref: "refs/heads/..x", sha: "0".repeat(40) })),
	).toMatch(/^422/);
});

/** A bare repository with a base, and a branch and main that both went on. */
function createHistory(): { gitDir: string; base: string; main: string; change: string } {
	const folder = temporaryFolder();
	const git = (...argv: string[]): string =>
		execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...argv], {
			cwd: folder,
			encoding: "utf8",
		}).trim();
	git("init", "-q", "-b", "main");
	const commit = (message: string): string => {
		execFileSync("sh", ["-c", `echo ${message} > ${message}.txt`], { cwd: folder });
		git("add", ".");
		git("commit", "-q", "-m", message);
		return git("rev-parse", "HEAD");
	};
	const base = commit("base");
	git("checkout", "-q", "-b", "feature/change");
	const change = commit("change");
	git("checkout", "-q", "main");
	const main = commit("later");
	return { gitDir: `${folder}/.git`, base, main, change };
}

it("a given repository is compared, and knows its commits and branches", async () => {
	const { gitDir, base, main, change } = createHistory();
	const { github, octokit } = await start(gitDir);
	const compared = await octokit.rest.repos.compareCommitsWithBasehead({
		...target,
		basehead: `${main}...${change}`,
	});
	expect(compared.data).toMatchObject({
		status: "diverged",
		ahead_by: 1,
		behind_by: 1,
		merge_base_commit: { sha: base },
	});
	expect(compared.data.files).toMatchObject([{ filename: "change.txt", status: "added", additions: 1 }]);
	const byName = await octokit.rest.repos.compareCommitsWithBasehead({
		...target,
		basehead: "main...acme:feature/change",
	});
	expect(byName.data.merge_base_commit.sha).toBe(base);
	expect((await octokit.rest.repos.getBranch({ ...target, branch: "feature/change" })).data.commit.sha).toBe(
		change,
	);
	expect((await octokit.rest.repos.getCommit({ ...target, ref: "main" })).data.sha).toBe(main);
	expect(
		await statusOf(octokit.rest.repos.compareCommitsWithBasehead({ ...target, basehead: "main...gone" })),
	).toMatch(/^404/);
	const pull = await octokit.rest.pulls.create({
		...target,
		title: "A change",
		head: "feature/change",
		base: "main",
	});
	expect(pull.data).toMatchObject({ head: { sha: change }, base: { sha: main }, state: "open" });
	const files = await octokit.rest.pulls.listFiles({ ...target, pull_number: pull.data.number });
	expect(files.data.map(({ filename }) => filename)).toEqual(["change.txt"]);
	expect(
		await statusOf(
			octokit.rest.pulls.create({ ...target, title: "Again", head: "feature/change", base: "main" }),
		),
	).toMatch(/422.*already exists/s);
	expect(github.state.violations).toEqual([]);
});

import { join } from "node:path";
import { expect, it } from "vitest";
import { githubRepository } from "../../../../src/host/adapters/github/repository.ts";
import type { Pace } from "../../../../src/host/adapters/github/request.ts";
import type { ApiResult } from "../../../../src/ports/code-host.ts";
import { drawRepository, git, line } from "../../../support/git-history.ts";
import { openLocalGitHub } from "../../../support/github-play.ts";
import { temporaryFolder } from "../../../support/project.ts";

const quick: Pace = { callMs: 5000, patienceMs: 60_000, secondMs: 1 };

const files = { "golden/net/golden.json": "of old", "golden/net/r1/a.npy": "1", "golden/netting.txt": "no" };

const bothWrite = { contents: "write", "pull-requests": "write" } as const;

async function openRepository(permissions: Record<string, "read" | "write"> = bothWrite) {
	const origin = join(temporaryFolder(), "origin.git");
	const commits = line("main", 3).map((commit) => ({ ...commit, files }));
	const refs = { "refs/heads/main": "main-2", "refs/heads/a/b": "main-0" };
	const hashes = drawRepository(origin, { commits, refs });
	const github = await openLocalGitHub({ gitDir: origin });
	const urls = { apiUrl: github.url, graphQlUrl: `${github.url}/graphql` };
	const token = github.token(permissions);
	const repository = githubRepository({ ...urls, token, repository: "acme/engines", pace: quick });
	const main = [0, 1, 2].map((index) => hashes.get(`main-${index}`) ?? "") as [string, string, string];
	return { github, origin, repository, main };
}

const draftOf = (base: string) => ({ title: "t", body: "b", head: "x", base, draft: false });

function doneOf<Value extends object>(answer: ApiResult<Value>): Value {
	if (answer.state === "failed") throw new Error(answer.fault.message);
	return answer;
}

it("a repository is read: branches, relations, trees and files", async () => {
	const { repository, main, origin } = await openRepository();
	expect(await repository.defaultBranch()).toMatchObject({ branch: "main" });
	expect(await repository.branchHead("a/b")).toMatchObject({ sha: main[0] });
	expect(await repository.branchHead("a/nothing")).toMatchObject({ state: "done", sha: null });
	expect(await repository.compare("a/b", main[2])).toMatchObject({
		...{ relation: "ahead", total: 2 },
		commits: [main[1], main[2]].map((sha, index) => ({ sha, message: `main-${index + 1}` })),
	});
	expect(await repository.compare(main[2], "a/b")).toMatchObject({ relation: "behind", total: 0 });
	expect(await repository.compare("main", main[2])).toMatchObject({ relation: "identical" });
	expect(await repository.snapshotOf(main[1])).toMatchObject({
		snapshot: git(origin, "rev-parse", `${main[1]}^{tree}`),
	});
	const listed = doneOf(await repository.filesUnder(main[2], "golden/net")).files;
	expect(listed.map(({ path }) => path)).toEqual(["golden/net/golden.json", "golden/net/r1/a.npy"]);
	expect(doneOf(await repository.filesUnder(main[2], "golden/none/at/all")).files).toEqual([]);
	const { bytes } = doneOf(await repository.readFile(listed[0]?.hash ?? ""));
	expect(Buffer.from(bytes).toString()).toBe("of old");
});

it("a truncated listing of a repository does not count", async () => {
	const { repository, main, github } = await openRepository();
	const body = { sha: main[0], url: "", truncated: true, tree: [] };
	github.inject({ method: "GET", path: /\/git\/trees\//, times: 9, status: 200, body });
	const fault = { code: "github-reply" };
	expect(await repository.filesUnder(main[2], "golden")).toMatchObject({ state: "failed", fault });
});

it("a repository is written: bytes, trees, commits, and branches that only move forward", async () => {
	const { repository, main, origin } = await openRepository();
	const bytes = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
	const { hash } = doneOf(await repository.storeFile(bytes));
	expect([...doneOf(await repository.readFile(hash)).bytes]).toEqual([...bytes]);
	const { snapshot: base } = doneOf(await repository.snapshotOf(main[2]));
	const entries = [
		{ path: "golden/net/r2/a b.npy", hash },
		{ path: "golden/net/r1/a.npy", hash: null },
	];
	const { snapshot } = doneOf(await repository.writeSnapshot(base, entries));
	const names = git(origin, "ls-tree", "-r", "--name-only", snapshot).split("\n");
	expect(names).toEqual(["golden/net/golden.json", "golden/net/r2/a b.npy", "golden/netting.txt", "name"]);
	const { sha: commit } = doneOf(
		await repository.writeCommit({ message: "Why.\n\nTrailer: x", snapshot, parents: [main[2], main[0]] }),
	);
	expect(git(origin, "show", "-s", "--format=%P|%B", commit)).toBe(
		`${main[2]} ${main[0]}|Why.\n\nTrailer: x`,
	);
	expect(await repository.createBranch("x/y", main[2])).toMatchObject({ state: "done" });
	expect(await repository.createBranch("x/y", commit)).toMatchObject({ fault: { code: "github-rejected" } });
	expect(await repository.advanceBranch("x/y", commit)).toMatchObject({ state: "done" });
	expect(await repository.advanceBranch("x/y", main[1])).toMatchObject({
		fault: { message: expect.stringContaining("not a fast forward") },
	});
	expect(git(origin, "rev-parse", "refs/heads/x/y")).toBe(commit);
});

it.each(["blobs", "trees", "commits"])("a write to %s is repeated if the answer was lost", async (kind) => {
	const { repository, main, github, origin } = await openRepository();
	github.inject({ method: "POST", path: new RegExp(`/git/${kind}$`), hangUp: true, applied: true });
	const { snapshot: base } = doneOf(await repository.snapshotOf(main[2]));
	const { hash } = doneOf(await repository.storeFile(new Uint8Array([1])));
	const { snapshot } = doneOf(await repository.writeSnapshot(base, [{ path: "a", hash }]));
	const written = await repository.writeCommit({ message: "m", snapshot, parents: [main[2]] });
	const { sha: commit } = doneOf(written);
	expect(git(origin, "show", "-s", "--format=%T", commit)).toBe(snapshot);
});

it("a pull request is not requested twice", async () => {
	const { repository, github } = await openRepository();
	await repository.createBranch("x", doneOf(await repository.branchHead("main")).sha ?? "");
	github.inject({ method: "POST", path: /\/pulls$/, hangUp: true });
	const draft = { ...draftOf("a/b"), draft: true };
	const fault = { code: "github-unavailable", unclear: true };
	expect(await repository.createPull(draft)).toMatchObject({ state: "failed", fault });
	const { pull } = doneOf(await repository.createPull(draft));
	expect(await repository.openPulls({ head: "x", base: "a/b" })).toMatchObject({
		pulls: [{ number: pull.number, title: "t", body: "b" }],
	});
	expect(await repository.openPulls({ head: "x", base: "main" })).toMatchObject({ pulls: [] });
	const change = { title: "T", body: "B" };
	expect(await repository.updatePull(pull.number, change)).toMatchObject({ pull: change });
	expect(github.state.pulls).toMatchObject([{ isDraft: true }]);
});

it("a refusal for want of rights names both lines that a proposal needs", async () => {
	const { repository, main } = await openRepository({ contents: "read" });
	const both = /`contents: write` .* `pull-requests: write`/;
	const lacking = async (answer: Promise<ApiResult<object>>, line: string) =>
		expect(await answer).toMatchObject({
			fault: {
				code: "github-permission",
				message: expect.stringContaining(`lacks \`${line}\``),
				fix: expect.stringMatching(both),
			},
		});
	await lacking(repository.storeFile(new Uint8Array()), "contents: write");
	await lacking(repository.createBranch("x", main[0]), "contents: write");
	await lacking(repository.openPulls({ head: "x", base: "main" }), "pull-requests: read");
	await lacking(repository.createPull(draftOf("main")), "pull-requests: write");
});

const says = (message: string) => ({ body: { message } });

it.each<[string, { status: number; body?: object }, Record<string, string | RegExp>]>([
	[
		"by a setting names the setting",
		{ status: 403, ...says("GitHub Actions is not permitted to create or approve pull requests.") },
		{ message: /settings do not allow GitHub Actions/, fix: /^Tick “Allow GitHub Actions to create/ },
	],
	[
		"by a rule says what GitHub says",
		{ status: 422, ...says("Repository rule violations found") },
		{ code: "github-rejected", message: /rule violations/, fix: /Fix what GitHub reports/ },
	],
	["of a bad token says so", { status: 401 }, { code: "github-permission", fix: /must be valid/ }],
	["of too many requests", { status: 429 }, { code: "github-rate-limited", fix: /^Run it again later/ }],
	[
		"by a GitHub that is away is no matter of ours",
		{ status: 503 },
		{ code: "github-unavailable", fix: "Nothing to fix on your side: run it again." },
	],
])("a refusal %s", async (_, answer, fault) => {
	const { repository, github } = await openRepository();
	github.inject({ method: "POST", path: /\/pulls$/, times: 9, ...answer });
	const matching = Object.fromEntries(
		Object.entries(fault).map(([key, text]) => [key, expect.stringMatching(text)]),
	);
	expect(await repository.createPull(draftOf("main"))).toMatchObject({ state: "failed", fault: matching });
});

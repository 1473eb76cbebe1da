// A history through GitHub's API, against the local GitHub on a real git repository: writers at once, lost answers, missing rights.
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { historyApi } from "../../../src/adapters/github/history-api.ts";
import { githubRepository } from "../../../src/adapters/github/repository.ts";
import { compact, fileOf, readHistory } from "../../../src/core/history/files.ts";
import { drawRepository, git, line } from "../../support/git-history.ts";
import { buildRecord, hash } from "../../support/history-records.ts";
import { startLocalGitHub } from "../../support/local-github/start.ts";
import { memoryRepository } from "../../support/memory-repository.ts";
import { temporaryFolder } from "../../support/project.ts";
import { gzippedTarball } from "../../support/tarball.ts";

const branch = "trtgate-history";
const fileOfNight = (night: number) => fileOf(buildRecord(night), hash);

async function open(contents: "read" | "write" = "write") {
	const origin = join(temporaryFolder(), "origin.git");
	drawRepository(origin, { commits: line("main", 1), refs: { "refs/heads/main": "main-0" } });
	const github = await startLocalGitHub({ gitDir: origin });
	onTestFinished(() => github.close());
	const pace = { callMs: 5000, patienceMs: 60_000, secondMs: 1 };
	const urls = { apiUrl: github.url, graphQlUrl: `${github.url}/graphql` };
	const storeOf = () =>
		historyApi(githubRepository({ token: github.token({ contents }), repository: "acme/engines", pace, ...urls }), branch);
	return { github, origin, storeOf };
}

it("a history through the API loses no record of writers that begin the branch at once, and adds none twice", async () => {
	const { github, origin, storeOf } = await open();
	expect(await storeOf().read()).toEqual([]);
	const nights = [0, 1, 2, 3];
	await Promise.all(nights.map((night) => storeOf().add([fileOfNight(night)])));
	const tip = git(origin, "rev-parse", branch);
	await storeOf().add([fileOfNight(2)]);
	expect(git(origin, "rev-parse", branch)).toBe(tip);
	expect(git(origin, "ls-tree", "-r", "--name-only", branch).split("\n")).toEqual(nights.map((night) => fileOfNight(night).path));
	const { tables, skipped } = readHistory(await storeOf().read());
	expect(tables.flatMap(({ names }) => names)).toHaveLength(4);
	expect(skipped).toEqual([]);
	expect(github.state.violations).toEqual([]);
});

it("a history through the API takes a record whose answer was lost for written", async () => {
	const { github, origin, storeOf } = await open();
	await storeOf().add([fileOfNight(0)]);
	github.inject({ method: "PATCH", path: /\/git\/refs\//, hangUp: true, applied: true, times: 9 });
	await storeOf().add([fileOfNight(1)]);
	expect(git(origin, "rev-list", "--count", branch)).toBe("2");
});

it("a history through the API names the right that the token lacks", async () => {
	const { storeOf } = await open("read");
	await expect(storeOf().add([fileOfNight(0)])).rejects.toMatchObject({
		code: "history-denied",
		fix: expect.stringContaining("contents: write"),
	});
});

it("a history through the API is read in two requests, whatever it holds, and compacted beside a writer", async () => {
	const { github, origin, storeOf } = await open();
	await storeOf().add([0, 1, 2].map(fileOfNight));
	await storeOf().add([{ path: "notes.txt", text: "ours" }]);
	const before = github.state.requests.length;
	await storeOf().read();
	expect(github.state.requests.slice(before).filter(({ path }) => path.startsWith("/repos/"))).toHaveLength(2);
	const plan = (files: Parameters<typeof compact>[0]) => compact(files, "2026-02");
	await Promise.all([storeOf().compact(plan), storeOf().add([fileOfNight(40)])]);
	expect(git(origin, "ls-tree", "-r", "--name-only", branch).split("\n")).toEqual([
		"months/2026-01.json",
		"notes.txt",
		fileOfNight(40).path,
	]);
	const { tables } = readHistory(await storeOf().read());
	expect(tables.flatMap(({ names }) => names)).toHaveLength(4);
	expect(await storeOf().compact(plan)).toBe(false);
	expect(github.state.violations).toEqual([]);
});

it.each([
	["no archive", Buffer.from("<html>")],
	["a bomb", gzipSync(Buffer.alloc(2 ** 24))],
	["cut short", gzipSync(gunzipSync(gzippedTarball([{ path: "top/runs/a.json", text: "x".repeat(2000) }])).subarray(0, 1024))],
])("a history through the API refuses what GitHub sends where it is %s", async (_, archive) => {
	const repository = { ...memoryRepository(), readArchive: async () => ({ state: "done" as const, archive }) };
	await historyApi(repository, branch).add([fileOfNight(0)]);
	await expect(historyApi(repository, branch, 2 ** 20).read()).rejects.toMatchObject({ code: "history-unreadable" });
});

it("a history through the API leaves out links, hidden files and paths above its folder", async () => {
	const entries = [
		{ path: "top/runs/link.json", text: "", kind: "2" },
		{ path: "top/.git/config", text: "x" },
		{ path: "top/../../etc/passwd", text: "x" },
		{ path: "top/notes.txt", text: "ours" },
	];
	const repository = {
		...memoryRepository(),
		readArchive: async () => ({ state: "done" as const, archive: new Uint8Array(gzippedTarball(entries)) }),
	};
	await historyApi(repository, branch).add([fileOfNight(0)]);
	expect(await historyApi(repository, branch).read()).toEqual([{ path: "notes.txt", text: "ours" }]);
});

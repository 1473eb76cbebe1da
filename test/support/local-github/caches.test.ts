// The cache service under the toolkit's real client: scopes, restore keys, tokens that may not write.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../project.ts";
import { runToolkit, type Step } from "./run-toolkit.ts";
import { type Job, type LocalGitHub, startLocalGitHub } from "./start.ts";

const sha = "a".repeat(40);
const main = { event: "push", payload: {}, ref: "refs/heads/main" } as const;
const pull = (number: number, ref = "change") =>
	({
		event: "pull_request",
		payload: { number, pull_request: { number, head: { ref, sha }, base: { ref: "main", sha } } },
		ref: `refs/pull/${number}/merge`,
	}) as const;

interface Desk {
	github: LocalGitHub;
	workspace: string;
	run(
		job: Pick<Job, "event" | "payload" | "ref"> & Partial<Job>,
		steps: readonly Step[],
	): ReturnType<typeof runToolkit>;
}

async function start(): Promise<Desk> {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const workspace = temporaryFolder();
	mkdirSync(join(workspace, "engines"));
	writeFileSync(join(workspace, "engines", "plan"), "engine");
	const run: Desk["run"] = async (job, steps) =>
		runToolkit(await github.environment({ workspace, temp: join(workspace, ".temp"), sha, ...job }), steps);
	return { github, workspace, run };
}

const save = (key: string): Step => ({ kind: "cache", method: "saveCache", args: [["engines"], key] });
const restore = (key: string, keys: string[] = []): Step => ({
	kind: "cache",
	method: "restoreCache",
	args: [["engines"], key, keys],
});
const lookUp = (key: string, keys: string[] = []): Step => ({
	kind: "cache",
	method: "restoreCache",
	args: [["engines"], key, keys, { lookupOnly: true }],
});

it("the cache service keeps what is saved, and gives back the newest whose key begins with a restore key", async () => {
	const { github, workspace, run } = await start();
	const saved = await run(main, [save("engines-1"), save("engines-1"), save("engines-2")]);
	expect(saved.results.map((result) => result.value)).toEqual([expect.any(Number), -1, expect.any(Number)]);
	expect(saved.stdout).toMatch(
		/Unable to reserve cache with key engines-1, another job may be creating this cache/,
	);
	rmSync(join(workspace, "engines"), { recursive: true });
	const read = await run(main, [
		restore("engines-3", ["nothing-", "engines-"]),
		lookUp("engines-1"),
		lookUp("other"),
	]);
	expect(read.results.map((result) => result.value)).toEqual(["engines-2", "engines-1", null]);
	expect(readFileSync(join(workspace, "engines", "plan"), "utf8")).toBe("engine");
	expect(github.state.violations).toEqual([]);
});

it("the cache service lets a pull request read main, and no other branch read the pull request", async () => {
	const { github, run } = await start();
	await run(main, [save("of-main")]);
	await run(pull(7), [save("of-7")]);
	const seen = async (job: Parameters<Desk["run"]>[0]) =>
		(await run(job, [lookUp("of-main"), lookUp("of-7")])).results.map((result) => result.value);
	expect(await seen(pull(7))).toEqual(["of-main", "of-7"]);
	expect(await seen(pull(8, "other"))).toEqual(["of-main", null]);
	expect(await seen(main)).toEqual(["of-main", null]);
	expect(github.state.caches.map(({ scope }) => scope)).toEqual(["refs/heads/main", "refs/pull/7/merge"]);
});

it("the cache service refuses to write for a run that a fork caused", async () => {
	const { github, run } = await start();
	const caused = {
		event: "workflow_run",
		payload: { workflow_run: { id: 5, head_sha: sha } },
		ref: "refs/heads/main",
		isFork: true,
	} as const;
	const { results, stdout } = await run(caused, [save("poison")]);
	expect(results[0]?.value).toBe(-1);
	// The client asks its own mode before it asks the service.
	expect(stdout).toMatch(/cache/i);
	expect(github.state.caches).toEqual([]);
});

it("the cache service says cache write denied and cache read denied to a client that does not know its mode", async () => {
	const { workspace, github } = await start();
	const job = { ...main, workspace, temp: join(workspace, ".temp"), sha };
	const { ACTIONS_CACHE_MODE: readMode, ...readOnly } = await github.environment({
		...job,
		cacheMode: "read",
	});
	const { ACTIONS_CACHE_MODE: noMode, ...nothing } = await github.environment({ ...job, cacheMode: "none" });
	expect([readMode, noMode]).toEqual(["read", "none"]);
	expect((await runToolkit(readOnly, [save("a")])).stdout).toMatch(
		/cache write denied: token has no writable cache scopes/,
	);
	expect((await runToolkit(nothing, [lookUp("a")])).stdout).toMatch(
		/cache read denied: token has no readable cache scopes/,
	);
});

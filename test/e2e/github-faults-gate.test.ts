// Faults around the gate itself, through the bundle: services, event and server that are not as expected change no outcome.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pullRequest, push } from "../support/event-payloads.ts";
import { armFiles, type Changes, openPlay, type Play, type Played, type PlayedJob } from "../support/github-play.ts";
import type { Fault } from "../support/local-github/start.ts";

const main = "refs/heads/main";
const few: Changes = [["pairs: [5, 8]", "pairs: [5]"]];
const always = Number.POSITIVE_INFINITY;

interface PublishedThing {
	what: string;
	state: string;
	why?: string;
	fault?: { code: string; message: string };
}

function publishedOf(played: Played): PublishedThing[] {
	return JSON.parse(readFileSync(join(played.out, "publish.json"), "utf8")).published;
}

/** Codes of what could not be published. */
function lostOf(played: Played): Record<string, string> {
	const failed = publishedOf(played).flatMap(({ what, fault }) => (fault === undefined ? [] : [[what, fault.code]]));
	return Object.fromEntries(failed);
}

describe("a cache service", () => {
	const cached: Changes = [...few, [/^ {4}golden:.*\n/m, ""], [/^cache:.*$/m, "cache: { engines: true, timing: true }"]];
	const lookup = /CacheService\/GetCacheEntryDownloadURL/;
	const reserve = /CacheService\/CreateCacheEntry/;

	async function pushed(fault: Fault): Promise<{ play: Play; played: Played }> {
		const play = await openPlay();
		const before = play.commit(armFiles("slower-head", "base", cached), { ref: main });
		const after = play.commit(armFiles("slower-head", "head", cached), { onto: before, ref: main });
		play.github.inject(fault);
		const payload = push(main, before, after);
		return { play, played: await play.run({ event: "push", sha: after, ref: main, payload, replay: { comparison: "slower-head" } }) };
	}

	it.each([
		["is away", { path: lookup, times: always, status: 503, body: {} }, { cache: "github-timeout" }],
		["is silent", { path: lookup, times: always, delayMs: 90_000 }, { cache: "github-timeout" }],
		[
			"denies writing",
			{ path: reserve, times: always, status: 403, body: { code: "permission_denied", msg: "cache write denied: no" } },
			{},
		],
		["is full", { path: reserve, times: always, status: 429, body: { code: "resource_exhausted", msg: "quota exceeded" } }, {}],
	] as [string, Fault, Record<string, string>][])(
		"that %s is waited for ten seconds at most, and changes nothing",
		async (_, fault, lost) => {
			const { play, played } = await pushed(fault);
			expect(played.run.exitCode, played.run.stdout + played.run.stderr).toBe(0);
			expect(played.run.outputs).toMatchObject({ outcome: "warn" });
			expect(lostOf(played)).toEqual(lost);
			expect(publishedOf(played).some(({ what, state }) => what === "cache" && state === "done")).toBe(false);
			expect(played.run.durationMs).toBeLessThan(30_000);
			expect(play.github.state.checkRuns).toMatchObject([{ conclusion: "success" }]);
			expect(play.github.state.artifacts).toHaveLength(2);
			expect(play.github.state.caches.filter(({ isFinal }) => isFinal)).toEqual([]);
		},
		120_000,
	);
});

describe("a runner or a server", () => {
	async function pulled(more: (play: Play) => Partial<PlayedJob>): Promise<{ play: Play; played: Played }> {
		const play = await openPlay();
		const base = play.commit(armFiles("wrong-head", "base", few), { ref: main });
		const head = play.commit(armFiles("wrong-head", "head", few), { onto: base });
		const merge = play.merge({ number: 7, base, head });
		const played = await play.run({
			...{ event: "pull_request", payload: pullRequest({ head, base, merge }), sha: merge, ref: "refs/pull/7/merge" },
			replay: { comparison: "wrong-head" },
			...more(play),
		});
		expect(played.run.exitCode, played.run.stdout + played.run.stderr).toBe(1);
		expect(played.run.outputs).toMatchObject({ outcome: "fail", "failure-kind": "" });
		expect(played.run.summary).toContain("1 golden mismatch");
		expect(existsSync(join(played.out, "report.html"))).toBe(true);
		return { play, played };
	}

	it("that lends no artifact service gets a comment and a check run without links", async () => {
		const { play, played } = await pulled(() => ({ env: { ACTIONS_RUNTIME_TOKEN: "" } }));
		expect(lostOf(played)).toMatchObject({ artifact: "github-unsupported" });
		expect(play.github.state.artifacts).toEqual([]);
		expect(play.github.state.comments[0]?.body).toContain("the whole in `report.html` and `result.json`");
		expect(play.github.state.checkRuns).toHaveLength(1);
		expect(played.run.summary).toContain("Use the action, not a `run:` step");
	}, 120_000);

	it("of an enterprise, which has no such artifact service, gets all the rest", async () => {
		const { play, played } = await pulled(() => ({ env: { GITHUB_SERVER_URL: "https://git.acme.example" } }));
		expect(lostOf(played)).toEqual({ artifact: "github-unsupported" });
		expect(play.github.state.comments[0]?.body).toContain("[run](https://git.acme.example/acme/engines/actions/runs/");
		expect(play.github.state.checkRuns).toHaveLength(1);
	}, 120_000);

	it("that gives no token still gets artifacts and the summary", async () => {
		const { play, played } = await pulled(() => ({ inputs: { token: "" } }));
		expect(lostOf(played)).toEqual({});
		expect(publishedOf(played)).toContainEqual(
			expect.objectContaining({ what: "comment", state: "skipped", why: expect.stringContaining("token") }),
		);
		expect(play.github.state.artifacts).toHaveLength(2);
		expect(play.github.state.comments).toEqual([]);
	}, 120_000);

	it.each([
		["is not there", ""],
		["is no JSON", "{"],
		["is of another shape", '[{"pull_request":7}]'],
		["is hostile", '{"pull_request":{"number":"7/../..","head":{"sha":"$(touch x)","ref":"-x"},"base":{"sha":[],"ref":{}}}}'],
	])(
		"whose event file %s: what needs no base is judged, and nobody is commented on",
		async (_, text) => {
			const { play, played } = await pulled(({ root }) => {
				const path = join(root, "odd-event.json");
				if (text !== "") writeFileSync(path, text);
				return { env: { GITHUB_EVENT_PATH: path } };
			});
			expect(played.result().arms).toMatchObject({ base: null, noBase: expect.stringContaining("pull_request event could not be read") });
			expect(play.github.state.comments).toEqual([]);
			expect(play.github.state.artifacts).toHaveLength(2);
			expect(play.github.state.violations).toEqual([]);
		},
		120_000,
	);
});

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type ExpectStatic, it } from "vitest";
import { push } from "../support/event-payloads.ts";
import { type Changes, openPlay, type Play, type Played, type PlayedJob } from "../support/github-play.ts";
import type { Fault } from "../support/local-github/start.ts";
import { type AtEnd, expectExit } from "../support/project.ts";

const main = "refs/heads/main";
const few: Changes = [["pairs: [5, 8]", "pairs: [5]"]];
const always = Number.POSITIVE_INFINITY;

interface PublishedThing {
	what: string;
	state: string;
	why?: string;
	fault?: { code: string; message: string };
}

interface Concurrent {
	expect: ExpectStatic;
	onTestFinished: AtEnd;
}

function publishedOf(played: Played): PublishedThing[] {
	return JSON.parse(readFileSync(join(played.out, "publish.json"), "utf8")).published;
}

function lostOf(played: Played): Record<string, string> {
	const failed = publishedOf(played).flatMap(({ what, fault }) =>
		fault === undefined ? [] : [[what, fault.code]],
	);
	return Object.fromEntries(failed);
}

describe.concurrent("a cache service", () => {
	const cached: Changes = [
		...few,
		[/^ {4}golden:.*\n/m, ""],
		[/^cache:.*$/m, "cache: { engines: true, timing: true }"],
	];
	const lookup = /CacheService\/GetCacheEntryDownloadURL/;
	const reserve = /CacheService\/CreateCacheEntry/;

	async function pushed(fault: Fault, atEnd: AtEnd): Promise<{ play: Play; played: Played }> {
		const play = await openPlay(atEnd);
		const { base: before, head: after } = play.sides("slower-head", cached, main);
		play.github.inject(fault);
		const job = { event: "push", sha: after, ref: main, payload: push(main, before, after) };
		return { play, played: await play.run({ ...job, replay: { comparison: "slower-head" } }) };
	}

	it.for<[string, Fault, Record<string, string>]>([
		["is silent", { path: lookup, times: always, delayMs: 3_600_000 }, { cache: "github-timeout" }],
		[
			"denies writing",
			{
				path: reserve,
				times: always,
				status: 403,
				body: { code: "permission_denied", msg: "cache write denied: no" },
			},
			{},
		],
	])(
		"a cache service that %s is not waited for, and changes nothing",
		async ([, fault, lost], { expect, onTestFinished }) => {
			const { play, played } = await pushed(fault, onTestFinished);
			expectExit(played.run, 0);
			expect(played.run.outputs).toMatchObject({ outcome: "warn" });
			expect(lostOf(played)).toEqual(lost);
			expect(publishedOf(played).some(({ what, state }) => what === "cache" && state === "done")).toBe(false);
			expect(play.github.state.checkRuns).toMatchObject([{ conclusion: "success" }]);
			expect(play.github.state.artifacts).toHaveLength(2);
			expect(play.github.state.caches.filter(({ isFinal }) => isFinal)).toEqual([]);
		},
	);
});

async function playPull(
	atEnd: AtEnd,
	more: (play: Play) => Partial<PlayedJob>,
): Promise<{ play: Play; played: Played }> {
	const play = await openPlay(atEnd);
	const { base, head } = play.sides("wrong-head", few);
	const played = await play.pull({ base, head }, { replay: { comparison: "wrong-head" }, ...more(play) });
	return { play, played };
}

describe.concurrent("a runner or a server", () => {
	async function pulled(
		{ expect, onTestFinished }: Concurrent,
		more: (play: Play) => Partial<PlayedJob>,
	): Promise<{ play: Play; played: Played }> {
		const { play, played } = await playPull(onTestFinished, more);
		expectExit(played.run, 1);
		expect(played.run.outputs).toMatchObject({ outcome: "fail", "failure-kind": "" });
		expect(played.run.summary).toContain("does not match its goldens in");
		expect(existsSync(join(played.out, "report.html"))).toBe(true);
		return { play, played };
	}

	it("a runner or a server that lends no artifact service gets a comment and a check run without links", async (context) => {
		const { expect } = context;
		const { play, played } = await pulled(context, () => ({ env: { ACTIONS_RUNTIME_TOKEN: "" } }));
		expect(lostOf(played)).toMatchObject({ artifact: "github-unsupported" });
		expect(play.github.state.artifacts).toEqual([]);
		expect(play.github.state.comments[0]?.body).toContain("full report: `report.html` and `result.json`");
		expect(play.github.state.checkRuns).toHaveLength(1);
		expect(played.run.summary).toContain("Use the action, not a `run:` step");
	});

	it("a runner or a server of an enterprise, which has no such artifact service, gets all the rest", async (context) => {
		const { expect } = context;
		const { play, played } = await pulled(context, () => ({
			env: { GITHUB_SERVER_URL: "https://git.acme.example" },
		}));
		expect(lostOf(played)).toEqual({ artifact: "github-unsupported" });
		expect(play.github.state.comments[0]?.body).toContain(
			"[run](https://git.acme.example/acme/engines/actions/runs/",
		);
		expect(play.github.state.checkRuns).toHaveLength(1);
	});

	it("a runner or a server that gives no token still gets artifacts and the summary", async (context) => {
		const { expect } = context;
		const { play, played } = await pulled(context, () => ({ inputs: { token: "" } }));
		expect(lostOf(played)).toEqual({});
		expect(publishedOf(played)).toContainEqual(
			expect.objectContaining({ what: "comment", state: "skipped", why: expect.stringContaining("token") }),
		);
		expect(play.github.state.artifacts).toHaveLength(2);
		expect(play.github.state.comments).toEqual([]);
	});

	it("a runner or a server whose event file is hostile: its base is not known, which is an error, and nobody is commented on", async ({
		expect,
		onTestFinished,
	}) => {
		const text =
			'{"pull_request":{"number":"7/../..","head":{"sha":"$(touch x)","ref":"-x"},"base":{"sha":[],"ref":{}}}}';
		const { play, played } = await playPull(onTestFinished, ({ root }) => {
			const path = join(root, "odd-event.json");
			writeFileSync(path, text);
			return { env: { GITHUB_EVENT_PATH: path } };
		});
		expectExit(played.run, 3);
		expect(played.result()).toMatchObject({
			...{ outcome: "error", failureKind: "runner", arms: { base: null } },
			errors: [
				{ code: "tool-output", message: expect.stringContaining("pull_request event could not be read") },
			],
		});
		expect(play.github.state.comments).toEqual([]);
		expect(play.github.state.artifacts).toHaveLength(2);
		expect(play.github.state.violations).toEqual([]);
	});
});

// Publishing through the real adapter to a local GitHub: races, older runs, and every way in which GitHub may refuse.
import { expect, it, onTestFinished, vi } from "vitest";
import type { Result } from "../../../../generated/result.ts";
import { githubCodeHost } from "../../../../src/host/adapters/github/code-host.ts";
import { type Pace, usualPace } from "../../../../src/host/adapters/github/request.ts";
import { publish } from "../../../../src/host/app/publish/publish-run.ts";
import { concludeUnmeasured, openCheckRun } from "../../../../src/host/stages/publish/check-run.ts";
import { markOutdated } from "../../../../src/host/stages/publish/comment.ts";
import type { Published, PublishPlan } from "../../../../src/host/stages/publish/plan.ts";
import type { CodeHost } from "../../../../src/ports/code-host.ts";
import { buildGate, buildResult } from "../../../support/build-result.ts";
import { type Fault, type LocalGitHub, startLocalGitHub } from "../../../support/local-github/start.ts";

const sha = "c".repeat(40);
const failing: Result = buildResult({
	outcome: "fail",
	gates: [buildGate({ status: "fail", location: { path: "trtgate.yml", line: 4 } })],
});
const passing: Result = buildResult({ outcome: "pass" });

const nightly = { event: "schedule", ref: "refs/heads/main", workflow: "nightly.yml" };

function planFor(runId: number, more: Partial<PublishPlan> = {}): PublishPlan {
	const shown = { links: { run: `https://github.com/acme/engines/actions/runs/${runId}` } };
	const rest = { pullRequest: 7, comment: "auto", checkRun: true, alarm: nightly } as const;
	return {
		id: "trtgate.yml",
		checkName: "trtgate",
		shown,
		run: { id: runId, attempt: 1 },
		sha,
		...rest,
		...more,
	};
}

const commentOnly = { checkRun: false, alarm: null } as const;
const alarmOnly = { comment: "never", checkRun: false } as const;

/** Waiting takes next to no time. */
const quickPace: Pace = { callMs: 60_000, patienceMs: 60_000, secondMs: 1 };

async function open(): Promise<LocalGitHub> {
	const github = await startLocalGitHub();
	onTestFinished(() => github.close());
	github.addPull({ number: 7, headSha: sha });
	return github;
}

const allWrite = { contents: "read", "pull-requests": "write", issues: "write", checks: "write" } as const;

function codeHostOf(
	github: LocalGitHub,
	given: { pace?: Pace; permissions?: Record<string, "read" | "write" | "none">; token?: string } = {},
): CodeHost {
	return githubCodeHost({
		token: given.token ?? github.token(given.permissions ?? allWrite, "github-actions[bot]"),
		repository: "acme/engines",
		apiUrl: github.url,
		graphQlUrl: `${github.url}/graphql`,
		pace: given.pace ?? quickPace,
	});
}

const failedOf = (published: readonly Published[]) =>
	published.flatMap((one) => (one.state === "failed" ? [{ what: one.what, ...one.fault }] : []));
const alarmsOf = (github: LocalGitHub) =>
	github.state.issues.filter(({ labels }) => labels.includes("trtgate"));
const ours = (github: LocalGitHub) =>
	github.state.comments.filter(({ issue, body }) => issue === 7 && body.startsWith("<!-- trtgate:"));

it("publish shows one of each, and one of each again", async () => {
	const github = await open();
	for (const runId of [1, 2]) {
		const published = await publish(failing, planFor(runId), codeHostOf(github));
		expect(failedOf(published)).toEqual([]);
	}
	expect(ours(github)).toHaveLength(1);
	expect(alarmsOf(github)).toHaveLength(1);
	const twice = await publish(failing, planFor(2), codeHostOf(github));
	expect(failedOf(twice)).toEqual([]);
	expect(github.state.checkRuns).toHaveLength(2);
	expect(github.state.checkRuns.map(({ annotations }) => annotations.length)).toEqual([1, 1]);
	expect(github.state.violations).toEqual([]);
});

it("publish leaves one comment if eight jobs race: the newest run's", async () => {
	const github = await open();
	const runs = [11, 12, 13, 14, 15, 16, 17, 18];
	await Promise.all(runs.map((runId) => publish(failing, planFor(runId, commentOnly), codeHostOf(github))));
	expect(ours(github)).toHaveLength(1);
	await publish(failing, planFor(19, commentOnly), codeHostOf(github));
	expect(ours(github).map(({ body }) => body)).toEqual([expect.stringContaining(" run:19 ")]);
});

it("publish deletes what a race of other runs left beside the comment that it updates", async () => {
	const github = await open();
	for (const run of [11, 12, 12]) {
		const body = `<!-- trtgate:trtgate.yml run:${run} attempt:1 sha:${sha} -->\n## left by run ${run}`;
		github.addComment({ issue: 7, author: "github-actions[bot]", body });
	}
	await publish(failing, planFor(13, commentOnly), codeHostOf(github));
	expect(ours(github).map(({ body }) => body)).toEqual([expect.stringContaining(" run:13 ")]);
});

it("publish leaves one comment if two jobs have both seen none", async () => {
	const github = await open();
	github.inject({ method: "POST", path: /issues\/7\/comments/, times: 2, delayMs: 100 });
	const plan = planFor(5, commentOnly);
	await Promise.all([publish(failing, plan, codeHostOf(github)), publish(failing, plan, codeHostOf(github))]);
	expect(ours(github)).toHaveLength(1);
});

it("publish ignores similar text by other authors", async () => {
	const github = await open();
	const marker = `<!-- trtgate:trtgate.yml run:9999 attempt:1 sha:${sha} -->`;
	github.addComment({ issue: 7, author: "mallory", body: `${marker}\n## all is well` });
	github.addComment({ issue: 7, author: "github-actions[bot]", body: `> quoting\n${marker}` });
	await publish(failing, planFor(3), codeHostOf(github));
	expect(ours(github).map(({ author }) => author)).toEqual(["mallory", "github-actions[bot]"]);
	expect(github.state.comments.filter(({ issue }) => issue === 7)).toHaveLength(3);
});

it("publish finds its comment behind two hundred others", async () => {
	const github = await open();
	for (let count = 0; count < 120; count += 1)
		github.addComment({ issue: 7, author: "octocat", body: `${count}` });
	await publish(failing, planFor(1, commentOnly), codeHostOf(github));
	for (let count = 0; count < 120; count += 1)
		github.addComment({ issue: 7, author: "octocat", body: `${count}` });
	await publish(failing, planFor(2, commentOnly), codeHostOf(github));
	expect(ours(github)).toHaveLength(1);
});

it("publish closes only its own alarm, and keeps it if nothing was found out", async () => {
	const github = await open();
	const plan = (runId: number, id = "trtgate.yml") =>
		planFor(runId, { id, comment: "never", checkRun: false });
	await publish(failing, plan(1), codeHostOf(github));
	await publish(failing, plan(1, "other.yml"), codeHostOf(github));
	await publish(buildResult({ outcome: "inconclusive" }), plan(3), codeHostOf(github));
	await publish(passing, plan(4, "other.yml"), codeHostOf(github));
	const alarms = alarmsOf(github);
	expect(alarms.map(({ state }) => state)).toEqual(["open", "closed"]);
});

it.each([
	["event", { event: "workflow_dispatch" }],
	["ref", { ref: "refs/heads/try" }],
	["workflow", { workflow: "other.yml" }],
])("publish leaves the alarm of another %s alone, whether it fails or passes", async (_, other) => {
	const github = await open();
	const plan = (runId: number, more = {}) =>
		planFor(runId, { comment: "never", checkRun: false, alarm: { ...nightly, ...more } });
	await publish(failing, plan(1), codeHostOf(github));
	await publish(passing, plan(2, other), codeHostOf(github));
	await publish(failing, plan(3, other), codeHostOf(github));
	const alarms = alarmsOf(github);
	expect(alarms.map(({ state, body }) => [state, /run:(\d+)/.exec(body ?? "")?.[1]])).toEqual([
		["open", "1"],
		["open", "3"],
	]);
});

it("publish shows since when an alarm lasts, and in how many runs", async () => {
	const github = await open();
	const plan = (runId: number) => planFor(runId, alarmOnly);
	const later = { ...failing, startedAt: "2026-12-24T02:17:00.000Z" };
	await publish(failing, plan(21), codeHostOf(github));
	for (const runId of [22, 22, 23]) await publish(later, plan(runId), codeHostOf(github));
	const [alarm] = alarmsOf(github);
	const runs = "https://github.com/acme/engines/actions/runs";
	expect(alarm?.body).toContain(
		`\nSince ${failing.startedAt.slice(0, 10)}, 3 runs: [first](${runs}/21), [newest](${runs}/23).\n`,
	);
	expect(alarm?.body).toContain("Runs: `schedule`, `refs/heads/main`, `nightly.yml`.");
	expect(github.state.violations).toEqual([]);
});

it("publish marks an older comment while a newer commit is measured, and takes that back only for its own run", async () => {
	const github = await open();
	await publish(failing, planFor(1, { alarm: null }), codeHostOf(github));
	const plan = (runId: number, commit: string) => planFor(runId, { sha: commit.repeat(40), alarm: null });
	const host = codeHostOf(github);
	const body = () => ours(github)[0]?.body ?? "";
	const first = body();
	await markOutdated("measuring", plan(2, "d"), host);
	expect(body()).toMatch(
		/^<!-- trtgate:trtgate.yml run:1 .*\n> \[!NOTE\]\n> Outdated, of ccccccc: \[ddddddd is being measured\]\(https.*runs\/2\)/,
	);
	await markOutdated("measuring", plan(3, "e"), host);
	await markOutdated("ended", plan(2, "d"), host);
	expect(body()).toContain("[eeeeeee is being measured]");
	await markOutdated("ended", plan(3, "e"), host);
	expect(body()).toContain("[the run for eeeeeee ended without a result]");
	expect(body().replace(/> \[!NOTE\]\n.*\n\n/, "")).toBe(first);
	await publish(passing, plan(4, "f"), host);
	expect(body()).not.toContain("Outdated");
	await markOutdated("measuring", plan(3, "e"), host);
	expect(body()).not.toContain("Outdated");
	expect(github.state.violations).toEqual([]);
});

it("publish shows a check run in progress, and concludes it once", async () => {
	const github = await open();
	const plan = planFor(1, { alarm: null });
	const codeHost = codeHostOf(github);
	await openCheckRun("measuring", plan, codeHost);
	expect(github.state.checkRuns).toMatchObject([
		{ status: "in_progress", conclusion: null, title: "measuring" },
	]);
	await publish(failing, plan, codeHost);
	await concludeUnmeasured("Cancelled", plan, codeHost);
	expect(github.state.checkRuns).toMatchObject([
		{ status: "completed", conclusion: "failure", annotations: [{}] },
	]);
	const next = planFor(2, { alarm: null });
	await openCheckRun("starting", next, codeHost);
	await concludeUnmeasured("Cancelled", next, codeHost);
	expect(github.state.checkRuns[1]).toMatchObject({
		status: "completed",
		conclusion: "cancelled",
		title: "Cancelled",
	});
	// Its runner dies, and the run is tried again; a run beside it may be alive.
	await openCheckRun("starting", planFor(3), codeHost);
	await publish(passing, { ...planFor(3), run: { id: 3, attempt: 2 } }, codeHost);
	await openCheckRun("starting", planFor(4), codeHost);
	await publish(passing, planFor(5), codeHost);
	expect(github.state.checkRuns.slice(2).map(({ conclusion }) => conclusion)).toEqual([
		"success",
		null,
		"success",
	]);
	expect(github.state.violations).toEqual([]);
});

it("publish opens an alarm for a run that could not decide, and closes it when all is well", async () => {
	const github = await open();
	const plan = (runId: number) => planFor(runId, alarmOnly);
	await publish(buildResult({ outcome: "error", failureKind: "runner" }), plan(1), codeHostOf(github));
	expect(alarmsOf(github)).toMatchObject([
		{ state: "open", title: expect.stringContaining("could not decide") },
	]);
	await publish(passing, plan(2), codeHostOf(github));
	expect(alarmsOf(github)).toMatchObject([{ state: "closed" }]);
});

it("publish sends annotations by fifties", async () => {
	const github = await open();
	const gates = Array.from({ length: 120 }, (_, at) =>
		buildGate({
			status: "fail",
			model: `m${at}`,
			message: `Slower by ${at}.`,
			location: { path: "trtgate.yml", line: at + 1 },
		}),
	);
	await publish(
		buildResult({ outcome: "fail", gates }),
		planFor(1, { comment: "never", alarm: null }),
		codeHostOf(github),
	);
	expect(github.state.checkRuns.map(({ annotations }) => annotations.length)).toEqual([120]);
	expect(github.state.violations).toEqual([]);
});

interface Case {
	name: string;
	fault: Fault;
	/** What is not shown, and the code that says why; none where a retry succeeds. */
	lost?: Record<string, string>;
	says?: RegExp;
}

const comments = /issues\/7\/comments/;
const everything = /^\/repos/;
const words = (message: string) => ({ message });
const secondary = words("You have exceeded a secondary rate limit");
const forbidden = { status: 403, body: words("Resource not accessible by integration") };

const cases: readonly Case[] = [
	{
		name: "401 for a bad token",
		fault: { path: everything, times: 99, status: 401, body: words("Bad credentials") },
		lost: {
			comment: "github-permission",
			"check run": "github-permission",
			"alarm issue": "github-permission",
		},
		says: /valid token/,
	},
	{
		name: "403 to a comment",
		fault: { method: "POST", path: comments, ...forbidden },
		lost: { comment: "github-permission" },
		says: /lacks `pull-requests: write`/,
	},
	{
		name: "403 that names its permission",
		fault: {
			method: "POST",
			path: comments,
			...forbidden,
			headers: { "x-accepted-github-permissions": "issues=write" },
		},
		lost: { comment: "github-permission" },
		says: /lacks `issues: write`/,
	},
	{
		name: "403 to a comment in a locked conversation",
		fault: {
			method: "POST",
			path: comments,
			status: 403,
			body: words("Unable to create comment because issue is locked."),
		},
		lost: { comment: "github-rejected" },
		says: /issue is locked/,
	},
	{
		name: "403 to a check run",
		fault: { method: "POST", path: /check-runs/, ...forbidden },
		lost: { "check run": "github-permission" },
		says: /lacks `checks: write`/,
	},
	{
		name: "403 to an issue",
		fault: { method: "POST", path: /\/issues$/, ...forbidden },
		lost: { "alarm issue": "github-permission" },
		says: /lacks `issues: write`/,
	},
	{
		name: "403 of a primary rate limit a day away",
		fault: {
			path: comments,
			times: 99,
			status: 403,
			body: words("API rate limit exceeded"),
			headers: {
				"x-ratelimit-remaining": "0",
				"x-ratelimit-reset": String(Math.round(Date.now() / 1000) + 86_400),
			},
		},
		lost: { comment: "github-rate-limited" },
	},
	{
		name: "403 of a secondary rate limit, once",
		fault: {
			method: "POST",
			path: comments,
			status: 403,
			body: secondary,
			headers: { "retry-after": "2" },
		},
	},
	{
		name: "403 of a secondary rate limit that names no time, for ever",
		fault: {
			method: "POST",
			path: comments,
			times: 99,
			status: 403,
			body: secondary,
		},
		lost: { comment: "github-rate-limited" },
	},
	{
		name: "404 for a pull request that is gone",
		fault: { path: comments, times: 99, status: 404, body: words("Not Found") },
		lost: { comment: "github-not-found" },
	},
	{
		name: "409 to a comment",
		fault: { method: "POST", path: comments, status: 409, body: words("Conflict") },
		lost: { comment: "github-conflict" },
	},
	{
		name: "410 where issues are switched off",
		fault: { path: /\/issues/, times: 99, status: 410, body: words("Issues are disabled for this repo") },
		lost: { comment: "github-not-found", "alarm issue": "github-not-found" },
		says: /Issues are disabled/,
	},
	{
		name: "422 with reasons",
		fault: {
			method: "POST",
			path: comments,
			status: 422,
			body: {
				message: "Validation Failed",
				errors: [{ resource: "IssueComment", code: "unprocessable", field: "data" }],
			},
		},
		lost: { comment: "github-rejected" },
		says: /IssueComment data unprocessable/,
	},
	{
		name: "422 to a check run on an unknown commit",
		fault: { method: "POST", path: /check-runs/, status: 422, body: words("No commit found for SHA") },
		lost: { "check run": "github-rejected" },
	},
	{
		name: "429 once",
		fault: {
			path: comments,
			status: 429,
			body: secondary,
			headers: { "retry-after": "60" },
		},
	},
	{
		name: "429 without a message, once",
		fault: { path: comments, status: 429, headers: { "retry-after": "60" } },
	},
	{
		name: "429 that wants a day",
		fault: {
			...{ path: comments, times: 99, status: 429, headers: { "retry-after": "86400" } },
			body: secondary,
		},
		lost: { comment: "github-rate-limited" },
	},
	{ name: "500 once", fault: { path: comments, status: 500, body: words("Server Error") } },
	{
		name: "502 after the comment was made",
		fault: { method: "POST", path: comments, status: 502, body: "<html>Bad Gateway</html>", applied: true },
	},
	{ name: "502 before the comment was made", fault: { method: "POST", path: comments, status: 502 } },
	{
		name: "503 for ever",
		fault: { path: everything, times: 99, status: 503, body: words("unavailable") },
		lost: {
			comment: "github-unavailable",
			"check run": "github-unavailable",
			"alarm issue": "github-unavailable",
		},
	},
	{ name: "a hang-up once", fault: { path: comments, hangUp: true } },
	{
		name: "a hang-up at every check run",
		fault: { path: /check-runs/, times: 99, hangUp: true },
		lost: { "check run": "github-unavailable" },
	},
	{ name: "a list that is cut short once", fault: { method: "GET", path: comments, truncate: true } },
	{
		name: "an answer to a comment that is cut short",
		fault: { method: "POST", path: comments, truncate: true, applied: true },
	},
	{
		name: "a list that is no list",
		fault: { method: "GET", path: comments, times: 99, status: 200, body: { comments: "none" } },
		lost: { comment: "github-reply" },
	},
	{
		name: "an answer in no JSON",
		fault: { method: "GET", path: comments, times: 99, status: 200, body: "<html>login</html>" },
		lost: { comment: "github-reply" },
	},
	{
		name: "silence",
		fault: { method: "GET", path: comments, times: 99, delayMs: 3000 },
		lost: { comment: "github-timeout" },
	},
	{
		name: "silence after the comment was made",
		fault: { method: "POST", path: comments, delayMs: 1500, applied: true },
	},
];

it.each(cases)(
	"a fault of GitHub $name: is reported, changes nothing, and doubles nothing",
	async ({ fault, lost = {}, says }) => {
		const github = await open();
		github.inject(fault);
		const before = JSON.stringify(failing);
		const pace = fault.delayMs === undefined ? quickPace : { ...quickPace, callMs: 1000 };
		const published = await publish(failing, planFor(1), codeHostOf(github, { pace }));
		expect(Object.fromEntries(failedOf(published).map(({ what, code }) => [what, code]))).toEqual(lost);
		expect(JSON.stringify(failing)).toBe(before);
		if (says)
			expect(
				failedOf(published)
					.map(({ message, fix }) => `${message} ${fix}`)
					.join("\n"),
			).toMatch(says);
		for (const { message, fix } of failedOf(published)) expect(`${message}${fix}`.length).toBeLessThan(1000);
		expect(ours(github)).toHaveLength("comment" in lost ? 0 : 1);
		expect(github.state.checkRuns.length).toBe("check run" in lost ? 0 : 1);
	},
);

it("a fault of GitHub that lasts a few tries loses no comment, check run or issue, and makes none twice", async () => {
	const github = await open();
	for (const path of [comments, /\/check-runs$/, /\/issues$/])
		github.inject({ method: "POST", path, status: 502, body: "<html>Bad Gateway</html>", times: 3 });
	expect(failedOf(await publish(failing, planFor(1), codeHostOf(github)))).toEqual([]);
	expect([ours(github), github.state.checkRuns, alarmsOf(github)]).toMatchObject([
		...[{ length: 1 }, { length: 1 }, { length: 1 }],
	]);
});

it.each([
	["comment", comments],
	["check run", /\/check-runs/],
	["alarm issue", /\/issues(\?|$)/],
])(
	"a fault of GitHub that hides whether the %s was made keeps it from being made again",
	async (what, path) => {
		const github = await open();
		github.inject({ method: "POST", path, status: 502, applied: true });
		const codeHost = codeHostOf(github);
		const blind = async () => void github.inject({ method: "GET", path, status: 502, times: 99 });
		const published = await publish(failing, planFor(1), {
			...codeHost,
			pause: (tries) => blind().then(() => codeHost.pause(tries)),
		});
		expect(failedOf(published)).toMatchObject([{ what, code: "github-unavailable" }]);
		expect(
			github.state.requests.filter((request) => request.method === "POST" && path.test(request.path)),
		).toHaveLength(1);
	},
);

it("a fault of GitHub that names a minute is waited for where the job's patience suffices, and reported at once elsewhere", async () => {
	expect(usualPace.patienceMs / usualPace.secondMs).toBeGreaterThan(60);
	const triesWith = async (pace: Pace): Promise<number> => {
		const github = await open();
		const headers = { "retry-after": "60" };
		github.inject({ method: "POST", path: comments, status: 403, body: secondary, headers });
		await publish(failing, planFor(1, commentOnly), codeHostOf(github, { pace }));
		return github.state.requests.filter(({ method, path }) => method === "POST" && comments.test(path))
			.length;
	};
	expect(await triesWith({ ...usualPace, secondMs: 1 })).toBe(2);
	expect(await triesWith({ ...usualPace, patienceMs: 30_000 })).toBe(1);
});

it("a fault of GitHub puts neither the token nor anything else into the log", async () => {
	const github = await open();
	const printed = (["log", "info", "warn", "error", "debug"] as const).map((name) =>
		vi.spyOn(console, name).mockImplementation(() => {}),
	);
	onTestFinished(() => void vi.restoreAllMocks());
	github.inject({
		path: comments,
		status: 502,
		headers: { deprecation: "Sat, 01 Jan 2028 00:00:00 GMT", sunset: "soon" },
		times: 2,
	});
	github.inject({
		path: comments,
		status: 429,
		body: secondary,
		headers: { "retry-after": "1" },
	});
	expect(failedOf(await publish(failing, planFor(1), codeHostOf(github)))).toEqual([]);
	expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
});

it("a fault of GitHub waits no longer than its patience, however many requests fail", async () => {
	const github = await open();
	github.inject({ path: everything, times: 999, delayMs: 5000 });
	const pace = { ...quickPace, callMs: 400, patienceMs: 1200 };
	const published = await publish(failing, planFor(1), codeHostOf(github, { pace }));
	// Each takes its whole 400 ms.
	expect(github.state.requests.length).toBeLessThanOrEqual(4);
	expect(
		failedOf(published).some(({ message }) =>
			/was not tried: the limit of .* for all waiting is used up/.test(message),
		),
	).toBe(true);
});

it("a fault of GitHub that is unreachable is reported", async () => {
	const codeHost = githubCodeHost({
		token: "t",
		repository: "acme/engines",
		apiUrl: "http://127.0.0.1:9",
		graphQlUrl: "http://127.0.0.1:9/graphql",
		pace: quickPace,
	});
	const published = await publish(passing, planFor(1), codeHost);
	expect(failedOf(published).map(({ code }) => code)).toEqual(Array(3).fill("github-unavailable"));
});

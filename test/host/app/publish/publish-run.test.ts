import { expect, it, onTestFinished, vi } from "vitest";
import type { Result } from "../../../../generated/result.ts";
import { githubCodeHost } from "../../../../src/host/adapters/github/code-host.ts";
import { type Pace, usualPace } from "../../../../src/host/adapters/github/request.ts";
import { publish } from "../../../../src/host/app/publish/publish-run.ts";
import {
	concludeUnmeasured,
	openCheckRun,
	type Published,
	type PublishPlan,
} from "../../../../src/host/stages/publish/check-run.ts";
import { markOutdated } from "../../../../src/host/stages/publish/comment.ts";
import { buildGate, buildResult } from "../../../support/build-result.ts";
import { openLocalGitHub } from "../../../support/github-play.ts";
import type { Fault } from "../../../support/local-github/start.ts";

const sha = "c".repeat(40);
const location = { path: "trtgate.yml", line: 4 };
const failing = buildResult({ outcome: "fail", gates: [buildGate({ status: "fail", location })] });
const passing = buildResult();
const nightly = { event: "schedule", ref: "refs/heads/main", workflow: "nightly.yml" };

const planFor = (runId: number, more: Partial<PublishPlan> = {}): PublishPlan => ({
	...{ id: "trtgate.yml", checkName: "trtgate", sha, run: { id: runId, attempt: 1 }, pullRequest: 7 },
	shown: { links: { run: `https://github.com/acme/engines/actions/runs/${runId}` } },
	...{ comment: "auto", checkRun: true, alarm: nightly },
	...more,
});
const commentOnly = { checkRun: false, alarm: null } as const;
const alarmOnly = { comment: "never", checkRun: false } as const;

const quickPace: Pace = { callMs: 60_000, patienceMs: 60_000, secondMs: 1 };
const allWrite = { contents: "read", "pull-requests": "write", issues: "write", checks: "write" } as const;

const hostAt = (apiUrl: string, token: string, pace = quickPace) =>
	githubCodeHost({ token, repository: "acme/engines", apiUrl, graphQlUrl: `${apiUrl}/graphql`, pace });

async function open() {
	const github = await openLocalGitHub();
	github.addPull({ number: 7, headSha: sha });
	const host = (pace?: Pace) => hostAt(github.url, github.token(allWrite), pace);
	return {
		...{ github, host, codeHost: host(), state: github.state },
		show: (result: Result, plan: PublishPlan) => publish(result, plan, host()),
		comments: () =>
			github.state.comments.filter(({ issue, body }) => issue === 7 && body.startsWith("<!-- trtgate:")),
		alarms: () => github.state.issues.filter(({ labels }) => labels.includes("trtgate")),
		comment: (author: string, body: string) => github.addComment({ issue: 7, author, body }),
	};
}

const failedOf = (published: readonly Published[]) =>
	published.flatMap((one) => (one.state === "failed" ? [{ what: one.what, ...one.fault }] : []));
const bot = "github-actions[bot]";
const markerOf = (run: number) => `<!-- trtgate:trtgate.yml run:${run} attempt:1 sha:${sha} -->`;

it("publish shows one of each, and one of each again", async () => {
	const { show, comments, alarms, state } = await open();
	for (const runId of [1, 2, 2]) expect(failedOf(await show(failing, planFor(runId)))).toEqual([]);
	expect([comments(), alarms()]).toMatchObject([{ length: 1 }, { length: 1 }]);
	expect(state.checkRuns.map(({ annotations }) => annotations.length)).toEqual([1, 1]);
});

it("publish leaves one comment if eight jobs race: the newest run's", async () => {
	const { show, comments } = await open();
	const runs = [11, 12, 13, 14, 15, 16, 17, 18];
	await Promise.all(runs.map((runId) => show(failing, planFor(runId, commentOnly))));
	expect(comments()).toHaveLength(1);
	await show(failing, planFor(19, commentOnly));
	const older = await show(failing, planFor(10, commentOnly));
	expect(older).toMatchObject([{ state: "skipped", why: "a newer run has commented already" }]);
	expect(comments().map(({ body }) => body)).toEqual([expect.stringContaining(" run:19 ")]);
});

it("publish deletes what a race of other runs left beside the comment that it updates", async () => {
	const { show, comments, comment } = await open();
	for (const run of [11, 12, 12]) comment(bot, `${markerOf(run)}\n## left by run ${run}`);
	await show(failing, planFor(13, commentOnly));
	expect(comments().map(({ body }) => body)).toEqual([expect.stringContaining(" run:13 ")]);
});

it("publish leaves one comment if two jobs have both seen none", async () => {
	const { show, comments, github } = await open();
	github.inject({ method: "POST", path: /issues\/7\/comments/, times: 2, delayMs: 100 });
	const plan = planFor(5, commentOnly);
	await Promise.all([show(failing, plan), show(failing, plan)]);
	expect(comments()).toHaveLength(1);
});

it("publish ignores similar text by other authors", async () => {
	const { show, comments, comment, state } = await open();
	comment("mallory", `${markerOf(9999)}\n## all is well`);
	comment(bot, `> quoting\n${markerOf(9999)}`);
	await show(failing, planFor(3));
	expect(comments().map(({ author }) => author)).toEqual(["mallory", bot]);
	expect(state.comments.filter(({ issue }) => issue === 7)).toHaveLength(3);
});

it("publish finds its comment behind two hundred others", async () => {
	const { show, comments, comment } = await open();
	for (const runId of [1, 2]) {
		for (let count = 0; count < 120; count += 1) comment("octocat", `${count}`);
		await show(failing, planFor(runId, commentOnly));
	}
	expect(comments()).toHaveLength(1);
});

it("publish closes only its own alarm, and keeps it if nothing was found out", async () => {
	const { show, alarms } = await open();
	const plan = (runId: number, id = "trtgate.yml") => planFor(runId, { id, ...alarmOnly });
	await show(failing, plan(1));
	await show(failing, plan(1, "other.yml"));
	await show(buildResult({ outcome: "inconclusive" }), plan(3));
	await show(passing, plan(4, "other.yml"));
	expect(alarms().map(({ state }) => state)).toEqual(["open", "closed"]);
});

it.each([
	["event", { event: "workflow_dispatch" }],
	["ref", { ref: "refs/heads/try" }],
	["workflow", { workflow: "other.yml" }],
])("publish leaves the alarm of another %s alone, whether it fails or passes", async (_, other) => {
	const { show, alarms } = await open();
	const others = { ...alarmOnly, alarm: { ...nightly, ...other } };
	await show(failing, planFor(1, alarmOnly));
	await show(passing, planFor(2, others));
	await show(failing, planFor(3, others));
	expect(alarms().map(({ state, body }) => [state, /run:(\d+)/.exec(body ?? "")?.[1]])).toEqual([
		["open", "1"],
		["open", "3"],
	]);
});

it("publish shows since when an alarm lasts, and in how many runs", async () => {
	const { show, alarms } = await open();
	const later = { ...failing, startedAt: "2026-12-24T02:17:00.000Z" };
	await show(failing, planFor(21, alarmOnly));
	for (const runId of [22, 22, 23]) await show(later, planFor(runId, alarmOnly));
	const runs = "https://github.com/acme/engines/actions/runs";
	const body = alarms()[0]?.body;
	expect(body).toContain(
		`\nSince ${failing.startedAt.slice(0, 10)}, 3 runs: [first](${runs}/21), [newest](${runs}/23).\n`,
	);
	expect(body).toContain("Runs: `schedule`, `refs/heads/main`, `nightly.yml`.");
});

it("publish marks an older comment while a newer commit is measured", async () => {
	const { show, comments, codeHost } = await open();
	await show(failing, planFor(1, { alarm: null }));
	const plan = (runId: number, commit: string) => planFor(runId, { sha: commit.repeat(40), alarm: null });
	const body = () => comments()[0]?.body ?? "";
	const first = body();
	await markOutdated("measuring", plan(2, "d"), codeHost);
	expect(body()).toMatch(
		/^<!-- trtgate:trtgate.yml run:1 .*\n> \[!NOTE\]\n> Outdated, of ccccccc: \[ddddddd is being measured\]\(https.*runs\/2\)/,
	);
	await markOutdated("measuring", plan(3, "e"), codeHost);
	await markOutdated("ended", plan(2, "d"), codeHost);
	expect(body()).toContain("[eeeeeee is being measured]");
	await markOutdated("ended", plan(3, "e"), codeHost);
	expect(body()).toContain("[the run for eeeeeee ended without a result]");
	expect(body().replace(/> \[!NOTE\]\n.*\n\n/, "")).toBe(first);
	await show(passing, plan(4, "f"));
	expect(body()).not.toContain("Outdated");
	await markOutdated("measuring", plan(3, "e"), codeHost);
	expect(body()).not.toContain("Outdated");
});

it("publish shows a check run in progress, and concludes it once", async () => {
	const { show, codeHost, state } = await open();
	const [plan, next] = [planFor(1, { alarm: null }), planFor(2, { alarm: null })];
	await openCheckRun("measuring", plan, codeHost);
	expect(state.checkRuns).toMatchObject([{ status: "in_progress", conclusion: null, title: "measuring" }]);
	await show(failing, plan);
	await concludeUnmeasured("Cancelled", plan, codeHost);
	await openCheckRun("starting", next, codeHost);
	await concludeUnmeasured("Cancelled", next, codeHost);
	expect(state.checkRuns).toMatchObject([
		{ status: "completed", conclusion: "failure", annotations: [{}] },
		{ status: "completed", conclusion: "cancelled", title: "Cancelled" },
	]);
	// Its runner dies, and the run is tried again; a run beside it may be alive.
	await openCheckRun("starting", planFor(3), codeHost);
	await show(passing, { ...planFor(3), run: { id: 3, attempt: 2 } });
	await openCheckRun("starting", planFor(4), codeHost);
	await show(passing, planFor(5));
	const conclusions = state.checkRuns.slice(2).map(({ conclusion }) => conclusion);
	expect(conclusions).toEqual(["success", null, "success"]);
});

it("publish opens an alarm for a run that could not decide, and closes it when all is well", async () => {
	const { show, alarms } = await open();
	await show(buildResult({ outcome: "error", failureKind: "runner" }), planFor(1, alarmOnly));
	expect(alarms()).toMatchObject([{ state: "open", title: expect.stringContaining("could not decide") }]);
	await show(passing, planFor(2, alarmOnly));
	expect(alarms()).toMatchObject([{ state: "closed" }]);
});

it("publish sends annotations by fifties", async () => {
	const { show, state } = await open();
	const gates = Array.from({ length: 120 }, (_, line) =>
		buildGate({ status: "fail", model: `m${line}`, location: { path: "trtgate.yml", line: line + 1 } }),
	);
	await show(buildResult({ outcome: "fail", gates }), planFor(1, { comment: "never", alarm: null }));
	expect(state.checkRuns.map(({ annotations }) => annotations.length)).toEqual([120]);
});

const comments = /issues\/7\/comments/;
const [checks, issues, everything] = [/check-runs/, /\/issues$/, /^\/repos/];
const at = { path: comments };
const [reads, posts] = [
	{ method: "GET", path: comments },
	{ method: "POST", path: comments },
];
const times = 99;
const answers = (status: number, message: string) => ({ status, body: { message } });
const waits = (seconds: number) => ({ headers: { "retry-after": String(seconds) } });
const tooMany = (status: number) => answers(status, "You have exceeded a secondary rate limit");
const forbidden = answers(403, "Resource not accessible by integration");
const badGateway = { status: 502, body: "<html>Bad Gateway</html>" };
const reset = String(Math.round(Date.now() / 1000) + 86_400);
const dayAway = { headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset } };
const names = { headers: { "x-accepted-github-permissions": "issues=write" } };
const reasons = { errors: [{ resource: "IssueComment", code: "unprocessable", field: "data" }] };
const lost = (code: string, ...what: string[]) =>
	Object.fromEntries((what.length === 0 ? ["comment"] : what).map((one) => [one, `github-${code}`]));
const [check, alarm] = ["check run", "alarm issue"];

/** With what is not shown, and the code that says why: none if a retry succeeds. */
const faults: [string, Fault, Record<string, string>?, RegExp?][] = [
	[
		"401 for a bad token",
		{ path: everything, times, ...answers(401, "Bad credentials") },
		lost("permission", "comment", check, alarm),
		/valid token/,
	],
	["403", { ...posts, ...forbidden }, lost("permission"), /lacks `pull-requests: write`/],
	[
		"403 that names a right",
		{ ...posts, ...forbidden, ...names },
		lost("permission"),
		/lacks `issues: write`/,
	],
	["403 to a lock", { ...posts, ...answers(403, "issue is locked") }, lost("rejected"), /is locked/],
	[
		"403 to a check run",
		{ method: "POST", path: checks, ...forbidden },
		lost("permission", check),
		/lacks `checks: write`/,
	],
	[
		"403 to an issue",
		{ method: "POST", path: issues, ...forbidden },
		lost("permission", alarm),
		/lacks `issues: write`/,
	],
	[
		"403 of a limit a day away",
		{ ...at, times, ...answers(403, "API rate limit exceeded"), ...dayAway },
		lost("rate-limited"),
	],
	["403 of a secondary limit, once", { ...posts, ...tooMany(403), ...waits(2) }],
	["403 of a secondary limit, for ever", { ...posts, times, ...tooMany(403) }, lost("rate-limited")],
	["404 for a pull request that is gone", { ...at, times, ...answers(404, "Not Found") }, lost("not-found")],
	["409 to a comment", { ...posts, ...answers(409, "Conflict") }, lost("conflict")],
	[
		"410 where issues are switched off",
		{ path: /\/issues/, times, ...answers(410, "Issues are disabled for this repo") },
		lost("not-found", "comment", alarm),
		/Issues are disabled/,
	],
	[
		"422 with reasons",
		{ ...posts, status: 422, body: { message: "Validation Failed", ...reasons } },
		lost("rejected"),
		/IssueComment data unprocessable/,
	],
	[
		"422 to a check run on an unknown commit",
		{ method: "POST", path: checks, ...answers(422, "No commit found for SHA") },
		lost("rejected", check),
	],
	["429 once", { ...at, ...tooMany(429), ...waits(60) }],
	["429 without a message, once", { ...at, status: 429, ...waits(60) }],
	["429 that wants a day", { ...at, times, ...tooMany(429), ...waits(86_400) }, lost("rate-limited")],
	["500 once", { ...at, ...answers(500, "Server Error") }],
	["502 after the comment was made", { ...posts, ...badGateway, applied: true }],
	["502 before the comment was made", { ...posts, status: 502 }],
	[
		"503 for ever",
		{ path: everything, times, ...answers(503, "unavailable") },
		lost("unavailable", "comment", check, alarm),
	],
	["a hang-up once", { ...at, hangUp: true }],
	["a hang-up at every check run", { path: checks, times, hangUp: true }, lost("unavailable", check)],
	["a list that is cut short once", { ...reads, truncate: true }],
	["an answer to a comment that is cut short", { ...posts, truncate: true, applied: true }],
	["no list", { ...reads, times, status: 200, body: { comments: "none" } }, lost("reply")],
	["no JSON", { ...reads, times, status: 200, body: "<html>login</html>" }, lost("reply")],
	["silence", { ...reads, times, delayMs: 3000 }, lost("timeout")],
	["silence after the comment was made", { ...posts, delayMs: 1500, applied: true }],
];

const earlier = (author: string) => ({
	issue: 3,
	author,
	body: markerOf(1).replace("trtgate.yml", "other.yml%23l4"),
});

it.each([
	["comments if the repository has no comment of ours", [], 1],
	["comments if only another user has copied our marker", [earlier("octocat")], 1],
	["is silent after a comment of ours, whatever its pull request and gate", [earlier(bot)], 0],
])("a pass with `comment: changes` %s", async (_, before, count) => {
	const { github, comments: ours } = await open();
	for (const comment of before) github.addComment(comment);
	for (let at = 0; at < 40; at += 1)
		github.addComment({ issue: 3, author: "octocat", body: `Comment ${at}.` });
	// What a gate of pull requests has, and no more.
	const token = github.token({ contents: "read", "pull-requests": "write" });
	const published = await publish(
		passing,
		planFor(2, { ...commentOnly, comment: "changes" }),
		hostAt(github.url, token),
	);
	expect(published).toMatchObject([{ what: "comment", state: count === 1 ? "done" : "skipped" }]);
	expect(ours()).toHaveLength(count);
});

it("a pass with `comment: changes` is silent if GitHub does not tell whether it is the first, and loses nothing", async () => {
	const { github, show, comments: ours } = await open();
	const plan = planFor(2, { ...commentOnly, comment: "changes" });
	github.inject({
		method: "GET",
		path: /\/issues\/comments(\?|$)/,
		status: 403,
		body: { message: "no" },
		times: 9,
	});
	expect(await show(passing, plan)).toMatchObject([{ what: "comment", state: "skipped" }]);
	expect(ours()).toEqual([]);
});

it.each(faults)(
	"a GitHub fault %s: is reported, changes nothing, and doubles nothing",
	async (_, fault, missing = {}, says = /^/) => {
		const { github, host, state, comments: ours } = await open();
		github.inject(fault);
		const before = JSON.stringify(failing);
		const pace = fault.delayMs === undefined ? quickPace : { ...quickPace, callMs: 1000 };
		const failed = failedOf(await publish(failing, planFor(1), host(pace)));
		expect(Object.fromEntries(failed.map(({ what, code }) => [what, code]))).toEqual(missing);
		expect(JSON.stringify(failing)).toBe(before);
		const texts = failed.map(({ message, fix }) => `${message} ${fix}`);
		expect(texts.join("\n")).toMatch(says);
		for (const text of texts) expect(text.length).toBeLessThan(1000);
		expect(ours()).toHaveLength("comment" in missing ? 0 : 1);
		expect(state.checkRuns).toHaveLength(check in missing ? 0 : 1);
	},
);

it("a GitHub fault that lasts a few tries loses and doubles nothing", async () => {
	const { github, show, state, comments: ours, alarms } = await open();
	for (const path of [comments, /\/check-runs$/, issues])
		github.inject({ method: "POST", path, ...badGateway, times: 3 });
	expect(failedOf(await show(failing, planFor(1)))).toEqual([]);
	expect([ours().length, state.checkRuns.length, alarms().length]).toEqual([1, 1, 1]);
});

it.each([
	["comment", comments],
	["check run", /\/check-runs/],
	["alarm issue", /\/issues(\?|$)/],
])("a GitHub fault that hides whether the %s was made keeps it from being made again", async (what, path) => {
	const { github, codeHost, state } = await open();
	github.inject({ method: "POST", path, status: 502, applied: true });
	const pause = (tries: number) => {
		github.inject({ method: "GET", path, status: 502, times });
		return codeHost.pause(tries);
	};
	const published = await publish(failing, planFor(1), { ...codeHost, pause });
	expect(failedOf(published)).toMatchObject([{ what, code: "github-unavailable" }]);
	const made = state.requests.filter((request) => request.method === "POST" && path.test(request.path));
	expect(made).toHaveLength(1);
});

it("a GitHub fault that names a minute is waited for if the patience suffices", async () => {
	expect(usualPace.patienceMs / usualPace.secondMs).toBeGreaterThan(60);
	const triesWith = async (pace: Pace) => {
		const { github, host, state } = await open();
		github.inject({ ...posts, ...tooMany(403), ...waits(60) });
		await publish(failing, planFor(1, commentOnly), host(pace));
		return state.requests.filter(({ method, path }) => method === "POST" && comments.test(path)).length;
	};
	expect(await triesWith({ ...usualPace, secondMs: 1 })).toBe(2);
	expect(await triesWith({ ...usualPace, patienceMs: 30_000 })).toBe(1);
});

it("a GitHub fault puts neither the token nor anything else into the log", async () => {
	const { github, show } = await open();
	const printed = (["log", "info", "warn", "error", "debug"] as const).map((name) =>
		vi.spyOn(console, name).mockImplementation(() => {}),
	);
	onTestFinished(() => void vi.restoreAllMocks());
	const headers = { deprecation: "Sat, 01 Jan 2028 00:00:00 GMT", sunset: "soon" };
	github.inject({ ...at, status: 502, headers, times: 2 });
	github.inject({ ...at, ...tooMany(429), ...waits(1) });
	expect(failedOf(await show(failing, planFor(1)))).toEqual([]);
	expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
});

it("a GitHub fault waits no longer than its patience, however many requests fail", async () => {
	const { github, host, state } = await open();
	github.inject({ path: everything, times: 999, delayMs: 5000 });
	const pace = { ...quickPace, callMs: 400, patienceMs: 1200 };
	const failed = failedOf(await publish(failing, planFor(1), host(pace)));
	// Each takes its whole 400 ms.
	expect(state.requests.length).toBeLessThanOrEqual(4);
	expect(failed.map(({ message }) => message).join()).toMatch(
		/was not tried: the limit of .* for all waiting is used up/,
	);
});

it("a GitHub fault that is unreachable is reported", async () => {
	const published = await publish(passing, planFor(1), hostAt("http://127.0.0.1:9", "t"));
	expect(failedOf(published).map(({ code }) => code)).toEqual(Array(3).fill("github-unavailable"));
});

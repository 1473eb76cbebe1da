import { expect, it, onTestFinished } from "vitest";
import { renderMarker } from "../../../../src/core/report/comment.ts";
import { giteaCodeHost, giteaHost, giteaRunFacts } from "../../../../src/host/adapters/gitea/code-host.ts";
import { readWorkflowRun } from "../../../../src/host/adapters/github/env.ts";
import { publishAlarm } from "../../../../src/host/stages/publish/alarm.ts";
import { type PublishPlan, publishCheckRun } from "../../../../src/host/stages/publish/check-run.ts";
import { publishComment } from "../../../../src/host/stages/publish/comment.ts";
import { buildResult } from "../../../support/build-result.ts";
import { actionsUser, commentOf, startGitea } from "../../../support/gitea.ts";

const sha = "a".repeat(40);
const label = { id: 31, name: "trtgate", color: "d73a4a" };
const plan: PublishPlan = {
	id: "trtgate.yml",
	checkName: "trtgate",
	shown: { links: { run: "http://gitea/acme/engines/actions/runs/12" } },
	run: { id: 12, attempt: 1 },
	sha,
	pullRequest: 1,
	comment: "auto",
	checkRun: true,
	alarm: null,
};
const alarm = { event: "schedule", ref: "refs/heads/main", workflow: "nightly" };

async function open(replies: Parameters<typeof startGitea>[0]) {
	const gitea = await startGitea({ "GET /user": [200, actionsUser], ...replies }, onTestFinished);
	const urls = { apiUrl: `${gitea.url}/api/v1`, graphQlUrl: `${gitea.url}/graphql` };
	const options = { token: "t", repository: "acme/engines", host: "Gitea", ...urls };
	const sent = (method: string) => gitea.asked.filter((one) => one.method === method);
	return { ...gitea, sent, options, codeHost: giteaCodeHost(options) };
}

it("a second push updates the comment on Gitea and removes duplicates, whose author only the token's user tells", async () => {
	const marker = renderMarker({ id: plan.id, runId: 11, attempt: 1, sha });
	const all = [commentOf(1, marker), commentOf(2, `${marker} forged`, "stranger"), commentOf(3, marker)];
	const gitea = await open({
		"GET /issues/1/comments": [200, all],
		"PATCH /issues/comments/1": ({ body }) => [200, commentOf(1, String(body["body"]))],
		"DELETE /issues/comments/3": [204, null],
	});
	const published = await publishComment(buildResult(), plan, gitea.codeHost);
	expect(published).toMatchObject({ state: "done", url: all[0]?.html_url });
	expect(gitea.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
		"GET /issues/1/comments",
		"GET /user",
		"PATCH /issues/comments/1",
		"DELETE /issues/comments/3",
	]);
});

it("a list of exactly a hundred comments, which Gitea gives for every page, is read once", async () => {
	const all = Array.from({ length: 100 }, (_, index) => commentOf(index + 1, "text"));
	const gitea = await open({ "GET /issues/1/comments": [200, all] });
	const listed = await gitea.codeHost.comments(1);
	expect(listed.state === "done" && listed.comments.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
	expect(gitea.asked).toHaveLength(2);
});

const issue = (number: number, labels: readonly unknown[], body = "") => ({
	number,
	html_url: `http://gitea/acme/engines/issues/${number}`,
	user: actionsUser,
	labels,
	body,
});

it.each([
	["exists", [label], []],
	["does not exist, so that Gitea lists all issues", [], ["POST /labels"]],
])("an alarm is opened on Gitea with the id of a label that %s", async (_, labels, made) => {
	const foreign = issue(4, [], renderMarker({ id: "trtgate.yml", runId: 99, attempt: 1, sha }));
	const gitea = await open({
		"GET /issues": [200, [foreign]],
		"GET /labels": [200, labels],
		"POST /labels": [201, label],
		"POST /issues": ({ body }) =>
			Array.isArray(body["labels"]) && body["labels"].every(Number.isInteger)
				? [201, issue(5, [label])]
				: [422, { message: "json: cannot unmarshal string into Go struct field .labels of type int64" }],
	});
	const result = buildResult({ outcome: "fail" });
	const published = await publishAlarm(result, { ...plan, alarm }, gitea.codeHost);
	expect(published).toMatchObject({ state: "done", url: "http://gitea/acme/engines/issues/5" });
	expect(gitea.sent("POST").map(({ method, path }) => `${method} ${path}`)).toEqual([
		...made,
		"POST /issues",
	]);
	expect(gitea.sent("POST").at(-1)?.body["labels"]).toEqual([label.id]);
});

const status = (id: number, state: string, run: number) => ({
	id,
	status: state,
	context: "trtgate",
	target_url: `http://gitea/acme/engines/actions/runs/${run}`,
});

it("a commit status stands for the check run that Gitea has not, and only its own run concludes it", async () => {
	const gitea = await open({
		[`GET /commits/${sha}/statuses`]: [200, [status(7, "success", 11), status(8, "pending", 12)]],
		[`POST /statuses/${sha}`]: ({ body }) => [201, status(9, String(body["state"]), 12)],
	});
	const { codeHost } = gitea;
	const keyOf = (run: number) => ({ name: "trtgate", sha, key: `trtgate.yml/${run}/1` });
	expect(await codeHost.findReport(keyOf(12))).toMatchObject({ report: { id: 8, isOpen: true } });
	expect(await codeHost.findReport(keyOf(11))).toMatchObject({ report: null });
	expect(await publishCheckRun(buildResult({ outcome: "fail" }), plan, codeHost)).toMatchObject({
		state: "done",
	});
	expect(gitea.sent("POST")[0]?.body).toMatchObject({ state: "failure", context: "trtgate" });
});

it("a status that Gitea denies names the permission that helps, and Gitea", async () => {
	const gitea = await open({
		[`GET /commits/${sha}/statuses`]: [200, []],
		[`POST /statuses/${sha}`]: [
			403,
			{ message: "user should have a permission to write to the target repo" },
		],
	});
	const published = await publishCheckRun(buildResult(), plan, gitea.codeHost);
	expect(published).toMatchObject({
		state: "failed",
		fault: { lacks: "contents: write", message: expect.stringMatching(/^Gitea answered 403 to POST/) },
	});
});

it("the pull request of a fork's run is found by its head, as the run names neither branch nor repository", async () => {
	const head = {
		ref: "faster",
		sha,
		repo: { id: 2, name: "engines", url: "http://gitea/api/v1/repos/mo/engines" },
	};
	const other = { ...head, ref: "slower", sha: "b".repeat(40) };
	const pulls = [
		{ number: 1, head: { sha, ref: "faster", repo: { full_name: "mo/engines" } } },
		{ number: 2, head: { sha, ref: "faster", repo: { full_name: "acme/engines" } } },
	];
	const run = {
		id: 500,
		run_attempt: 1,
		event: "pull_request",
		head_sha: sha,
		path: "gate.yml@refs/pull/1/head",
	};
	const gitea = await open({
		"GET /actions/runs/500": [
			200,
			{
				...run,
				pull_requests: [
					{ number: 3, head: other },
					{ number: 1, head },
				],
			},
		],
		"GET /actions/runs/501": [200, { ...run, id: 501, pull_requests: [] }],
		"GET /pulls": [200, pulls],
	});
	const facts = giteaRunFacts(gitea.options);
	const found = await facts.run(500);
	expect(found).toMatchObject({ run: { headSha: sha, headBranch: "faster", headRepository: "mo/engines" } });
	if (found.state === "done")
		expect(await facts.openPulls(found.run)).toEqual({ state: "done", pulls: [{ number: 1, headSha: sha }] });
	expect(await facts.run(501)).toMatchObject({ run: { headBranch: "", headRepository: "" } });
});

it("Gitea has no API to propose goldens with, which is known before they are recorded", () => {
	const options = { token: "t", repository: "acme/engines", apiUrl: "", graphQlUrl: "" };
	const github = {} as Parameters<typeof giteaHost>[0];
	expect(giteaHost(github, () => options, "t").repository()).toBeNull();
	expect(giteaHost(github, () => options, "").codeHost()).toBeNull();
});

it.each([
	[{ GITEA_ACTIONS: "true" }, true],
	[{ FORGEJO_ACTIONS: "true" }, true],
	[{}, false],
])(
	"the runner says which host it belongs to: %j; without a file, the workflow is its name",
	(variables, isGitea) => {
		const env = {
			GITHUB_ACTIONS: "true",
			GITHUB_REPOSITORY: "acme/engines",
			GITHUB_WORKFLOW: "nightly",
			...variables,
		};
		expect(readWorkflowRun(env)).toMatchObject({ isGitea, workflow: "nightly" });
	},
);

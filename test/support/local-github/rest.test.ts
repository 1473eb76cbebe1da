// REST of the local GitHub under the toolkit's real client.
import { readFileSync } from "node:fs";
import { getOctokit } from "@actions/github";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../project.ts";
import { runToolkit } from "./run-toolkit.ts";
import { type Job, type LocalGitHub, startLocalGitHub } from "./start.ts";

type Octokit = ReturnType<typeof getOctokit>;

const sha = "a".repeat(40);
const baseSha = "b".repeat(40);
const target = { owner: "acme", repo: "engines" };

interface Started {
	github: LocalGitHub;
	env: Record<string, string>;
	octokit: Octokit;
}

async function startPull(more: Partial<Job> = {}): Promise<Started> {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const workspace = temporaryFolder();
	const payload = { number: 7, pull_request: { number: 7, head: { ref: "change", sha }, base: { ref: "main", sha: baseSha } } };
	const env = await github.environment({
		event: "pull_request",
		payload,
		workspace,
		temp: workspace,
		sha,
		ref: "refs/pull/7/merge",
		...more,
	});
	const octokit = getOctokit(env["GITHUB_TOKEN"] ?? "", { baseUrl: github.url });
	return { github, env, octokit };
}

/** What a refused call says. */
async function refusal(call: Promise<unknown>): Promise<{ status: number; message: string; headers: Record<string, string> }> {
	const error = await call.then(
		() => undefined,
		(cause: unknown) => cause as { status: number; message: string; response?: { headers: Record<string, string> } },
	);
	if (!error) throw new Error("the call was not refused");
	return { status: error.status, message: error.message, headers: error.response?.headers ?? {} };
}

describe("comments", () => {
	it("are created, found page by page, changed, hidden, shown and deleted", async () => {
		const { github, octokit } = await startPull();
		for (let index = 0; index < 65; index += 1) github.addComment({ issue: 7, body: `comment ${index}`, author: "octocat" });
		const created = await octokit.rest.issues.createComment({ ...target, issue_number: 7, body: "<!-- trtgate --> one" });
		const all = await octokit.paginate(octokit.rest.issues.listComments, { ...target, issue_number: 7, per_page: 30 });
		expect(all.map((comment) => comment.body)).toEqual([
			...Array.from({ length: 65 }, (_, index) => `comment ${index}`),
			"<!-- trtgate --> one",
		]);
		expect(github.state.requests.filter(({ method }) => method === "GET")).toHaveLength(3);
		await octokit.rest.issues.updateComment({ ...target, comment_id: created.data.id, body: "two" });
		const hide =
			"mutation($id: ID!) { minimizeComment(input: { subjectId: $id, classifier: OUTDATED }) { minimizedComment { isMinimized minimizedReason } } }";
		const hidden = await octokit.graphql(hide, { id: created.data.node_id });
		expect(hidden).toEqual({
			minimizeComment: { minimizedComment: { isMinimized: true, minimizedReason: "outdated", id: created.data.node_id } },
		});
		expect(github.state.comments.at(-1)).toMatchObject({ body: "two", author: "github-actions[bot]", minimized: "outdated" });
		const show = "mutation($input: UnminimizeCommentInput!) { unminimizeComment(input: $input) { unminimizedComment { isMinimized } } }";
		await octokit.graphql(show, { input: { subjectId: created.data.node_id } });
		expect(github.state.comments.at(-1)?.minimized).toBeNull();
		await octokit.rest.issues.deleteComment({ ...target, comment_id: created.data.id });
		expect(github.state.comments).toHaveLength(65);
		expect(github.state.violations).toEqual([]);
	});

	it("are refused over 65,536 characters, without a body and where there is no issue", async () => {
		const { github, octokit } = await startPull();
		const comment = (issue_number: number, body: string) => octokit.rest.issues.createComment({ ...target, issue_number, body });
		await comment(7, "x".repeat(65_536));
		expect(await refusal(comment(7, "x".repeat(65_537)))).toMatchObject({
			status: 422,
			message: expect.stringMatching(/Body is too long \(maximum is 65536 characters\)/),
		});
		expect((await refusal(comment(8, "x"))).status).toBe(404);
		expect((await refusal(comment(7, undefined as never))).status).toBe(422);
		expect(github.state.violations).toEqual([expect.stringMatching(/issues\/7\/comments: a body is required/)]);
		expect(github.state.comments).toHaveLength(1);
	});
});

describe("the token of a job", () => {
	it("reaches what its permissions name, and a refusal names what is missing", async () => {
		const { github, octokit } = await startPull({ permissions: { contents: "read", "pull-requests": "write" } });
		await octokit.rest.issues.createComment({ ...target, issue_number: 7, body: "one" });
		const check = await refusal(octokit.rest.checks.create({ ...target, name: "gate", head_sha: sha }));
		expect(check).toMatchObject({ status: 403, message: expect.stringMatching(/Resource not accessible by integration/) });
		expect(check.headers["x-accepted-github-permissions"]).toBe("checks=write");
		const issue = github.addIssue({ title: "alarm" });
		const comment = await refusal(octokit.rest.issues.createComment({ ...target, issue_number: issue.number, body: "two" }));
		expect(comment.headers["x-accepted-github-permissions"]).toBe("issues=write");
	});

	it("of a fork reads at most", async () => {
		const { octokit } = await startPull({ isFork: true });
		await octokit.rest.issues.listComments({ ...target, issue_number: 7 });
		const comment = await refusal(octokit.rest.issues.createComment({ ...target, issue_number: 7, body: "one" }));
		expect(comment.headers["x-accepted-github-permissions"]).toBe("issues=write; pull_requests=write");
	});

	it("is refused where nobody issued it", async () => {
		const { github } = await startPull();
		const stranger = getOctokit("ghs_unknown", { baseUrl: github.url });
		expect(await refusal(stranger.rest.repos.get(target))).toMatchObject({
			status: 401,
			message: expect.stringMatching(/Bad credentials/),
		});
	});

	it("runs out of requests after the limit of an hour", async () => {
		const { github, octokit } = await startPull();
		github.state.rateLimit.limit = 1;
		const first = await octokit.rest.repos.get(target);
		expect(first.headers).toMatchObject({
			"x-ratelimit-limit": "1",
			"x-ratelimit-remaining": "0",
			"x-github-request-id": expect.any(String),
		});
		expect(await refusal(octokit.rest.repos.get(target))).toMatchObject({
			status: 403,
			message: expect.stringMatching(/rate limit exceeded/),
		});
	});
});

describe("check runs and statuses", () => {
	it("are created, completed, and gather annotations 50 at a time", async () => {
		const { github, octokit } = await startPull();
		const annotation = { path: "trtgate.yml", start_line: 3, end_line: 3, annotation_level: "failure" as const, message: "slower" };
		const annotations = Array.from({ length: 50 }, () => annotation);
		const output = { title: "1 regression", summary: "s" };
		const created = await octokit.rest.checks.create({
			...target,
			name: "gate",
			head_sha: sha,
			status: "in_progress",
			output: { ...output, annotations },
		});
		const update = { ...target, check_run_id: created.data.id };
		await octokit.rest.checks.update({ ...update, conclusion: "failure", output: { ...output, annotations: annotations.slice(0, 7) } });
		expect(
			(await refusal(octokit.rest.checks.update({ ...update, output: { ...output, annotations: [...annotations, annotation] } }))).status,
		).toBe(422);
		expect((await refusal(octokit.rest.checks.update({ ...update, conclusion: "green" as never }))).status).toBe(422);
		const listed = await octokit.rest.checks.listForRef({ ...target, ref: "change", check_name: "gate" });
		expect(listed.data.check_runs).toMatchObject([
			{ name: "gate", status: "completed", conclusion: "failure", output: { annotations_count: 57 } },
		]);
		const shown = await octokit.rest.checks.listAnnotations(update);
		expect(shown.data).toHaveLength(30);
		expect(github.state.violations).toHaveLength(2);
	});

	it("mark a commit", async () => {
		const { github, octokit } = await startPull();
		await octokit.rest.repos.createCommitStatus({ ...target, sha, state: "success", context: "trtgate", description: "16 of 16" });
		const { data } = await octokit.rest.repos.listCommitStatusesForRef({ ...target, ref: sha });
		expect(data).toMatchObject([{ context: "trtgate", state: "success" }]);
		expect(github.state.violations).toEqual([]);
	});
});

describe("issues and labels", () => {
	it("are opened, labelled, found by label and state, and closed", async () => {
		const { github, octokit } = await startPull();
		await octokit.rest.issues.createLabel({ ...target, name: "trtgate", color: "00ff00" });
		const { data: issue } = await octokit.rest.issues.create({ ...target, title: "resnet50 is slower", body: "b", labels: ["trtgate"] });
		await octokit.rest.issues.addLabels({ ...target, issue_number: issue.number, labels: ["nightly"] });
		const find = (state: "open" | "closed") =>
			octokit.rest.issues.listForRepo({ ...target, labels: "trtgate,nightly", state }).then(({ data }) => data.map(({ number }) => number));
		expect(await find("open")).toEqual([issue.number]);
		await octokit.rest.issues.update({ ...target, issue_number: issue.number, state: "closed", state_reason: "completed" });
		expect([await find("open"), await find("closed")]).toEqual([[], [issue.number]]);
		expect((await refusal(octokit.rest.issues.createLabel({ ...target, name: "trtgate" }))).status).toBe(422);
		expect((await octokit.rest.issues.listLabelsForRepo(target)).data.map(({ name }) => name)).toEqual(["trtgate", "nightly"]);
		expect(github.state.violations).toEqual([]);
	});
});

describe("pull requests", () => {
	it("are found by number, by head and by commit", async () => {
		const { github, octokit } = await startPull();
		github.addPull({ number: 8, headSha: "c".repeat(40), headRef: "change", headRepository: "stranger/engines", baseSha });
		const one = await octokit.rest.pulls.get({ ...target, pull_number: 7 });
		expect(one.data).toMatchObject({ number: 7, head: { sha, label: "acme:change" }, base: { sha: baseSha, ref: "main" } });
		const numbers = async (head: string) => (await octokit.rest.pulls.list({ ...target, head })).data.map(({ number }) => number);
		expect([await numbers("acme:change"), await numbers("stranger:change"), await numbers("acme:other")]).toEqual([[7], [8], []]);
		const ofCommit = await octokit.rest.repos.listPullRequestsAssociatedWithCommit({ ...target, commit_sha: "c".repeat(40) });
		expect(ofCommit.data).toMatchObject([{ number: 8, head: { repo: { fork: true } } }]);
		expect(github.state.violations).toEqual([]);
	});
});

describe("runs and the repository", () => {
	it("are what the job's variables say", async () => {
		const { github, octokit, env } = await startPull({ runId: 42, runAttempt: 2 });
		expect((await octokit.rest.repos.get(target)).data).toMatchObject({ default_branch: "main", full_name: "acme/engines" });
		const run = await octokit.rest.actions.getWorkflowRun({ ...target, run_id: Number(env["GITHUB_RUN_ID"]) });
		expect(run.data).toMatchObject({ id: 42, run_attempt: 2, event: "pull_request", head_sha: sha, pull_requests: [{ number: 7 }] });
		expect((await octokit.rest.actions.listWorkflowRunsForRepo({ ...target, event: "pull_request" })).data.total_count).toBe(1);
		expect(github.state.violations).toEqual([]);
	});

	it("know nothing of other repositories and other endpoints", async () => {
		const { github, octokit } = await startPull();
		expect((await refusal(octokit.rest.repos.get({ owner: "else", repo: "where" }))).status).toBe(404);
		expect((await refusal(octokit.request("GET /rate_limit_of_tea"))).status).toBe(404);
		expect(github.state.violations).toEqual(["GET /rate_limit_of_tea: the local GitHub has no such endpoint"]);
	});
});

describe("the event of a job", () => {
	it("carries the repositories that GitHub's payloads always carry, and what the test wrote", async () => {
		const read = (env: Record<string, string>) => JSON.parse(readFileSync(env["GITHUB_EVENT_PATH"] ?? "", "utf8"));
		const own = read((await startPull()).env);
		expect(own.pull_request).toMatchObject({ number: 7, head: { sha, repo: { full_name: "acme/engines", fork: false } } });
		const { github, env } = await startPull({ isFork: true });
		expect(read(env).pull_request).toMatchObject({
			head: { sha, repo: { full_name: "stranger/engines", fork: true } },
			base: { repo: { fork: false } },
		});
		expect(github.state.pulls).toMatchObject([{ number: 7, headRepository: "stranger/engines" }]);
	});
});

describe("releases", () => {
	it("are listed, latest, by tag, and take files where their upload_url says", async () => {
		const { github, octokit } = await startPull();
		github.addRelease({ tag: "v1.0.0" });
		github.addRelease({ tag: "v1.1.0-rc.1", isPrerelease: true });
		const { data: made } = await octokit.rest.repos.createRelease({ ...target, tag_name: "v1.1.0" });
		const upload = { ...target, release_id: made.id, url: made.upload_url, name: "golden.tar", data: "bytes" as never };
		await octokit.rest.repos.uploadReleaseAsset(upload);
		expect((await octokit.rest.repos.getLatestRelease(target)).data.tag_name).toBe("v1.1.0");
		expect((await octokit.rest.repos.listReleases(target)).data.map((release) => release.tag_name)).toEqual([
			"v1.1.0",
			"v1.1.0-rc.1",
			"v1.0.0",
		]);
		const tagged = await octokit.rest.repos.getReleaseByTag({ ...target, tag: "v1.1.0" });
		expect(tagged.data.assets).toMatchObject([{ name: "golden.tar", size: 5 }]);
		expect((await refusal(octokit.rest.repos.getReleaseByTag({ ...target, tag: "v9" }))).status).toBe(404);
		expect(github.state.violations).toEqual([]);
	});
});

describe("the service", () => {
	it("binds 127.0.0.1 alone, starts at once, and speaks to a client in another process", async () => {
		const started = performance.now();
		const { github, env } = await startPull();
		expect(performance.now() - started).toBeLessThan(250);
		expect(new URL(github.url).hostname).toBe("127.0.0.1");
		const { results } = await runToolkit(env, [{ kind: "rest", route: "GET /repos/{owner}/{repo}", parameters: target }]);
		expect(results[0]?.value.data.full_name).toBe("acme/engines");
	});

	it("answers 304 to an ETag that still holds", async () => {
		const { github, octokit } = await startPull();
		const first = await octokit.rest.repos.get(target);
		const again = await refusal(octokit.rest.repos.get({ ...target, headers: { "if-none-match": first.headers.etag ?? "" } }));
		expect(again.status).toBe(304);
		github.state.defaultBranch = "trunk";
		expect((await octokit.rest.repos.get({ ...target, headers: { "if-none-match": first.headers.etag ?? "" } })).status).toBe(200);
	});

	it("throws at its close where its own reply does not fit GitHub's description", async () => {
		const github = await startLocalGitHub();
		const octokit = getOctokit(github.token({ issues: "read" }), { baseUrl: github.url });
		const issue = github.addIssue({ title: "t" });
		Object.assign(issue, { state: 3 });
		expect((await refusal(octokit.rest.issues.get({ ...target, issue_number: issue.number }))).status).toBe(500);
		await expect(github.close()).rejects.toThrow(/GET .*issues.* answered 200: \/state must be string/);
	});
});

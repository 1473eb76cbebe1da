// Commits, pull requests, runs and releases of the local GitHub under the toolkit's real client.
import { expect, it } from "vitest";
import { baseSha, refusal, sha, startPull, target } from "./pull-client.ts";

it("check runs and statuses are created, completed, and gather annotations 50 at a time", async () => {
	const { github, octokit } = await startPull();
	const annotation = {
		path: "trtgate.yml",
		start_line: 3,
		end_line: 3,
		annotation_level: "failure" as const,
		message: "slower",
	};
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
	await octokit.rest.checks.update({
		...update,
		conclusion: "failure",
		output: { ...output, annotations: annotations.slice(0, 7) },
	});
	expect(
		(
			await refusal(
				octokit.rest.checks.update({
					...update,
					output: { ...output, annotations: [...annotations, annotation] },
				}),
			)
		).status,
	).toBe(422);
	expect(
		(await refusal(octokit.rest.checks.update({ ...update, conclusion: "green" as never }))).status,
	).toBe(422);
	const listed = await octokit.rest.checks.listForRef({ ...target, ref: "change", check_name: "gate" });
	expect(listed.data.check_runs).toMatchObject([
		{ name: "gate", status: "completed", conclusion: "failure", output: { annotations_count: 57 } },
	]);
	const shown = await octokit.rest.checks.listAnnotations(update);
	expect(shown.data).toHaveLength(30);
	expect(github.state.violations).toHaveLength(2);
});

it("check runs and statuses mark a commit", async () => {
	const { github, octokit } = await startPull();
	await octokit.rest.repos.createCommitStatus({
		...target,
		sha,
		state: "success",
		context: "trtgate",
		description: "16 of 16",
	});
	const { data } = await octokit.rest.repos.listCommitStatusesForRef({ ...target, ref: sha });
	expect(data).toMatchObject([{ context: "trtgate", state: "success" }]);
	expect(github.state.violations).toEqual([]);
});

it("pull requests are found by number, by head and by commit", async () => {
	const { github, octokit } = await startPull();
	github.addPull({
		number: 8,
		headSha: "c".repeat(40),
		headRef: "change",
		headRepository: "stranger/engines",
		baseSha,
	});
	const one = await octokit.rest.pulls.get({ ...target, pull_number: 7 });
	expect(one.data).toMatchObject({
		number: 7,
		head: { sha, label: "acme:change" },
		base: { sha: baseSha, ref: "main" },
	});
	const numbers = async (head: string) =>
		(await octokit.rest.pulls.list({ ...target, head })).data.map(({ number }) => number);
	expect([
		await numbers("acme:change"),
		await numbers("stranger:change"),
		await numbers("acme:other"),
	]).toEqual([[7], [8], []]);
	const ofCommit = await octokit.rest.repos.listPullRequestsAssociatedWithCommit({
		...target,
		commit_sha: "c".repeat(40),
	});
	expect(ofCommit.data).toMatchObject([{ number: 8, head: { repo: { fork: true } } }]);
	expect(github.state.violations).toEqual([]);
});

it("runs and the repository are what the job's variables say", async () => {
	const { github, octokit, env } = await startPull({ runId: 42, runAttempt: 2 });
	expect((await octokit.rest.repos.get(target)).data).toMatchObject({
		default_branch: "main",
		full_name: "acme/engines",
	});
	const run = await octokit.rest.actions.getWorkflowRun({ ...target, run_id: Number(env["GITHUB_RUN_ID"]) });
	expect(run.data).toMatchObject({
		id: 42,
		run_attempt: 2,
		event: "pull_request",
		head_sha: sha,
		pull_requests: [{ number: 7 }],
	});
	expect(
		(await octokit.rest.actions.listWorkflowRunsForRepo({ ...target, event: "pull_request" })).data
			.total_count,
	).toBe(1);
	expect(github.state.violations).toEqual([]);
});

it("runs and the repository know nothing of other repositories and other endpoints", async () => {
	const { github, octokit } = await startPull();
	expect((await refusal(octokit.rest.repos.get({ owner: "else", repo: "where" }))).status).toBe(404);
	expect((await refusal(octokit.request("GET /rate_limit_of_tea"))).status).toBe(404);
	expect(github.state.violations).toEqual(["GET /rate_limit_of_tea: the local GitHub has no such endpoint"]);
});

it("releases are listed, latest, by tag, and take files where their upload_url says", async () => {
	const { github, octokit } = await startPull();
	github.addRelease({ tag: "v1.0.0" });
	github.addRelease({ tag: "v1.1.0-rc.1", isPrerelease: true });
	const { data: made } = await octokit.rest.repos.createRelease({ ...target, tag_name: "v1.1.0" });
	const upload = {
		...target,
		release_id: made.id,
		url: made.upload_url,
		name: "golden.tar",
		data: "bytes" as never,
	};
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

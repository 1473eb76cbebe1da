// What the token of a job may do at the local GitHub, and what its event says.
import { readFileSync } from "node:fs";
import { getOctokit } from "@actions/github";
import { expect, it } from "vitest";
import { refusal, sha, startPull, target } from "./pull-client.ts";

it("the token of a job reaches what its permissions name, and a refusal names what is missing", async () => {
	const { github, octokit } = await startPull({
		permissions: { contents: "read", "pull-requests": "write" },
	});
	await octokit.rest.issues.createComment({ ...target, issue_number: 7, body: "one" });
	const check = await refusal(octokit.rest.checks.create({ ...target, name: "gate", head_sha: sha }));
	expect(check).toMatchObject({
		status: 403,
		message: expect.stringMatching(/Resource not accessible by integration/),
	});
	expect(check.headers["x-accepted-github-permissions"]).toBe("checks=write");
	const issue = github.addIssue({ title: "alarm" });
	const comment = await refusal(
		octokit.rest.issues.createComment({ ...target, issue_number: issue.number, body: "two" }),
	);
	expect(comment.headers["x-accepted-github-permissions"]).toBe("issues=write");
});

it("the token of a job of a fork reads at most", async () => {
	const { octokit } = await startPull({ isFork: true });
	await octokit.rest.issues.listComments({ ...target, issue_number: 7 });
	const comment = await refusal(
		octokit.rest.issues.createComment({ ...target, issue_number: 7, body: "one" }),
	);
	expect(comment.headers["x-accepted-github-permissions"]).toBe("issues=write; pull_requests=write");
});

it("the token of a job is refused if it was not issued", async () => {
	const { github } = await startPull();
	const stranger = getOctokit("ghs_unknown", { baseUrl: github.url });
	expect(await refusal(stranger.rest.repos.get(target))).toMatchObject({
		status: 401,
		message: expect.stringMatching(/Bad credentials/),
	});
});

it("the token of a job runs out of requests after the limit of an hour", async () => {
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

it("the event of a job carries the repositories that GitHub's payloads always carry, and what the test wrote", async () => {
	const read = (env: Record<string, string>) =>
		JSON.parse(readFileSync(env["GITHUB_EVENT_PATH"] ?? "", "utf8"));
	const own = read((await startPull()).env);
	expect(own.pull_request).toMatchObject({
		number: 7,
		head: { sha, repo: { full_name: "acme/engines", fork: false } },
	});
	const { github, env } = await startPull({ isFork: true });
	expect(read(env).pull_request).toMatchObject({
		head: { sha, repo: { full_name: "stranger/engines", fork: true } },
		base: { repo: { fork: false } },
	});
	expect(github.state.pulls).toMatchObject([{ number: 7, headRepository: "stranger/engines" }]);
});

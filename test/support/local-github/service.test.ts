// The local GitHub as a service: where it listens, what it remembers, and that it keeps to GitHub's description.
import { getOctokit } from "@actions/github";
import { expect, it } from "vitest";
import { refusal, startPull, target } from "./pull-client.ts";
import { runToolkit } from "./run-toolkit.ts";
import { startLocalGitHub } from "./start.ts";

it("the service binds 127.0.0.1 alone, and serves a client in another process", async () => {
	const { github, env } = await startPull();
	expect(new URL(github.url).hostname).toBe("127.0.0.1");
	const { results } = await runToolkit(env, [
		{ kind: "rest", route: "GET /repos/{owner}/{repo}", parameters: target },
	]);
	expect(results[0]?.value.data.full_name).toBe("acme/engines");
});

it("the service answers 304 to an ETag that still holds", async () => {
	const { github, octokit } = await startPull();
	const first = await octokit.rest.repos.get(target);
	const again = await refusal(
		octokit.rest.repos.get({ ...target, headers: { "if-none-match": first.headers.etag ?? "" } }),
	);
	expect(again.status).toBe(304);
	github.state.defaultBranch = "trunk";
	expect(
		(await octokit.rest.repos.get({ ...target, headers: { "if-none-match": first.headers.etag ?? "" } }))
			.status,
	).toBe(200);
});

it("the service throws at its close where its own reply does not fit GitHub's description", async () => {
	const github = await startLocalGitHub();
	const octokit = getOctokit(github.token({ issues: "read" }), { baseUrl: github.url });
	const issue = github.addIssue({ title: "t" });
	Object.assign(issue, { state: 3 });
	expect((await refusal(octokit.rest.issues.get({ ...target, issue_number: issue.number }))).status).toBe(
		500,
	);
	await expect(github.close()).rejects.toThrow(/GET .*issues.* answered 200: \/state must be string/);
});

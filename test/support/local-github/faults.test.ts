// Faults that a test injects, as clients meet them.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { getOctokit } from "@actions/github";
import { expect, it, onTestFinished } from "vitest";
import { startPush } from "./push-job.ts";
import { runToolkit } from "./run-toolkit.ts";
import { type LocalGitHub, startLocalGitHub } from "./start.ts";

const target = { owner: "acme", repo: "engines" };
const comments = /\/comments(\?|$)/;

async function start(): Promise<{ github: LocalGitHub; comment(): Promise<unknown> }> {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	github.addIssue({ title: "one" });
	const octokit = getOctokit(github.token({ issues: "write" }), { baseUrl: github.url });
	return {
		github,
		comment: () => octokit.rest.issues.createComment({ ...target, issue_number: 1, body: "b" }),
	};
}

it("an injected fault answers in place of the service, as often as configured, and leaves other requests alone", async () => {
	const { github, comment } = await start();
	github.inject({ method: "POST", path: comments, status: 502, body: { message: "Bad Gateway" }, times: 2 });
	github.inject({ method: "GET", path: comments, status: 500 });
	await expect(comment()).rejects.toMatchObject({ status: 502 });
	await expect(comment()).rejects.toMatchObject({ status: 502 });
	await comment();
	expect(github.state.comments).toHaveLength(1);
	expect(github.state.requests.map(({ status }) => status)).toEqual([502, 502, 201]);
});

it("an injected fault carries headers", async () => {
	const { github, comment } = await start();
	github.inject({
		path: comments,
		status: 429,
		headers: { "retry-after": "7", "x-ratelimit-remaining": "0" },
		body: { message: "slow down" },
	});
	await expect(comment()).rejects.toMatchObject({
		status: 429,
		response: { headers: { "retry-after": "7", "x-ratelimit-remaining": "0" } },
	});
});

it("an injected fault delays, and lets the request through", async () => {
	const { github, comment } = await start();
	github.inject({ path: comments, delayMs: 60 });
	const before = performance.now();
	await comment();
	expect(performance.now() - before).toBeGreaterThanOrEqual(55);
});

it("an injected fault hangs up before the request takes effect, or after", async () => {
	const { github, comment } = await start();
	github.inject({ path: comments, hangUp: true });
	await expect(comment()).rejects.toThrow();
	expect(github.state.comments).toHaveLength(0);
	github.inject({ path: comments, hangUp: true, applied: true });
	await expect(comment()).rejects.toThrow();
	expect(github.state.comments).toHaveLength(1);
	expect(github.state.requests.at(-1)?.status).toBe(0);
});

it("an injected fault cuts an answer in its middle", async () => {
	const { github, comment } = await start();
	github.inject({ path: comments, truncate: true });
	// octokit takes what it cannot read to its end for an empty text, and says nothing.
	await expect(comment()).resolves.toMatchObject({ status: 201, data: "" });
	github.inject({ path: comments, truncate: true });
	const answer = await fetch(`${github.url}/comments`);
	await expect(answer.text()).rejects.toThrow();
	expect(github.state.comments).toHaveLength(1);
});

it("an injected fault hits the artifact service and the blobs as well", async () => {
	const { github, workspace, env } = await startPush();
	writeFileSync(join(workspace, "a.txt"), "a");
	const upload = {
		kind: "artifact" as const,
		method: "uploadArtifact",
		args: ["a", [join(workspace, "a.txt")], workspace],
	};
	github.inject({
		path: /CreateArtifact/,
		status: 403,
		body: { code: "permission_denied", msg: "no artifacts here" },
	});
	github.inject({ method: "PUT", path: /\/blobs\//, status: 403 });
	const { results } = await runToolkit(env, [upload, upload, upload]);
	expect(results[0]?.error?.message).toMatch(/403.*no artifacts here/);
	expect(results[1]?.error).toBeDefined();
	expect(results[2]?.value).toMatchObject({ id: expect.any(Number) });
	expect(github.state.artifacts.filter(({ isFinal }) => isFinal)).toHaveLength(1);
});

// REST of the local GitHub under the toolkit's real client.
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../project.ts";
import { runToolkit } from "./run-toolkit.ts";
import { startLocalGitHub } from "./start.ts";

const sha = "a".repeat(40);
const target = { owner: "acme", repo: "engines" };

async function startPull(permissions?: Record<string, "read" | "write" | "none">) {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const workspace = temporaryFolder();
	const payload = { number: 7, pull_request: { number: 7, head: { ref: "change", sha }, base: { ref: "main", sha: "b".repeat(40) } } };
	const job = { event: "pull_request" as const, payload, workspace, temp: join(workspace, ".temp"), sha, ref: "refs/pull/7/merge" };
	return { github, workspace, job, env: await github.environment({ ...job, ...(permissions ? { permissions } : {}) }) };
}

describe("comments", () => {
	it("are created, listed, changed and deleted", async () => {
		const { github, env } = await startPull();
		const { results } = await runToolkit(env, [
			{
				kind: "rest",
				route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
				parameters: { ...target, issue_number: 7, body: "one" },
			},
			{ kind: "rest", route: "GET /repos/{owner}/{repo}/issues/{issue_number}/comments", parameters: { ...target, issue_number: 7 } },
		]);
		expect(results.map((result) => result.value?.status)).toEqual([201, 200]);
		expect(github.state.comments).toMatchObject([{ body: "one", author: "github-actions[bot]" }]);
		expect(github.state.violations).toEqual([]);
	});
});

describe("check runs", () => {
	it("are created and completed", async () => {
		const { github, env } = await startPull();
		const { results } = await runToolkit(env, [
			{ kind: "rest", route: "POST /repos/{owner}/{repo}/check-runs", parameters: { ...target, name: "gate", head_sha: sha } },
		]);
		const update = { ...target, check_run_id: results[0]?.value.data.id, conclusion: "failure", output: { title: "t", summary: "s" } };
		const done = await runToolkit(env, [
			{ kind: "rest", route: "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}", parameters: update },
		]);
		expect(done.results[0]?.value.data).toMatchObject({ status: "completed", conclusion: "failure" });
		expect(github.state.checkRuns).toMatchObject([{ name: "gate", title: "t", summary: "s" }]);
		expect(github.state.violations).toEqual([]);
	});
});

// The actions in a workflow of Gitea: its replies are recorded, and it has GitHub's service for artifacts.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { actionsUser, commentOf, startGitea } from "../support/gitea.ts";
import { openPlay, type Played, type PlayedJob } from "../support/github-play.ts";
import { expectExit, untimedFiles } from "../support/project.ts";

type Replies = Parameters<typeof startGitea>[0];

/** The server's name makes GitHub's client take it for GitHub Enterprise. */
async function openGitea(replies: Replies) {
	const known = { "GET /user": [200, actionsUser], ...replies } as Replies;
	const { url, asked } = await startGitea(known, onTestFinished);
	const env = {
		...{ GITEA_ACTIONS: "true", GITHUB_SERVER_URL: "http://gitea.example:3000" },
		...{ GITHUB_API_URL: `${url}/api/v1`, GITHUB_GRAPHQL_URL: `${url}/graphql`, GITHUB_WORKFLOW_REF: "" },
	};
	const play = await openPlay();
	const base = play.commit(untimedFiles, { ref: "refs/heads/main" });
	play.tag("v1", base);
	const run = (
		job: Partial<PlayedJob> & Pick<PlayedJob, "event" | "payload" | "sha" | "ref">,
	): Promise<Played> => play.run({ runId: 12, env, ...job });
	return { play, asked, base, run, answer: (more: Replies) => Object.assign(known, more) };
}

const forbidden = [403, { message: "token does not have at least one of required scope(s)" }] as const;

it("Gitea runs the head of a pull request: artifacts are stored and linked by name, the comment is written, and a commit status stands for the check run", async () => {
	const { play, asked, base, run, answer } = await openGitea({
		"GET /issues/7/comments": [200, []],
		"POST /issues/7/comments": ({ body }) => [201, commentOf(5, String(body["body"]))],
	});
	const head = play.commit({ ...untimedFiles, "model.onnx": "fixture:wrong.onnx" }, { onto: base });
	play.merge({ base, head });
	answer({
		[`GET /commits/${head}/statuses`]: [200, []],
		[`POST /statuses/${head}`]: ({ body }) => [201, { id: 1, status: body["state"], context: "trtgate" }],
	});
	const repo = { id: 1, full_name: "acme/engines" };
	const pull = {
		number: 7,
		merge_commit_sha: null,
		head: { ref: "x", sha: head, repo },
		base: { ref: "main", sha: base, repo },
	};
	const gate = await run({
		...{ event: "pull_request", sha: head, ref: "refs/pull/7/head" },
		payload: { action: "synchronized", number: 7, pull_request: pull },
	});
	expectExit(gate.run, 1);
	expect(gate.result().arms).toMatchObject({ base: { commit: base }, head: { commit: head } });
	expect(gate.run.outputs["artifact-url"]).toBe(
		"http://gitea.example:3000/acme/engines/actions/runs/12/artifacts/trtgate-gate",
	);
	expect(play.github.state.artifacts.map(({ name }) => name)).toContain("trtgate-gate");
	const sent = asked.filter(({ method }) => method === "POST");
	expect(sent.filter(({ path }) => path === "/issues/7/comments")).toHaveLength(1);
	const states = sent.filter(({ path }) => path === `/statuses/${head}`).map(({ body }) => body["state"]);
	expect(states).toEqual(["pending", "failure"]);
});

it("a night on Gitea whose token may nothing names all that is lost, the alarm first, and what would help", async () => {
	const { play, base, run } = await openGitea({
		...{ "GET /issues": forbidden, "GET /labels": forbidden, "POST /issues": forbidden },
	});
	const sha = play.commit({ "model.onnx": "fixture:wrong.onnx" }, { onto: base, ref: "refs/heads/main" });
	const night = await run({
		event: "schedule",
		payload: { schedule: "1 2 * * *" },
		sha,
		ref: "refs/heads/main",
	});
	expectExit(night.run, 1);
	expect(night.run.stdout).toMatch(/no alarm issue.*`issues: write`/);
	const lost = ["alarm issue", "check run"].map((what) => night.run.stdout.indexOf(`no ${what}`));
	expect(
		lost.every((at) => at > 0),
		night.run.stdout,
	).toBe(true);
	expect(lost).toEqual(lost.toSorted((a, b) => a - b));
	expect(night.run.stdout).not.toMatch(/checks: write/);
});

it("golden/ refuses on Gitea before it records anything", async () => {
	const { base, run } = await openGitea({});
	const golden = await run({
		...{ event: "workflow_dispatch", payload: { ref: "refs/heads/main" }, sha: base, ref: "refs/heads/main" },
		...{ action: "golden", inputs: { model: "net", reason: "Retrained." } },
	});
	expectExit(golden.run, 2);
	expect(golden.run.stdout).toContain("This server has no API to store files and commits");
	expect(existsSync(join(golden.workspace, "trtgate-out"))).toBe(false);
	expect(readdirSync(golden.workspace).sort()).toEqual([".git", "golden", "model.onnx", "trtgate.yml"]);
});

import { expect, it } from "vitest";
import { pullJob, repository, workflowRun } from "../support/event-payloads.ts";
import { artifactFiles, expectTidy, openPlay } from "../support/github-play.ts";
import { expectExit } from "../support/project.ts";

const fork = repository("stranger/engines", 80_002);

it("the action fails a fork's pull request like any other, writes nothing and saves no cache; the second workflow comments on what the artifact holds", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const caching = [[/^cache:.*$/m, "cache: { engines: true, timing: true }"]] as const;
	const { base, head } = play.sides("wrong-head", caching);
	const merge = play.merge({ base, head });
	const replay = { comparison: "wrong-head" } as const;
	const gate = await play.run({
		...pullJob({ head, base, merge }, { headRepository: fork }),
		...{ isFork: true, runId: 500, replay, inputs: { cache: "true" } },
	});
	expectExit(gate.run, 1);
	expect(gate.run.outputs).toMatchObject({ outcome: "fail", "comment-url": "" });
	expect(gate.run.summary).toContain("does not match its goldens in");
	expect(gate.run.annotations).toContainEqual(
		expect.objectContaining({ level: "error", file: "trtgate.yml" }),
	);
	const asked = state.requests.filter(({ path }) => !/^\/(twirp|blobs)\//.test(path));
	expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
	expect(state.requests.filter(({ path }) => path.includes("CreateCacheEntry"))).toEqual([]);
	expect([state.comments, state.checkRuns, state.caches]).toEqual([[], [], []]);
	expect(gate.run.stdout).toContain("the change comes from a fork");
	expect(gate.run.stdout).toMatch(/no comment: the token of a fork's pull request only reads/);
	expect([...artifactFiles(play.github, "trtgate-gate").keys()]).toContain("result.json");
	expectTidy(play, gate);

	const report = await play.run({
		...{ event: "workflow_run", sha: base, ref: "refs/heads/main", isFork: true, action: "report", replay },
		permissions: { actions: "read", checks: "write", contents: "read", "pull-requests": "write" },
		payload: workflowRun(head, {
			id: 500,
			run_attempt: 1,
			head_branch: "feature/faster",
			head_repository: fork,
		}),
	});
	expectExit(report.run, 0);
	expect(report.run.outputs).toMatchObject({ outcome: "fail" });
	expect(state.comments).toMatchObject([
		{ issue: 7, body: expect.stringContaining("net · fp32 does not match its goldens in 1 of 1 case") },
	]);
	expect(state.comments[0]?.body).toMatch(
		new RegExp(`^<!-- trtgate:trtgate\\.yml run:500 attempt:1 sha:${head} -->`),
	);
	expect(state.checkRuns).toMatchObject([{ headSha: head, conclusion: "failure" }]);
	expect(state.caches).toEqual([]);
	expect(state.violations).toEqual([]);
});

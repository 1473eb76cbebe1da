import { expect, it, onTestFinished } from "vitest";
import { repository, workflowRun } from "../support/event-payloads.ts";
import { openPlay, type Played } from "../support/github-play.ts";
import { expectExit } from "../support/project.ts";
import { startProxy } from "../support/proxy.ts";

function expectShown({ run }: Played): void {
	expectExit(run, 0);
	expect(run.stdout).not.toContain("[github-");
	expect(run.summary).not.toContain("could be published");
}

it("comments, checks, saves caches and keeps artifacts for the given days, through the proxy alone; so does the report on that run", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const proxy = await startProxy(play.github.url);
	onTestFinished(proxy.close);
	const env = {
		...{ GITHUB_API_URL: "http://api.github.test", GITHUB_GRAPHQL_URL: "http://api.github.test/graphql" },
		...{ ACTIONS_RESULTS_URL: "http://results.github.test/", http_proxy: proxy.url, HTTP_PROXY: proxy.url },
	};
	const hosts = (): string[] =>
		[...new Set(proxy.passed.splice(0).map((line) => line.replace(/^\w+ /, "").replace(/:\d+$/, "")))].sort();
	const caching = [[/^cache:.*$/m, "cache: { engines: false, timing: true }"]] as const;
	const { base, head } = play.sides("same-model", caching);
	const inputs = { "retention-days": "5", cache: "true" };
	const gate = await play.pull({ base, head }, { env, inputs, runId: 500 });
	expectShown(gate);
	expect(state.comments).toHaveLength(1);
	expect(state.checkRuns).toMatchObject([{ conclusion: "success" }]);
	expect(state.artifacts.map(({ name, isFinal }) => [name, isFinal])).toEqual([
		["trtgate-gate", true],
		["report-gate.html", true],
	]);
	for (const { createdAt, expiresAt } of state.artifacts)
		expect((Date.parse(expiresAt ?? "") - Date.parse(createdAt)) / 86_400_000).toBeCloseTo(5, 1);
	expect(state.caches.length).toBeGreaterThan(0);
	expect(hosts()).toEqual(["api.github.test", "blobs.github.test", "results.github.test"]);

	const report = await play.run({
		...{ event: "workflow_run", sha: base, ref: "refs/heads/main", action: "report", env },
		payload: workflowRun(head, { id: 500, run_attempt: 1, head_repository: repository() }),
	});
	expectShown(report);
	expect(report.run.stdout).toContain("trtgate-gate: read");
	expect(hosts()).toEqual(["api.github.test", "blobs.github.test", "results.github.test"]);
	expect(state.violations).toEqual([]);
});

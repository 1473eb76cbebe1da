import { expect, it, onTestFinished } from "vitest";
import { githubRunFacts } from "../../../../src/host/adapters/github/code-host.ts";
import { startLocalGitHub } from "../../../support/local-github/start.ts";
import { temporaryFolder } from "../../../support/project.ts";

it("githubRunFacts lists the jobs of all attempts, over several pages", async () => {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const folder = temporaryFolder();
	const job = {
		event: "push",
		payload: {},
		workspace: folder,
		temp: folder,
		sha: "a".repeat(40),
		ref: "refs/heads/main",
		runId: 500,
	} as const;
	const { GITHUB_TOKEN: token = "" } = await github.environment({ ...job, runAttempt: 2 });
	const [startedAt, completedAt] = ["2026-01-01T00:00:10Z", "2026-01-01T00:01:50Z"];
	for (let id = 1; id <= 150; id += 1)
		github.state.jobs.push({
			id,
			runId: 500,
			attempt: 1,
			name: `measure (${id})`,
			runner: `r${id}`,
			startedAt,
			completedAt,
		});
	github.state.jobs.push({
		id: 151,
		runId: 500,
		attempt: 2,
		name: "measure (1)",
		runner: "",
		startedAt,
		completedAt: null,
	});
	const facts = githubRunFacts({
		token,
		repository: "acme/engines",
		apiUrl: github.url,
		graphQlUrl: `${github.url}/graphql`,
	});
	const listed = await facts.jobs(500);
	const jobs = listed.state === "done" ? listed.jobs : [];
	expect(jobs).toHaveLength(151);
	const [startedMs, completedMs] = [startedAt, completedAt].map((time) => Date.parse(time));
	expect(jobs[0]).toEqual({ name: "measure (1)", runner: "r1", startedMs, completedMs });
	expect(jobs.at(-1)).toEqual({ name: "measure (1)", runner: "", startedMs, completedMs: null });
	expect(github.state.violations).toEqual([]);
});

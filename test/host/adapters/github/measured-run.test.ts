import { expect, it } from "vitest";
import { githubRunFacts } from "../../../../src/host/adapters/github/code-host.ts";
import { openLocalGitHub } from "../../../support/github-play.ts";
import { temporaryFolder } from "../../../support/project.ts";

it("githubRunFacts lists the jobs of all attempts, over several pages", async () => {
	const github = await openLocalGitHub();
	const folder = temporaryFolder();
	const run = { event: "push", payload: {}, sha: "a".repeat(40), ref: "refs/heads/main", runId: 500 };
	const places = { workspace: folder, temp: folder, runAttempt: 2 };
	const { GITHUB_TOKEN: token = "" } = await github.environment({ ...run, ...places });
	const [startedAt, completedAt] = ["2026-01-01T00:00:10Z", "2026-01-01T00:01:50Z"];
	const job = { runId: 500, attempt: 1, startedAt, completedAt };
	for (let id = 1; id <= 150; id += 1)
		github.state.jobs.push({ ...job, id, name: `measure (${id})`, runner: `r${id}` });
	const open = { attempt: 2, name: "measure (1)", runner: "", completedAt: null };
	github.state.jobs.push({ ...job, id: 151, ...open });
	const urls = { apiUrl: github.url, graphQlUrl: `${github.url}/graphql` };
	const facts = githubRunFacts({ token, repository: "acme/engines", ...urls });
	const listed = await facts.jobs(500);
	const jobs = listed.state === "done" ? listed.jobs : [];
	expect(jobs).toHaveLength(151);
	const [startedMs, completedMs] = [startedAt, completedAt].map((time) => Date.parse(time));
	expect(jobs[0]).toEqual({ name: "measure (1)", runner: "r1", startedMs, completedMs });
	expect(jobs.at(-1)).toEqual({ name: "measure (1)", runner: "", startedMs, completedMs: null });
});

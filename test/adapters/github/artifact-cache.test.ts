// Which artifact a pin is taken back from: pull requests, of forks above all, may name theirs as they like.
import { expect, it, onTestFinished } from "vitest";
import { artifactCache, parseArtifacts } from "../../../src/adapters/github/artifacts.ts";
import { readWorkflowRun } from "../../../src/adapters/github/env.ts";
import { startLocalGitHub } from "../../support/local-github/start.ts";
import { temporaryFolder } from "../../support/project.ts";

const listed = (run: object, more: object = {}) => ({
	artifacts: [
		{
			...{ id: 7, size_in_bytes: 100, expired: false, expires_at: "2026-03-01T00:00:00Z", ...more },
			workflow_run: { id: 5, repository_id: 1, head_repository_id: 1, head_branch: "main", ...run },
		},
	],
});

it.each([
	["of our own branch", listed({}), { isForeign: false, branch: "main", endsMs: Date.UTC(2026, 2, 1) }],
	["of another branch", listed({ head_branch: "try" }), { branch: "try" }],
	["of a fork's branch of the same name", listed({ head_repository_id: 2 }), { isForeign: true }],
	[
		"of a run that names no repository",
		listed({ repository_id: null, head_repository_id: null }),
		{ isForeign: true },
	],
	["that has expired", listed({}, { expired: true }), { endsMs: 0 }],
])("the list of artifacts tells one %s", (_, data, expected) => {
	expect(parseArtifacts(data)).toMatchObject([{ id: 7, runId: 5, bytes: 100, ...expected }]);
});

it("a pin without an artifact of its own is not restored, and the right that the list lacks is named", async () => {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const temp = temporaryFolder();
	const given = await github.environment({
		...{ event: "schedule", payload: {}, ref: "refs/heads/main", sha: "0".repeat(40), workspace: temp, temp },
	});
	const run = readWorkflowRun(given);
	if (run === null) throw new Error("no run");
	const cacheWith = (token: string) => artifactCache(run, token, temp, 1000);
	expect(await cacheWith(github.token({ actions: "read" })).restore(temp, ["trtgate-pin"])).toEqual({
		state: "done",
		key: null,
	});
	expect(await cacheWith(github.token({ contents: "read" })).restore(temp, ["trtgate-pin"])).toMatchObject({
		state: "failed",
		fault: { fix: expect.stringContaining("actions: read") },
	});
});

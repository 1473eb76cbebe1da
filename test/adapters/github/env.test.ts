// What is read of the environment, and what children get of it.
import { expect, it } from "vitest";
import { childEnvironment, readEnvironment, readWorkflowRun } from "../../../src/adapters/github/env.ts";

it("keeps the workflow's rights from child processes, and leaves them the rest", () => {
	const rights = {
		INPUT_TOKEN: "a",
		GITHUB_TOKEN: "b",
		GH_TOKEN: "c",
		ACTIONS_RUNTIME_TOKEN: "d",
		ACTIONS_ID_TOKEN_REQUEST_TOKEN: "e",
		STATE_out: "f",
		GITHUB_ENV: "/runner/env",
		GITHUB_PATH: "/runner/path",
		GITHUB_OUTPUT: "/runner/output",
		GITHUB_STATE: "/runner/state",
		GITHUB_STEP_SUMMARY: "/runner/summary",
	};
	expect(childEnvironment({ ...rights, PATH: "/bin", HF_TOKEN: "users own", CUDA_VISIBLE_DEVICES: "1" })).toEqual({
		PATH: "/bin",
		HF_TOKEN: "users own",
		CUDA_VISIBLE_DEVICES: "1",
	});
});

it.each([
	[{}, false],
	[{ NO_COLOR: "" }, false],
	[{ NO_COLOR: "1" }, true],
	[{ TERM: "dumb" }, true],
])("reads of %j whether colour is unwanted: %s", (env, noColor) => {
	expect(readEnvironment(env).noColor).toBe(noColor);
});

it.each([
	[{}, false],
	[{ CI: "false" }, false],
	[{ CI: "1" }, true],
	[{ GITHUB_ACTIONS: "true" }, true],
])("reads of %j whether nobody watches: %s", (env, isCi) => {
	expect(readEnvironment(env).isCi).toBe(isCi);
});

it("knows a workflow run by its repository, and takes hostile figures for none", () => {
	expect(readWorkflowRun({})).toBeNull();
	expect(readWorkflowRun({ GITHUB_ACTIONS: "true", GITHUB_REPOSITORY: "acme/engines/../x" })).toBeNull();
	const run = readWorkflowRun({
		GITHUB_ACTIONS: "true",
		GITHUB_REPOSITORY: "acme/engines",
		GITHUB_RUN_ID: "1e9",
		GITHUB_RUN_ATTEMPT: "-1",
	});
	expect(run).toMatchObject({ runId: 0, runAttempt: 1, apiUrl: "https://api.github.com", graphQlUrl: "https://api.github.com/graphql" });
	expect(run?.services).toEqual({ artifacts: false, cache: false, cacheMode: undefined });
});

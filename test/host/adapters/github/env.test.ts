import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
	childEnvironment,
	lentVariables,
	readEnvironment,
	readWorkflowRun,
	userSearchPaths,
	withheldVariables,
} from "../../../../src/host/adapters/github/env.ts";
import { temporaryFolder } from "../../../support/project.ts";

const words = (text: string) => text.trim().split(/\s+/);
const rights = words(`
	INPUT_TOKEN INPUT_CONFIG STATE_out GITHUB_TOKEN GH_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN github_token
	ACTIONS_RUNTIME_TOKEN ACTIONS_RUNTIME_URL ACTIONS_ID_TOKEN_REQUEST_URL ACTIONS_CACHE_URL RUNNER_PERFLOG
	GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_STATE GITHUB_STEP_SUMMARY
	HF_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY NPM_AUTH NODE_AUTH_TOKEN DOCKER_AUTH_CONFIG GH_PAT PGPASSWORD
	GOOGLE_APPLICATION_CREDENTIALS GOOGLE_GHA_CREDS_PATH AZURE_CLIENT_SECRET SSH_PRIVATE_KEY GPG_PASSPHRASE
	KUBECONFIG SLACK_WEBHOOK_URL SENTRY_DSN KEYMAP`);
// The runner finds leftovers of a killed job by its mark; without the numbered name, git refuses to start.
const harmless = words(`
	PATH HOME CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH GITHUB_SHA GITHUB_WORKSPACE RUNNER_TEMP RUNNER_TOOL_CACHE
	RUNNER_TRACKING_ID GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 SSH_AUTH_SOCK
	TOKENIZERS_PARALLELISM PATIENCE COMPATIBILITY AUTHOR HTTPS_PROXY`);

it("env withholds variables that carry rights from children, by name", () => {
	const env = Object.fromEntries([...rights, ...harmless].map((name) => [name, "x"]));
	expect(Object.keys(childEnvironment(env))).toEqual(harmless);
	expect(withheldVariables(env)).toEqual([...rights].sort());
});

it("env lends a command the variables that its config names, but never the runner's own", () => {
	const env = { HF_TOKEN: "a", INPUT_TOKEN: "b", ACTIONS_RUNTIME_TOKEN: "c", GITHUB_ENV: "d" };
	expect(lentVariables([...Object.keys(env), "UNSET"], env)).toEqual({ HF_TOKEN: "a" });
});

it.each([
	[{}, false, false],
	[{ NO_COLOR: "", CI: "false" }, false, false],
	[{ NO_COLOR: "1", CI: "1" }, true, true],
	[{ TERM: "dumb", GITHUB_ACTIONS: "true" }, true, true],
])("env %j: no colours %s, nobody watches %s", (env, noColor, isCi) => {
	expect(readEnvironment(env)).toMatchObject({ noColor, isCi });
});

it("env knows a workflow run by its repository, and takes hostile figures for none", () => {
	expect(readWorkflowRun({})).toBeNull();
	expect(readWorkflowRun({ GITHUB_ACTIONS: "true", GITHUB_REPOSITORY: "acme/engines/../x" })).toBeNull();
	const run = readWorkflowRun({
		GITHUB_ACTIONS: "true",
		GITHUB_REPOSITORY: "acme/engines",
		GITHUB_RUN_ID: "1e9",
		GITHUB_RUN_ATTEMPT: "-1",
	});
	expect(run).toMatchObject({
		runId: 0,
		runAttempt: 1,
		apiUrl: "https://api.github.com",
		graphQlUrl: "https://api.github.com/graphql",
	});
	expect(run?.services).toEqual({ artifacts: false, cache: false, cacheMode: undefined });
});

it("in a workflow, only the user's own commands search folders of the workspace", () => {
	const root = temporaryFolder();
	const [workspace, link, outside] = [join(root, "workspace"), join(root, "link"), join(root, "outside")];
	for (const folder of [workspace, outside]) mkdirSync(folder);
	symlinkSync(workspace, link);
	const inside = [workspace, `${workspace}/bin`, `${outside}/../workspace/bin`, link];
	const list = ["", ".", "node_modules/.bin", ...inside, outside, `${workspace}-2`];
	const lists = { PATH: list.join(":"), LD_LIBRARY_PATH: `${outside}:`, PYTHONPATH: workspace };
	const env = { ...lists, GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: workspace };
	const PATH = `${outside}:${workspace}-2`;
	const outsideOnly = { PATH, LD_LIBRARY_PATH: outside, PYTHONPATH: undefined };
	expect(childEnvironment(env)).toMatchObject(outsideOnly);
	expect(childEnvironment({ ...env, GITHUB_WORKSPACE: link })).toMatchObject({ PATH });
	expect(readEnvironment(env).libraryPath).toBe(outside);
	expect(userSearchPaths(env)).toEqual(lists);
	expect(childEnvironment({ ...env, GITHUB_ACTIONS: undefined })).toMatchObject(lists);
});

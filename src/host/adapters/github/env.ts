// The only file that reads the environment.
import { realpathSync } from "node:fs";
import { delimiter, isAbsolute, normalize } from "node:path";
import { isRunnerVariable, isWithheld } from "../../../core/variables.ts";
import type { WorkflowRun } from "../../../ports/code-host.ts";
import { readPipeline } from "../../formats/gitlab/pipeline.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export type Environment = ReturnType<typeof readEnvironment>;

export function readEnvironment(env: Variables = process.env) {
	const named = (name: string) => (env[name] === "" ? undefined : env[name]);
	return {
		isActions: env["GITHUB_ACTIONS"] === "true",
		isCi: env["GITHUB_ACTIONS"] === "true" || (named("CI") !== undefined && env["CI"] !== "false"),
		// https://no-color.org
		noColor: named("NO_COLOR") !== undefined || env["TERM"] === "dumb",
		home: named("HOME") ?? named("USERPROFILE"),
		cacheHome: named("XDG_CACHE_HOME"),
		toolCache: named("RUNNER_TOOL_CACHE"),
		temp: named("RUNNER_TEMP"),
		workspace: named("GITHUB_WORKSPACE"),
		sha: named("GITHUB_SHA"),
		ref: named("GITHUB_REF"),
		eventName: named("GITHUB_EVENT_NAME"),
		eventPath: named("GITHUB_EVENT_PATH"),
		registry: named("npm_config_registry"),
		/** Empty hides every GPU. */
		visibleDevices: env["CUDA_VISIBLE_DEVICES"],
		libraryPath: childEnvironment(env)["LD_LIBRARY_PATH"] || undefined,
		lockFolder: named("TRTGATE_LOCKS"),
		/** GitLab's. */
		pipeline: readPipeline(env),
	};
}

/** The toolkit's clients throw when loaded if the event's file is not JSON. */
export function forgetEventFile(env: Record<string, string | undefined> = process.env): void {
	delete env["GITHUB_EVENT_PATH"];
}

export function readWorkflowRun(env: Variables = process.env): WorkflowRun | null {
	const text = (name: string, otherwise = "") => env[name] || otherwise;
	const number = (name: string, otherwise: number) =>
		/^[1-9]\d{0,14}$/.test(text(name)) ? Number(env[name]) : otherwise;
	const url = (name: string, otherwise: string) => text(name, otherwise).replace(/\/+$/, "");
	const apiUrl = url("GITHUB_API_URL", "https://api.github.com");
	const repository = text("GITHUB_REPOSITORY");
	if (env["GITHUB_ACTIONS"] !== "true" || !/^[\w.-]+\/[\w.-]+$/.test(repository)) return null;
	const lent = text("ACTIONS_RUNTIME_TOKEN") !== "" && text("ACTIONS_RESULTS_URL") !== "";
	return {
		// Runners of Forgejo set both.
		isGitea: env["GITEA_ACTIONS"] === "true" || env["FORGEJO_ACTIONS"] === "true",
		serverUrl: url("GITHUB_SERVER_URL", "https://github.com"),
		apiUrl,
		graphQlUrl: text("GITHUB_GRAPHQL_URL", `${apiUrl}/graphql`),
		repository,
		eventName: text("GITHUB_EVENT_NAME"),
		sha: text("GITHUB_SHA"),
		ref: text("GITHUB_REF"),
		workflow: text("GITHUB_WORKFLOW_REF").replace(/@.*$/, "").split("/").at(-1) || text("GITHUB_WORKFLOW"),
		runId: number("GITHUB_RUN_ID", 0),
		runAttempt: number("GITHUB_RUN_ATTEMPT", 1),
		job: text("GITHUB_JOB"),
		runner: text("RUNNER_NAME"),
		actor: text("GITHUB_ACTOR"),
		services: {
			artifacts: lent,
			cache: lent || (text("ACTIONS_CACHE_URL") !== "" && text("ACTIONS_RUNTIME_TOKEN") !== ""),
			cacheMode: env["ACTIONS_CACHE_MODE"] || undefined,
		},
	};
}

/** The artifact client refuses a server that it takes for GitHub Enterprise by its name, which it reads when it is called. */
export function asKnownServer<Value>(
	call: () => Value,
	env: Record<string, string | undefined> = process.env,
): Value {
	const { GITHUB_SERVER_URL: url } = env;
	env["GITHUB_SERVER_URL"] = "http://gitea.localhost";
	try {
		return call();
	} finally {
		env["GITHUB_SERVER_URL"] = url;
	}
}

/** Makes git send the token to the workflow's server, beside the user's settings. */
export function gitAccess(token: string, env: Variables = process.env) {
	const serverUrl = (env["GITHUB_SERVER_URL"] || "https://github.com").replace(/\/+$/, "");
	const at = /^\d{1,4}$/.test(env["GIT_CONFIG_COUNT"] ?? "") ? Number(env["GIT_CONFIG_COUNT"]) : 0;
	const header = `AUTHORIZATION: basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
	const setting = {
		[`GIT_CONFIG_KEY_${at}`]: `http.${serverUrl}/.extraheader`,
		[`GIT_CONFIG_VALUE_${at}`]: header,
	};
	return { serverUrl, header, env: { GIT_CONFIG_COUNT: `${at + 1}`, ...setting } };
}

/** Without secrets and, in a workflow, without search paths inside the workspace. */
export function childEnvironment(env: Variables = process.env): Record<string, string | undefined> {
	return {
		...Object.fromEntries(Object.entries(env).filter(([name]) => !isWithheld(name))),
		...searchedOutside(env),
	};
}

const searchPaths = ["PATH", "LD_LIBRARY_PATH", "PYTHONPATH"] as const;

/** Unfiltered, for the commands that a config names. */
export function userSearchPaths(env: Variables = process.env): Record<string, string | undefined> {
	return Object.fromEntries(searchPaths.map((name) => [name, env[name]]));
}

/** A pull request controls the workspace; empty and relative folders lie in it too. */
function searchedOutside(env: Variables) {
	const workspace = env["GITHUB_WORKSPACE"];
	if (env["GITHUB_ACTIONS"] !== "true" || !workspace) return {};
	const inside = [workspace, realFolder(workspace)];
	const isInside = (folder: string) =>
		inside.some((root) => folder === root || folder.startsWith(`${root}/`));
	const isOutside = (folder: string) =>
		isAbsolute(folder) && !isInside(normalize(`${folder}/.`)) && !isInside(realFolder(folder));
	return Object.fromEntries(
		Object.entries(userSearchPaths(env)).map(([name, list]) => [
			name,
			list?.split(delimiter).filter(isOutside).join(delimiter) || undefined,
		]),
	);
}

function realFolder(folder: string) {
	try {
		return realpathSync(folder);
	} catch {
		return folder;
	}
}

export function lentVariables(
	names: readonly string[],
	env: Variables = process.env,
): Record<string, string> {
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = isRunnerVariable(name) ? undefined : env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}

export function withheldVariables(env: Variables = process.env): string[] {
	return Object.keys(env).filter(isWithheld).sort();
}

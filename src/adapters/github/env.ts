// The one file that reads the environment.

export interface Environment {
	/** GitHub Actions runs us, or at least says so. */
	isActions: boolean;
	isCi: boolean;
	noColor: boolean;
	home: string | undefined;
	cacheHome: string | undefined;
	/** Kept between jobs on a runner. */
	toolCache: string | undefined;
	temp: string | undefined;
	workspace: string | undefined;
	/** Commit that the workflow runs for. */
	sha: string | undefined;
	registry: string | undefined;
	/** CUDA_VISIBLE_DEVICES as it is; empty hides every GPU. */
	visibleDevices: string | undefined;
	/** Folder for the locks of GPUs, where the machine's temporary folder is not shared by all its jobs. */
	lockFolder: string | undefined;
}

export function readEnvironment(env: Readonly<Record<string, string | undefined>> = process.env): Environment {
	const named = (name: string): string | undefined => (env[name] === "" ? undefined : env[name]);
	return {
		isActions: env["GITHUB_ACTIONS"] === "true",
		isCi: env["GITHUB_ACTIONS"] === "true" || (named("CI") !== undefined && env["CI"] !== "false"),
		// https://no-color.org: any value that is not empty.
		noColor: named("NO_COLOR") !== undefined || env["TERM"] === "dumb",
		home: named("HOME") ?? named("USERPROFILE"),
		cacheHome: named("XDG_CACHE_HOME"),
		toolCache: named("RUNNER_TOOL_CACHE"),
		temp: named("RUNNER_TEMP"),
		workspace: named("GITHUB_WORKSPACE"),
		sha: named("GITHUB_SHA"),
		registry: named("npm_config_registry"),
		visibleDevices: env["CUDA_VISIBLE_DEVICES"],
		lockFolder: named("TRTGATE_LOCKS"),
	};
}

/** Names that carry the runner's own rights; a user's command has no use for them. */
const privileged = /^(INPUT_|STATE_|ACTIONS_(RUNTIME|ID_TOKEN|CACHE|RESULTS)_)|^(GITHUB_TOKEN|GH_TOKEN|ACTIONS_RUNTIME_TOKEN)$/;

/** What child processes see: our environment without the rights that a workflow lends to its actions. */
export function childEnvironment(env: Readonly<Record<string, string | undefined>> = process.env): Record<string, string | undefined> {
	return Object.fromEntries(Object.entries(env).filter(([name]) => !privileged.test(name)));
}

// Runs git in one folder: without prompts, hooks or submodules, and with a time limit.
import { ToolError } from "../../core/errors.ts";
import { describeFailure } from "../process/failure.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";

export interface GitCall {
	timeoutMs?: number;
	stdin?: string;
	captureBytes?: number;
	/** Settings for this call, `name=value`. */
	settings?: readonly string[];
	/** Runs even after the run was cancelled. */
	tidying?: boolean;
	/** May fetch objects that a partial clone lacks from the remote. */
	online?: boolean;
	/** Of the child, in addition to the common ones. */
	env?: Readonly<Record<string, string | undefined>>;
}

/** Exit codes are for the caller to read; a git that is missing, hangs or dies is an error. */
export type Git = (args: readonly string[], call?: GitCall) => Promise<ProcessRecord>;

export const quickMs = 30_000;
/** For a worktree of a large repository on a slow disk, or its history over a slow connection. */
export const slowMs = 10 * 60_000;

const settings = [
	// A checkout must not run the repository's hooks or watchers.
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"submodule.recurse=false",
	"fetch.recurseSubmodules=false",
	// Maintenance is up to the user; in a workflow's clone it costs more than it saves.
	"gc.auto=0",
	"maintenance.auto=false",
	"advice.detachedHead=false",
];

/** No prompts; English messages, because they are parsed; only the folder selects the repository. */
const environment: Readonly<Record<string, string | undefined>> = {
	GIT_TERMINAL_PROMPT: "0",
	GCM_INTERACTIVE: "never",
	SSH_ASKPASS_REQUIRE: "never",
	LC_ALL: "C.UTF-8",
	LANGUAGE: undefined,
	GIT_DIR: undefined,
	GIT_WORK_TREE: undefined,
	GIT_COMMON_DIR: undefined,
	GIT_INDEX_FILE: undefined,
	GIT_OBJECT_DIRECTORY: undefined,
	GIT_NAMESPACE: undefined,
	GIT_PREFIX: undefined,
};

export function gitIn(folder: string, processes: Processes): Git {
	return async (args, call = {}) => {
		const { timeoutMs = quickMs, stdin, captureBytes = 64 * 1024, tidying = false, online = false } = call;
		const given = [...settings, ...(call.settings ?? [])].flatMap((setting) => ["-c", setting]);
		// `--no-optional-locks`: two runs may query at once.
		const argv: [string, ...string[]] = ["git", "--no-optional-locks", ...given, "-C", folder, ...args];
		const env = { ...environment, ...(online ? {} : { GIT_NO_LAZY_FETCH: "1" }), ...call.env };
		const record = await processes.run({ argv, env, timeoutMs, captureBytes, tidying, ...(stdin === undefined ? {} : { stdin }) });
		if (record.state !== "exited") throw gitError(record, "git", timeoutMs);
		return record;
	};
}

export function gitError(record: ProcessRecord, what: string, timeoutMs = slowMs): ToolError {
	const { code, message, details } = describeFailure(record, { what, timeoutMs });
	return new ToolError({ code, message, details });
}

export function succeeded(record: ProcessRecord): boolean {
	return record.state === "exited" && record.exitCode === 0;
}

export function firstLine(record: ProcessRecord): string {
	return record.stdout.split("\n", 1)[0]?.trim() ?? "";
}

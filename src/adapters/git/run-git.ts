// Runs git in one folder: without prompts, hooks or submodules; a call that contacts the remote may carry the workflow's token.
import { ToolError } from "../../core/errors.ts";
import { describeFailure } from "../process/failure.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";

export interface GitCall {
	timeoutMs?: number;
	stdin?: string | Uint8Array;
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

/** Authenticates requests to one server, and to no other. */
export interface GitAccess {
	/** https://github.com, or a server of the user's own. */
	serverUrl: string;
	/** The line that authenticates a request. */
	header: string;
	/** Variables of git that add it. */
	env: Readonly<Record<string, string>>;
}

/** Whose credentials a remote gets: what the clone's config holds, the workflow's token, or none. */
export type Identity = "clone" | "token" | "none";

export interface Git {
	/** Exit codes are for the caller to read; a git that is missing, hangs or dies is an error. */
	(args: readonly string[], call?: GitCall): Promise<ProcessRecord>;
	identity(): Promise<Identity>;
}

export const quickMs = 30_000;
/** For a worktree of a large repository on a slow disk, or its history over a slow connection. */
export const slowMs = 10 * 60_000;

const settings = [
	// A checkout must not run the repository's hooks or watchers.
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	// A folder of the commit may look like a bare repository, and its config would name programs.
	"safe.bareRepository=explicit",
	"submodule.recurse=false",
	"fetch.recurseSubmodules=false",
	// Maintenance is up to the user; in a workflow's clone it costs more than it saves.
	"gc.auto=0",
	"maintenance.auto=false",
	"advice.detachedHead=false",
	// A transfer below 1000 bytes a second for a minute ends by itself.
	"http.lowSpeedLimit=1000",
	"http.lowSpeedTime=60",
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

/** @param access of calls that contact the remote; a clone with credentials of its own keeps to them. */
export function gitIn(folder: string, processes: Processes, access?: GitAccess): Git {
	let known: Promise<Identity> | undefined;
	const identity = (): Promise<Identity> => {
		known ??= identityOf(run, access);
		return known;
	};
	async function run(args: readonly string[], call: GitCall = {}): Promise<ProcessRecord> {
		const { timeoutMs = quickMs, stdin, captureBytes = 64 * 1024, tidying = false, online = false } = call;
		const given = [...settings, ...(call.settings ?? [])].flatMap((setting) => ["-c", setting]);
		// `--no-optional-locks`: two runs may query at once.
		const argv: [string, ...string[]] = ["git", "--no-optional-locks", ...given, "-C", folder, ...args];
		const rights = online && (await identity()) === "token" ? access?.env : {};
		const env = { ...environment, ...(online ? rights : { GIT_NO_LAZY_FETCH: "1" }), ...call.env };
		const job = { argv, env, timeoutMs, captureBytes, tidying };
		// Downloads by Git LFS may hang, and @actions/exec fails where git stops reading its input.
		const record =
			args[0] === "lfs" || stdin !== undefined ? processes.run({ ...job, stdin }) : processes.exec(job);
		const { state } = await record;
		if (state !== "exited") throw gitError(await record, "git", timeoutMs);
		return record;
	}
	return Object.assign(run, { identity });
}

/** What actions/checkout leaves with `persist-credentials`; a second header beside it would make the server refuse both. */
async function identityOf(
	git: (args: readonly string[]) => Promise<ProcessRecord>,
	access: GitAccess | undefined,
): Promise<Identity> {
	if (access === undefined) return "none";
	const own = await git(["config", "--get-urlmatch", "http.extraheader", `${access.serverUrl}/`]);
	return /^authorization:/im.test(own.stdout) ? "clone" : "token";
}

/** What to do where a remote denies access to `identity`. */
export function fixOfDenied(fault: "denied" | "refused" | "keyless", identity: Identity): string {
	const right = "Give the job `contents: read` under `permissions:`";
	if (fault === "keyless")
		return "Leave `persist-credentials` of actions/checkout on, so that git may use its SSH key.";
	if (identity === "clone")
		return `${right}, or set \`persist-credentials: false\` for actions/checkout, so that the input \`token\` is used.`;
	if (identity === "none")
		return `${right}, and the action a \`token\`, which is \`github.token\` by default.`;
	if (fault === "denied") return `${right}.`;
	return "The input `token` is wrong or has expired: `github.token` ends with its job, the token of an app after one hour. Give a valid one, and use git 2.31 or later.";
}

export function gitError(record: ProcessRecord, what: string, timeoutMs = slowMs): ToolError {
	return new ToolError(describeFailure(record, { what, timeoutMs }));
}

export function succeeded(record: ProcessRecord): boolean {
	return record.state === "exited" && record.exitCode === 0;
}

export function firstLine(record: ProcessRecord): string {
	return record.stdout.split("\n", 1)[0]?.trim() ?? "";
}

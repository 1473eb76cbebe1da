// Runs git in one folder, without prompts, hooks or submodules, and resolves refs.
import { ConfigError, ToolError } from "../../core/errors.ts";
import { describeFailure } from "../process/failure.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";

export interface GitCall {
	timeoutMs?: number;
	stdin?: string | Uint8Array;
	captureBytes?: number;
	settings?: readonly string[];
	tidying?: boolean;
	/** May contact the remote, also for objects that a partial clone lacks. */
	online?: boolean;
	env?: Readonly<Record<string, string | undefined>>;
}

export interface GitAccess {
	serverUrl: string;
	header: string;
	env: Readonly<Record<string, string>>;
}

type Identity = "clone" | "token" | "none";

export interface Git {
	/** Resolves with any exit code. @throws ToolError if git is missing, hangs or dies. */
	(args: readonly string[], call?: GitCall): Promise<ProcessRecord>;
	identity(): Promise<Identity>;
}

const quickMs = 30_000;
export const slowMs = 10 * 60_000;

const settings = [
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	// A folder of the commit may look like a bare repository, whose config names programs.
	"safe.bareRepository=explicit",
	"submodule.recurse=false",
	"fetch.recurseSubmodules=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"advice.detachedHead=false",
	"http.lowSpeedLimit=1000",
	"http.lowSpeedTime=60",
];

/** Messages are parsed, so they are English; only the folder selects the repository. */
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

export function gitIn(folder: string, processes: Processes, access?: GitAccess): Git {
	let known: Promise<Identity> | undefined;
	const identity = () => {
		known ??= identityOf(run, access);
		return known;
	};
	async function run(args: readonly string[], call: GitCall = {}) {
		const { timeoutMs = quickMs, stdin, captureBytes = 64 * 1024, tidying = false, online = false } = call;
		const given = [...settings, ...(call.settings ?? [])].flatMap((setting) => ["-c", setting]);
		// Two runs may query at once.
		const argv: [string, ...string[]] = ["git", "--no-optional-locks", ...given, "-C", folder, ...args];
		const rights = online && (await identity()) === "token" ? access?.env : {};
		const env = { ...environment, ...(online ? rights : { GIT_NO_LAZY_FETCH: "1" }), ...call.env };
		const job = { argv, env, timeoutMs, captureBytes, tidying };
		// Git LFS may hang, and @actions/exec fails if git stops reading its input.
		const record =
			args[0] === "lfs" || stdin !== undefined ? processes.run({ ...job, stdin }) : processes.exec(job);
		const { state } = await record;
		if (state !== "exited") throw gitError(await record, "git", timeoutMs);
		return record;
	}
	return Object.assign(run, { identity });
}

/** Servers refuse a second header beside that of actions/checkout. */
async function identityOf(
	git: (args: readonly string[]) => Promise<ProcessRecord>,
	access: GitAccess | undefined,
) {
	if (access === undefined) return "none";
	const own = await git(["config", "--get-urlmatch", "http.extraheader", `${access.serverUrl}/`]);
	return /^authorization:/im.test(own.stdout) ? "clone" : "token";
}

export function fixOfDenied(identity: Identity): string {
	const right = "Give the job `contents: read` under `permissions:`";
	return identity === "clone"
		? `${right}, or set \`persist-credentials: false\` for actions/checkout, so that the input \`token\` is used.`
		: `${right}, and the action a valid \`token\`; for a remote over SSH, keep \`persist-credentials\` of actions/checkout on.`;
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

const fullHash = /^[0-9a-f]{40,64}$/;

export async function commitOf(revision: string, git: Git): Promise<string | null> {
	const record = await git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`]);
	const commit = firstLine(record);
	return succeeded(record) && fullHash.test(commit) ? commit : null;
}

export function isPlainRef(ref: string): boolean {
	return ref !== "" && !ref.startsWith("-") && !/[\u0000-\u0020\u007f]/.test(ref);
}

export async function resolveRef(ref: string, git: Git, repository: string): Promise<string> {
	if (!isPlainRef(ref))
		throw unknownRef(
			ref,
			"it is not a name that git allows",
			"Give the name of a branch, a tag or a commit.",
		);
	for (const name of [ref, `origin/${ref}`]) {
		const commit = await commitOf(name, git);
		if (commit !== null) return commit;
	}
	if (!(await isRepository(git))) {
		const fix = "Name an existing folder, or run inside a git repository.";
		throw unknownRef(ref, `${repository} is neither a folder nor in a git repository`, fix);
	}
	const isCut = await isShallow(git);
	const why = isCut ? "this clone is shallow and does not contain it" : "the repository does not contain it";
	// Only a name can be fetched, not what it leads to, such as HEAD~1, nor a path.
	const fetch = isCut ? "fetch --unshallow" : /^[./]|[~^@]/.test(ref) ? "fetch" : `fetch origin ${ref}`;
	const fix = `Name an existing folder, branch, tag or commit, set \`fetch-depth: 0\` for actions/checkout, or fetch it: \`git ${fetch}\`.`;
	throw unknownRef(ref, why, fix);
}

export async function isRepository(git: Git): Promise<boolean> {
	const record = await git(["rev-parse", "--git-dir"]);
	if (!succeeded(record)) refuseForeignOwner(record.tail);
	return succeeded(record);
}

export async function isShallow(git: Git): Promise<boolean> {
	return firstLine(await git(["rev-parse", "--is-shallow-repository"])) === "true";
}

/** In a container, the user is often not the clone's owner. @throws ConfigError git-ref. */
export function refuseForeignOwner(lines: readonly string[]): void {
	if (!lines.some((line) => /dubious ownership/i.test(line))) return;
	throw new ConfigError({
		code: "git-ref",
		message: "git refuses to read the workspace because another user owns it.",
		excerpt: lines.slice(-5),
		fix: 'Run `git config --global --add safe.directory "$GITHUB_WORKSPACE"` in a step before, as the user that runs this job.',
	});
}

function unknownRef(ref: string, why: string, fix: string) {
	const shown = JSON.stringify(ref.slice(0, 200));
	return new ConfigError({ code: "git-ref", message: `Cannot find ${shown}: ${why}.`, fix });
}

// Checks a git ref out beside the working tree, and says which commit a folder stands at.
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { describeFailure } from "../process/failure.ts";
import { makeFolders } from "../process/folder.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";

export interface RefRequest {
	/** A folder in the repository; the checkout's `path` is the same folder of the other commit. */
	repository: string;
	ref: string;
	/** Where the worktree goes; what lies there is replaced. */
	folder: string;
	processes: Processes;
}

export interface OpenedRef {
	path: string;
	commit: string;
	remove(): Promise<void>;
}

const quickMs = 30_000;
/** A worktree of a large repository on a slow disk; with Git LFS it may download. */
const checkoutMs = 10 * 60_000;

/** @throws ConfigError git-ref, output-unwritable; ToolError tool-missing, tool-timeout, tool-crashed, interrupted, disk-full. */
export async function openRef(request: RefRequest): Promise<OpenedRef> {
	const { repository, ref, processes } = request;
	const folder = resolve(request.folder);
	const git: Git = (args, timeoutMs = quickMs) => runGit(processes, { repository, args, timeoutMs });
	const tidy: Git = (args) => runGit(processes, { repository, args, timeoutMs: quickMs, tidying: true });
	const commit = await resolveRef(ref, git, repository);
	const prefix = oneLine(await git(["rev-parse", "--show-prefix"]));
	const remove = async (): Promise<void> => {
		await tidy(["worktree", "remove", "--force", "--force", folder]).catch(() => {});
		await rm(folder, { recursive: true, force: true });
		await tidy(["worktree", "prune"]).catch(() => {});
	};
	await remove();
	await makeFolders(dirname(folder));
	const added = await git(["worktree", "add", "--detach", "--force", "--end-of-options", folder, commit], checkoutMs);
	if (!succeeded(added)) {
		await remove();
		throw toolError(added, `git worktree add for ${ref}`);
	}
	return { path: join(folder, prefix), commit, remove };
}

type Git = (args: readonly string[], timeoutMs?: number) => Promise<ProcessRecord>;

async function resolveRef(ref: string, git: Git, repository: string): Promise<string> {
	if (ref === "" || ref.startsWith("-") || /[\u0000-\u0020\u007f]/.test(ref)) {
		throw unknownRef(ref, "it is not a name that git allows", "Give the name of a branch, a tag or a commit.");
	}
	// Fetched branches are known by the remote's name only.
	for (const name of [ref, `origin/${ref}`]) {
		const record = await git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]);
		const commit = oneLine(record);
		if (succeeded(record) && /^[0-9a-f]{40,64}$/.test(commit)) return commit;
	}
	if (!succeeded(await git(["rev-parse", "--git-dir"]))) {
		throw unknownRef(
			ref,
			`${repository} is neither a folder nor in a git repository`,
			"Name an existing folder, or run inside a git repository.",
		);
	}
	const shallow = oneLine(await git(["rev-parse", "--is-shallow-repository"])) === "true";
	throw unknownRef(ref, shallow ? "this clone is shallow and does not hold it" : "the repository does not hold it", fetchFix(ref));
}

function fetchFix(ref: string): string {
	return `Give actions/checkout \`fetch-depth: 0\`, or fetch it first: \`git fetch origin ${ref}\`.`;
}

function unknownRef(ref: string, why: string, fix: string): ConfigError {
	const shown = JSON.stringify(ref.slice(0, 200));
	return new ConfigError({
		code: "git-ref",
		message: `Cannot find ${shown}: ${why}.`,
		details: { expected: "a folder or a git ref", got: shown, fix },
	});
}

/** The commit of a folder, and whether its files differ from it; null where git knows nothing of it. */
export async function describeFolder(path: string, processes: Processes): Promise<{ commit: string; dirty: boolean } | null> {
	const git: Git = (args) => runGit(processes, { repository: path, args, timeoutMs: quickMs });
	try {
		const head = await git(["rev-parse", "--verify", "--quiet", "HEAD"]);
		const commit = oneLine(head);
		if (!succeeded(head) || !/^[0-9a-f]{40,64}$/.test(commit)) return null;
		const status = await git(["status", "--porcelain", "--untracked-files=no", "--", "."]);
		return { commit, dirty: oneLine(status) !== "" };
	} catch (error) {
		// Without git there is simply nothing to tell.
		if (error instanceof ToolError && error.code === "tool-missing") return null;
		throw error;
	}
}

/** Exit codes are for the caller to read; a git that is missing, hangs or dies is an error. */
async function runGit(
	processes: Processes,
	call: { repository: string; args: readonly string[]; timeoutMs: number; tidying?: boolean },
): Promise<ProcessRecord> {
	// `--no-optional-locks`: two runs may ask at once. `core.hooksPath`: a checkout must not run the repository's hooks.
	const argv: [string, ...string[]] = [
		"git",
		"--no-optional-locks",
		"-c",
		"core.hooksPath=/dev/null",
		"-c",
		"core.fsmonitor=false",
		"-C",
		call.repository,
		...call.args,
	];
	const record = await processes.run({ argv, timeoutMs: call.timeoutMs, captureBytes: 64 * 1024, tidying: call.tidying === true });
	if (record.state !== "exited") throw toolError(record, "git", call.timeoutMs);
	return record;
}

function toolError(record: ProcessRecord, what: string, timeoutMs = checkoutMs): ToolError {
	const { code, message, details } = describeFailure(record, { what, timeoutMs });
	return new ToolError({ code, message, details });
}

function succeeded(record: ProcessRecord): boolean {
	return record.state === "exited" && record.exitCode === 0;
}

function oneLine(record: ProcessRecord): string {
	return record.stdout.split("\n", 1)[0]?.trim() ?? "";
}

// Checks out a commit beside the working tree.
import { lstat, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join, posix, resolve } from "node:path";
import { ToolError } from "../../core/errors.ts";
import type { Processes } from "../process/processes.ts";
import { makeFolders } from "../process/write-error.ts";
import {
	commitOf,
	firstLine,
	type Git,
	type GitAccess,
	gitError,
	gitIn,
	refuseForeignOwner,
	resolveRef,
	slowMs,
	succeeded,
} from "./run-git.ts";

interface RefRequest {
	/** The checkout's `path` is the same folder in the other commit. */
	repository: string;
	ref: string;
	folder: string;
	processes: Processes;
	access?: GitAccess;
}

interface OpenedRef {
	path: string;
	root: string;
	commit: string;
	remove(): Promise<void>;
}

const withoutLfs = ["filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false"];

export async function openRef(request: RefRequest): Promise<OpenedRef> {
	const { repository, ref, processes } = request;
	const folder = resolve(request.folder);
	const git = gitIn(repository, processes, request.access);
	const commit = await resolveRef(ref, git, repository);
	const prefix = firstLine(await git(["rev-parse", "--show-prefix"]));
	const remove = () => removeWorktree(folder, git);
	await remove();
	await makeFolders(dirname(folder));
	// The second `--force` replaces a locked one.
	const args = ["worktree", "add", "--detach", "--force", "--force", "--end-of-options", folder, commit];
	const added = await git(args, { timeoutMs: slowMs, settings: withoutLfs, online: true });
	if (!succeeded(added)) {
		await remove();
		throw gitError(added, `git worktree add for ${ref}`);
	}
	return { path: join(folder, prefix), root: folder, commit, remove };
}

async function removeWorktree(folder: string, git: Git, gitDir?: string) {
	const call = { tidying: true, env: gitDir === undefined ? undefined : { GIT_DIR: gitDir } };
	await git(["worktree", "remove", "--force", "--force", folder], call).catch(() => {});
	await rm(folder, { recursive: true, force: true });
	await git(["worktree", "prune"], call).catch(() => {});
}

export async function removeLeftWorktrees(folder: string, processes: Processes): Promise<void> {
	const names = await readdir(folder).catch(() => []);
	for (const name of names) {
		const path = join(folder, name);
		const pointer = await readFile(join(path, ".git"), "utf8").catch(() => "");
		const gitFolder = /^gitdir: (.+)\/worktrees\/[^/\n]+\s*$/.exec(pointer)?.[1];
		if (gitFolder === undefined) await rm(path, { recursive: true, force: true });
		else await removeWorktree(path, gitIn(gitFolder, processes), gitFolder).catch(() => {});
	}
	await rm(folder, { recursive: true, force: true });
}

export async function describeFolder(
	path: string,
	processes: Processes,
): Promise<{ commit: string; dirty: boolean } | null> {
	const git = gitIn(path, processes);
	try {
		const commit = await commitOf("HEAD", git);
		if (commit === null) {
			refuseForeignOwner((await git(["rev-parse", "--git-dir"])).tail);
			return null;
		}
		const status = await git(["status", "--porcelain", "--untracked-files=no", "--", "."]);
		return { commit, dirty: firstLine(status) !== "" };
	} catch (error) {
		if (error instanceof ToolError && error.code === "tool-missing") return null;
		throw error;
	}
}

export async function whyAbsent(path: string, folder: string, git: Git | null): Promise<string | null> {
	const steps = posix.normalize(path).split("/");
	const places = steps.map((_, at) => steps.slice(0, at + 1).join("/"));
	for (const place of places)
		if (await isDeadLink(join(folder, place))) return `${place} is a link whose target does not exist`;
	if (git === null) return null;
	const listed = await git(["ls-tree", "-z", "HEAD", "--", ...places]);
	for (const entry of listed.stdout.split("\0")) {
		const [facts = "", name] = entry.split("\t");
		if (facts.startsWith("160000 ")) return `${name} is a submodule, which is not checked out`;
		if (name === places.at(-1)) return "the commit has it, and git did not check it out (a sparse checkout?)";
	}
	return null;
}

async function isDeadLink(path: string) {
	const link = await lstat(path).catch(() => null);
	return link?.isSymbolicLink() === true && (await stat(path).catch(() => null)) === null;
}

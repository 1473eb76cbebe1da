// Fetches files of a worktree that Git LFS keeps elsewhere.
import { lstat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import { isLfsPointer } from "../../formats/onnx/head.ts";
import { readWhole, withInput } from "../process/input-file.ts";
import { type Git, slowMs, succeeded } from "./run-git.ts";

export interface LfsRequest {
	/** Top of the worktree. */
	root: string;
	/** Absolute paths of pointers, or all that the commit has. */
	paths: readonly string[] | "all";
	/** The commit may come from a fork. */
	isUntrusted: boolean;
	/** Name of the remote, where there is one. */
	remote: string | null;
}

/** A pointer is a text of about 130 bytes; Git LFS itself calls anything longer data. */
const maxPointerBytes = 1024;
/** Beyond this many paths on one command line, everything is fetched. */
const maxPaths = 200;

/** What `git lfs install` writes into the config; without it `git lfs pull` leaves the pointers as they are. */
const filters = [
	"filter.lfs.clean=git-lfs clean -- %f",
	"filter.lfs.smudge=git-lfs smudge -- %f",
	"filter.lfs.process=git-lfs filter-process",
	"filter.lfs.required=true",
	// A failed download must be reported, whatever the repository configures.
	"lfs.skipdownloaderrors=false",
];

export async function isPointerFile(path: string): Promise<boolean> {
	const facts = await lstat(path).catch(() => null);
	if (!facts?.isFile() || facts.size > maxPointerBytes) return false;
	return withInput(path, inputKinds.tensor, async ({ file }) => isLfsPointer(await readWhole(file, 64)));
}

/** Whether the commit of a worktree has files in Git LFS. */
export async function usesLfs(git: Git): Promise<boolean> {
	return succeeded(
		await git(["grep", "-q", "-e", "filter=lfs", "HEAD", "--", ".gitattributes", ":(glob)**/.gitattributes"], { online: true }),
	);
}

/**
 * The server may be set in `.lfsconfig`, a file of the commit. Git LFS takes no program from there (its manual,
 * git-lfs-config(5), lists the few keys that it reads: no transfer agent, no filter), but it uses `lfs.url`, contacts that
 * address, and may offer it credentials. A base is a commit that the repository's maintainers accepted, so it is
 * trusted. A head that may come from a fork keeps its pointers if it contains a `.lfsconfig`. Transfer agents of the user's
 * own git config are the user's choice and stay.
 * @returns one sentence on why files stay pointers; null if all were fetched.
 */
export async function pullLfs({ root, paths, isUntrusted, remote }: LfsRequest, git: Git): Promise<string | null> {
	if (paths.length === 0) return null;
	if (isUntrusted && (await lstat(join(root, ".lfsconfig")).catch(() => null)) !== null) {
		return "Files of Git LFS were not fetched for the head: it sets its own LFS server in .lfsconfig and comes from a fork.";
	}
	if (!succeeded(await git(["lfs", "version"]))) {
		return "Files of Git LFS were not fetched, because git-lfs is not installed: install it, and check out with `lfs: true` (actions/checkout).";
	}
	const some = paths === "all" || paths.length > maxPaths ? [] : [`--include=${paths.map((path) => patternOf(path, root)).join(",")}`];
	const args = ["lfs", "pull", ...some, "--exclude=", ...(remote === null ? [] : [remote])];
	const pulled = await git(args, { timeoutMs: slowMs, settings: filters, online: true, env: { GIT_LFS_SKIP_SMUDGE: undefined } });
	if (succeeded(pulled)) return null;
	const last = pulled.tail.at(-1) ?? `exit code ${pulled.exitCode ?? "unknown"}`;
	return `Files of Git LFS could not be fetched: ${last.slice(0, 200)}`;
}

/** A pattern for the path: each special character of patterns and lists matches any character. */
function patternOf(path: string, root: string): string {
	return `/${relative(root, path)
		.split(sep)
		.join("/")
		.replace(/[,*?[\]\\!#\s]/g, "?")}`;
}

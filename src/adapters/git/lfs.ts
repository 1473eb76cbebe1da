// Fetches files of a worktree that Git LFS keeps elsewhere.
import { lstat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import { classifyLfs } from "../../formats/git/output.ts";
import { isLfsPointer } from "../../formats/onnx/head.ts";
import { readWhole, withInput } from "../process/input-file.ts";
import { fixOfDenied, type Git, slowMs, succeeded } from "./run-git.ts";

export interface LfsProblem {
	reason: string;
	fix: string;
}

export interface LfsRequest {
	root: string;
	paths: readonly string[] | "all";
	isUntrusted: boolean;
	remote: string | null;
}

/** Git LFS treats anything longer as data. */
const maxPointerBytes = 1024;
const maxPaths = 200;

/** What `git lfs install` writes; without it, `git lfs pull` does nothing. */
const filters = [
	"filter.lfs.clean=git-lfs clean -- %f",
	"filter.lfs.smudge=git-lfs smudge -- %f",
	"filter.lfs.process=git-lfs filter-process",
	"filter.lfs.required=true",
	"lfs.skipdownloaderrors=false",
];

export async function isPointerFile(path: string): Promise<boolean> {
	const facts = await lstat(path).catch(() => null);
	if (!facts?.isFile() || facts.size > maxPointerBytes) return false;
	return withInput(path, inputKinds.tensor, async ({ file }) => isLfsPointer(await readWhole(file, 64)));
}

export async function usesLfs(git: Git): Promise<boolean> {
	return succeeded(
		await git(
			["grep", "-q", "-e", "filter=lfs", "HEAD", "--", ".gitattributes", ":(glob)**/.gitattributes"],
			{ online: true },
		),
	);
}

/**
 * `.lfsconfig` of a commit may name a server to which Git LFS offers credentials, so a head that may come
 * from a fork and has one keeps its pointers.
 * @returns why files stay pointers; null if all were fetched.
 */
export async function pullLfs(
	{ root, paths, isUntrusted, remote }: LfsRequest,
	git: Git,
): Promise<LfsProblem | null> {
	if (paths.length === 0) return null;
	if (isUntrusted && (await lstat(join(root, ".lfsconfig")).catch(() => null)) !== null) {
		const reason =
			"Files of Git LFS were not fetched for the head: it sets its own LFS server in .lfsconfig and comes from a fork.";
		return { reason, fix: "Measure the change from a branch of this repository." };
	}
	if (!succeeded(await git(["lfs", "version"])))
		return {
			reason: "Files of Git LFS were not fetched, because git-lfs is not installed.",
			fix: "Install it in the job's image or in a step before actions/checkout: `apt-get install -y git-lfs`.",
		};
	const some =
		paths === "all" || paths.length > maxPaths
			? []
			: [`--include=${paths.map((path) => patternOf(path, root)).join(",")}`];
	const args = ["lfs", "pull", ...some, "--exclude=", ...(remote === null ? [] : [remote])];
	const pulled = await git(args, {
		timeoutMs: slowMs,
		settings: filters,
		online: true,
		env: { GIT_LFS_SKIP_SMUDGE: undefined },
	});
	if (succeeded(pulled)) return null;
	const { fault, line } = classifyLfs(pulled.tail);
	return {
		reason: `Files of Git LFS could not be fetched: ${line.slice(0, 200) || `exit code ${pulled.exitCode}`}`,
		fix: fault === "denied" ? fixOfDenied(await git.identity()) : fixes[fault],
	};
}

const fixes = {
	budget:
		"Let the repository's owner raise its budget for Git LFS under *Billing and licensing*; until then, GitHub serves no files.",
	absent: "Push the files again with `git lfs push --all`, from a clone that has them.",
	unreachable: "Run the job again.",
};

function patternOf(path: string, root: string) {
	return `/${relative(root, path)
		.split(sep)
		.join("/")
		.replace(/[,*?[\]\\!#\s]/g, "?")}`;
}

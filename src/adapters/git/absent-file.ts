// Why a file that a commit or a folder refers to is missing, so that it is not mistaken for one that never existed.
import { lstat, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Git } from "./run-git.ts";

/**
 * @param git of a checkout; null for a plain folder.
 * @returns a clause; null where there really is no such file.
 */
export async function whyAbsent(path: string, folder: string, git: Git | null): Promise<string | null> {
	const steps = posix.normalize(path).split("/");
	const places = steps.map((_, at) => steps.slice(0, at + 1).join("/"));
	for (const place of places) if (await isDeadLink(join(folder, place))) return `${place} is a link whose target does not exist`;
	if (git === null) return null;
	const listed = await git(["ls-tree", "-z", "HEAD", "--", ...places]);
	for (const entry of listed.stdout.split("\0")) {
		const [facts = "", name] = entry.split("\t");
		if (facts.startsWith("160000 ")) return `${name} is a submodule, which is not checked out`;
		if (name === places.at(-1)) return "the commit has it, and git did not check it out (a sparse checkout?)";
	}
	return null;
}

async function isDeadLink(path: string): Promise<boolean> {
	const link = await lstat(path).catch(() => null);
	return link?.isSymbolicLink() === true && (await stat(path).catch(() => null)) === null;
}

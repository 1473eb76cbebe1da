// The output folder: checked before use, and cleared of an earlier run's files.

import { existsSync } from "node:fs";
import { lstat, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, sep } from "node:path";
import { type Git, gitIn, refuseForeignOwner, succeeded } from "../adapters/git/run-git.ts";
import type { Processes } from "../adapters/process/processes.ts";
import { ConfigError, ToolError } from "../core/errors.ts";
import type { Environment } from "../host/adapters/github/env.ts";
import type { Files } from "../ports/world.ts";
import { reportFiles } from "../stages/report.ts";
import { workspaceOf } from "./config-file.ts";
import { ownProcesses } from "./own-processes.ts";

/** All that a run writes; nothing else is removed or uploaded. */
export const outNames: readonly string[] = [
	...new Set(Object.values(reportFiles).map((path) => path.split("/", 1)[0] ?? path)),
	"publish.json",
	"raw",
	"logs",
	"engines",
	"cache",
	"history",
	"link",
	"fresh",
	"layers",
	"nsys",
	"ncu",
	"scratch",
	"worktrees",
];

const listBytes = 16 * 1024 * 1024;

/** An action's folder must be below one of these, with nothing tracked by git. */
export interface OutRoots {
	workspace: string;
	temp: string;
}

/** A person, in `cwd`, may name any folder. */
type OutPlace = OutRoots | { cwd: string };

export function outRoots(
	{ workspace, temp }: Pick<Environment, "workspace" | "temp">,
	cwd: string,
): OutRoots {
	return { workspace: workspace ?? cwd, temp: temp ?? tmpdir() };
}

/**
 * Links and tracked files may come from the change, and would redirect results or publish other files.
 * @param path absolute.
 * @throws ConfigError output-refused, git-ref.
 */
export async function checkOutFolder(
	path: string,
	place: OutPlace,
	processes: Processes = ownProcesses(),
): Promise<void> {
	await refuseLinks(path, place);
	if (!existsSync(path)) return;
	const tracked = await listTracked(path, gitIn(dirname(path), processes));
	const first = tracked.find((entry) => !("cwd" in place) || entry.startsWith("120000 "));
	if (first !== undefined)
		throw refused(path, `git tracks ${JSON.stringify(first.slice(first.indexOf("\t") + 1))}`);
}

export async function refuseLinks(path: string, place: OutPlace): Promise<void> {
	const root = rootOf(path, place);
	const steps = root === null ? [] : relative(root, path).split(sep);
	const parts = steps.map((_, at) => join(root ?? "", ...steps.slice(0, at + 1)));
	for (const part of [...parts, ...outNames.map((name) => join(path, name))]) {
		const found = await lstat(part).catch(() => null);
		if (found?.isSymbolicLink()) throw refused(path, part === path ? "it is a link" : `${part} is a link`);
	}
}

/** null if a person chose a path outside of a repository. */
function rootOf(path: string, place: OutPlace) {
	if ("cwd" in place) {
		const repository = workspaceOf(path, place.cwd);
		return existsSync(join(repository, ".git")) && isBelow(path, repository) ? repository : null;
	}
	const { workspace, temp } = place;
	const root = [workspace, temp].find((folder) => isBelow(path, folder));
	if (root !== undefined) return root;
	throw refused(path, `it is below neither the workspace ${workspace} nor the runner's temporary folder`);
}

async function listTracked(path: string, git: Git) {
	const args = ["ls-files", "--stage", "-z", "--", `:(literal,icase)${basename(path)}`];
	const listed = await git(args, { captureBytes: listBytes }).catch((error: unknown) => {
		if (error instanceof ToolError && error.code === "tool-missing") return null;
		throw error;
	});
	if (listed === null) return [];
	if (!succeeded(listed)) refuseForeignOwner(listed.tail);
	return listed.stdout.split("\0").filter((entry) => entry !== "");
}

function isBelow(path: string, folder: string) {
	const steps = relative(folder, path);
	return steps !== "" && steps.split(sep)[0] !== "..";
}

function refused(path: string, why: string) {
	return new ConfigError({
		code: "output-refused",
		message: `The output folder ${path} is refused: ${why}; expected a real folder that only trtgate writes.`,
		fix: "Remove it from the repository, or name another folder with the input `out` or with --out.",
	});
}

export async function makeOutFolder(
	outFolder: string,
	files: Pick<Files, "makeFolder" | "writeText">,
): Promise<void> {
	const isNew = !existsSync(outFolder);
	await files.makeFolder(outFolder);
	if (isNew) await files.writeText(join(outFolder, ".gitignore"), "*\n");
}

/** @param isOwn an action's: its files would be uploaded. */
export async function removeEarlierResult(outFolder: string, { isOwn }: { isOwn: boolean }): Promise<void> {
	if (!isOwn && !existsSync(join(outFolder, reportFiles.result))) return;
	for (const name of outNames) await rm(join(outFolder, name), { recursive: true, force: true });
}

// Finds the two folders that a run compares: given as folders, or as git refs that are checked out beside.
import { stat } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { describeFolder, openRef } from "../adapters/git/worktree.ts";
import type { Processes } from "../adapters/process/processes.ts";
import type { Arm } from "../core/schema/result.ts";
import type { ArmFolder } from "../stages/prepare.ts";

export interface ArmRequest {
	arm: Arm;
	/** A folder or a git ref, as the user wrote it. */
	wanted: string;
	cwd: string;
	/** Folder of the head, absolute; a ref is resolved in its repository. */
	home: string;
	outFolder: string;
}

export interface OpenedArm {
	folder: ArmFolder;
	/** Removes the checkout again, where there is one. */
	close(): Promise<void>;
}

/** @throws ConfigError git-ref where the name is neither a folder nor a known ref. */
export async function openArm(request: ArmRequest, processes: Processes): Promise<OpenedArm> {
	const path = resolve(request.cwd, request.wanted);
	if (await isFolder(path)) {
		const label = relative(request.cwd, path) || basename(path);
		// A folder inside a repository is one of many at its commit, so only a whole checkout is named by it.
		const known = (await isThere(join(path, ".git"))) ? await describeFolder(path, processes) : null;
		const commit = known === null || known.dirty ? {} : { commit: known.commit };
		return { folder: { arm: request.arm, path, source: { label, ...commit } }, close: async () => {} };
	}
	const folder = join(request.outFolder, "worktrees", request.arm);
	const tree = await openRef({ repository: request.home, ref: request.wanted, folder, processes });
	const source = { label: request.wanted, ref: request.wanted, commit: tree.commit };
	return { folder: { arm: request.arm, path: tree.path, source }, close: () => tree.remove() };
}

function isThere(path: string): Promise<boolean> {
	return stat(path).then(
		() => true,
		() => false,
	);
}

function isFolder(path: string): Promise<boolean> {
	return stat(path).then(
		(found) => found.isDirectory(),
		() => false,
	);
}

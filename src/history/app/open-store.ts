// Opens a history in a folder or on a branch.

import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { type GitAccess, gitIn, isRepository } from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import { ownProcesses } from "../../app/own-processes.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import type { HistoryStore } from "../../ports/history.ts";
import { historyBranch } from "../adapters/history-branch.ts";
import { historyFolder } from "../adapters/history-folder.ts";

interface HistoryPlace {
	folder?: string | undefined;
	branch?: string | undefined;
}

/** @throws ConfigError usage unless one of the two is given. */
export function openStore(
	{ folder, branch }: HistoryPlace,
	world: { cwd: string; processes?: Processes; access?: GitAccess | undefined },
): HistoryStore {
	if (folder !== undefined && branch === undefined) return historyFolder(resolve(world.cwd, folder));
	if (branch !== undefined && folder === undefined) {
		const processes = world.processes ?? ownProcesses();
		return historyBranch({ repository: world.cwd, branch, processes, access: world.access });
	}
	throw usageError(
		folder === undefined ? "Name the history." : "A history is in a folder or on a branch, not both.",
		"Give --folder DIR, or --branch trtgate-history.",
	);
}

/** @throws ConfigError history-denied if there is no clone to push a branch from. */
export async function openRunStore(
	place: HistoryPlace,
	world: { cwd: string; processes: Processes; access: GitAccess | undefined },
): Promise<HistoryStore> {
	const hasClone = () => isRepository(gitIn(world.cwd, world.processes)).catch(() => false);
	if (place.branch === undefined || (await hasClone())) return openStore(place, world);
	throw new ConfigError({
		code: "history-denied",
		message: `The history cannot use the branch ${place.branch}: ${world.cwd} is not a clone, or git is not installed.`,
		fix: "Check out the repository with actions/checkout in a job that has git, or keep the history in a folder.",
	});
}

export function sha256(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

// Opens the history that the user names: a folder or a branch.
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { historyFolder, readFolder } from "../../adapters/files/history-folder.ts";
import { historyBranch } from "../../adapters/git/history-branch.ts";
import { isRepository } from "../../adapters/git/refs.ts";
import { type GitAccess, gitIn } from "../../adapters/git/run-git.ts";
import { childEnvironment } from "../../adapters/github/env.ts";
import { historyApi } from "../../adapters/github/history-api.ts";
import { createProcesses, type Processes } from "../../adapters/process/processes.ts";
import { usageError } from "../../core/errors.ts";
import type { Repository } from "../../ports/code-host.ts";
import type { HistoryStore } from "../../ports/history.ts";

export interface HistoryPlace {
	folder?: string | undefined;
	branch?: string | undefined;
}

/** @throws ConfigError usage where it is not one of the two. */
export function openStore(
	{ folder, branch }: HistoryPlace,
	world: { cwd: string; processes?: Processes; access?: GitAccess | undefined },
): HistoryStore {
	if (folder !== undefined && branch === undefined) return historyFolder(resolve(world.cwd, folder));
	if (branch !== undefined && folder === undefined) {
		const processes = world.processes ?? createProcesses({ env: childEnvironment() });
		return historyBranch({ repository: world.cwd, branch, processes, access: world.access, readFolder });
	}
	throw usageError(
		folder === undefined ? "Name the history." : "A history is in a folder or on a branch, not both.",
		"Give --folder DIR, or --branch trtgate-history.",
	);
}

interface RunWorld {
	cwd: string;
	processes: Processes;
	access: GitAccess | undefined;
	/** Of the workflow run: keeps the history where the job has no clone, no git, or none that git reads. */
	repository: Repository | undefined;
}

export async function openRunStore(place: HistoryPlace, world: RunWorld): Promise<HistoryStore> {
	const { cwd, processes, repository } = world;
	if (place.branch === undefined || repository === undefined) return openStore(place, world);
	const hasClone = await isRepository(gitIn(cwd, processes)).catch(() => false);
	return hasClone ? openStore(place, world) : historyApi(repository, place.branch);
}

export function sha256(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

// Keeps a history, in a folder or on a branch.
import type { Compaction, HistoryFile } from "../history/core/files.ts";

/** Several writers may add at once; none changes another's files. */
export interface HistoryStore {
	name: string;
	read(): Promise<readonly HistoryFile[]>;
	/**
	 * Resolves when the files are durable; adding again changes nothing.
	 * @throws ConfigError history-denied, output-unwritable; ToolError history-unwritable, disk-full.
	 */
	add(files: readonly HistoryFile[]): Promise<void>;
	/** @param plan called with the newest files, and again if another writer came first. @returns false if there is nothing to do. */
	compact(plan: (files: readonly HistoryFile[]) => Compaction | null): Promise<boolean>;
}

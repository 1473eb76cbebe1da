// Where the history is kept: a folder, or a branch of a git repository. Types only.
import type { Compaction, HistoryFile } from "../core/history/files.ts";

/** Writers on several machines may add at the same time; none of them changes a file of another. */
export interface HistoryStore {
	/** What it is called in messages. */
	name: string;
	read(): Promise<readonly HistoryFile[]>;
	/**
	 * Resolves when the files are kept for good. Adding a file again changes nothing.
	 * @throws ConfigError history-denied, output-unwritable; ToolError history-unwritable, disk-full.
	 */
	add(files: readonly HistoryFile[]): Promise<void>;
	/** @param plan called with the newest files, and again if another writer came first. @returns false if there is nothing to do. */
	compact(plan: (files: readonly HistoryFile[]) => Compaction | null): Promise<boolean>;
}

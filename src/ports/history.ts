// Keeps a history, in a folder or on a branch.
import type { Compaction, HistoryFile } from "../core/history/files.ts";

/** Several writers may add at once; none changes another's files. */
export interface HistoryStore {
	/** For messages. */
	name: string;
	read(): Promise<readonly HistoryFile[]>;
	/**
	 * Resolves when the files are durable; adding again changes nothing.
	 * @throws ConfigError history-denied, output-unwritable; ToolError history-unwritable, disk-full.
	 */
	add(files: readonly HistoryFile[]): Promise<void>;
	/** `plan` is called again if another writer came first. false: nothing to do. */
	compact(plan: (files: readonly HistoryFile[]) => Compaction | null): Promise<boolean>;
}

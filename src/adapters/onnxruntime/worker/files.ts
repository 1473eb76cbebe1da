// The worker's files, written completely or not at all.
import { renameSync, writeFileSync } from "node:fs";

export function writeAtomic(path: string, content: string | Uint8Array): void {
	const temporary = `${path}.${process.pid}.tmp`;
	writeFileSync(temporary, content);
	renameSync(temporary, path);
}

// Tells which of the files that a profiler may leave are there and hold something.
import { stat } from "node:fs/promises";

export async function existing(paths: readonly string[]): Promise<string[]> {
	const found: string[] = [];
	for (const path of paths) if ((await sizeOf(path)) > 0) found.push(path);
	return found;
}

export async function sizeOf(path: string): Promise<number> {
	try {
		return (await stat(path)).size;
	} catch {
		return 0;
	}
}

// Writes the folder of a recorded example.
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

export interface ExampleFolder {
	path: string;
	save(path: string, bytes: string | Uint8Array): void;
	savePacked(path: string, bytes: string | Uint8Array): void;
	saveJson(path: string, value: unknown): void;
	/** Says how large the folder is. */
	report(): void;
}

/** @param made the folders in it that are made anew. */
export function openFolder(folder: string, made: readonly string[]): ExampleFolder {
	const here = resolve(folder);
	for (const name of made) rmSync(join(here, name), { recursive: true, force: true });
	const save = (path: string, bytes: string | Uint8Array) => {
		mkdirSync(dirname(join(here, path)), { recursive: true });
		writeFileSync(join(here, path), bytes);
	};
	return {
		path: here,
		save,
		savePacked(path, bytes) {
			const packed = gzipSync(bytes, { level: 9 });
			// Byte 9 names the system that packed it.
			packed[9] = 255;
			save(path, packed);
		},
		saveJson: (path, value) => save(path, `${JSON.stringify(value, null, "\t")}\n`),
		report() {
			const files = readdirSync(here, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
			const bytes = files.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
			process.stdout.write(`${files.length} files, ${bytes} bytes\n`);
		},
	};
}

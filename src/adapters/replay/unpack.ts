// Copies a folder, unpacking every file that ends in .gz.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

const inflate = promisify(gunzip);

/** Replaces the target. */
export async function unpackFolder(from: string, to: string): Promise<void> {
	await rm(to, { recursive: true, force: true });
	await mkdir(to, { recursive: true });
	for (const entry of await readdir(from, { withFileTypes: true })) {
		const source = join(from, entry.name);
		if (entry.isDirectory()) await unpackFolder(source, join(to, entry.name));
		else if (entry.name.endsWith(".gz")) await writeFile(join(to, entry.name.slice(0, -3)), await inflate(await readFile(source)));
		else await writeFile(join(to, entry.name), await readFile(source));
	}
}

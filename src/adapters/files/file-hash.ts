// SHA-256 of files, in blocks, so that the memory does not grow with the file.
import { createHash } from "node:crypto";
import { read } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";

const blockBytes = 1024 * 1024;
const readBlock = promisify(read);

/** Lower-case hex of a file by path, or of an open one from its start; its own position does not move. */
export async function hashFile(file: string | number): Promise<string> {
	if (typeof file === "number") return hashOpen(file);
	const handle = await open(file, "r");
	try {
		return await hashOpen(handle.fd);
	} finally {
		await handle.close();
	}
}

async function hashOpen(file: number): Promise<string> {
	const hash = createHash("sha256");
	const block = new Uint8Array(blockBytes);
	for (let position = 0; ; ) {
		const { bytesRead } = await readBlock(file, block, 0, blockBytes, position);
		if (bytesRead === 0) return hash.digest("hex");
		hash.update(block.subarray(0, bytesRead));
		position += bytesRead;
	}
}

/** The hash of lines sorted by their bytes, each with its line end. */
export function hashOfLines(lines: readonly string[]): string {
	const sorted = lines.map((line) => Buffer.from(`${line}\n`)).sort(Buffer.compare);
	return createHash("sha256").update(Buffer.concat(sorted)).digest("hex");
}

// SHA-256 of files, in blocks of bounded memory.
import { createHash } from "node:crypto";
import { read } from "node:fs";
import { promisify } from "node:util";
import type { InputKind } from "../../core/input-kind.ts";
import { withInput } from "../process/input-file.ts";

const blockBytes = 1024 * 1024;
const readBlock = promisify(read);

/** Lower-case hex. @throws ConfigError by the kind. */
export function hashFile(path: string, kind: InputKind): Promise<string> {
	return withInput(path, kind, ({ file }) => hashOpen(file));
}

/** Of an open file from its start; its position does not change. */
export async function hashOpen(file: number): Promise<string> {
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

// Reads what stands beside the files of a cache entry: their sizes and digests, and facts about them.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

export interface KeptFile {
	bytes: number;
	sha256: string;
}

/** @throws Error where the text is no manifest. */
export function parseManifest(text: string): { files: Map<string, KeptFile>; facts: unknown } {
	const value: unknown = JSON.parse(text);
	if (!isRecord(value) || value["version"] !== 1 || !isRecord(value["files"])) throw new Error("no manifest of ours");
	const files = new Map<string, KeptFile>();
	for (const [name, file] of Object.entries(value["files"])) {
		if (!isRecord(file)) continue;
		const { bytes, sha256 } = file;
		if (typeof bytes === "number" && typeof sha256 === "string") files.set(name, { bytes, sha256 });
	}
	return { files, facts: value["facts"] };
}

export async function digestOf(path: string): Promise<string> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
	return hash.digest("hex");
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null;
}

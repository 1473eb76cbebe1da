// Reads and writes text files; those whose names end in .gz are compressed.
import { gunzipSync, gzipSync } from "node:zlib";

const maxBytes = 256 * 1024 * 1024;

export function toBytes({ path, text }: { path: string; text: string }): Buffer {
	return path.endsWith(".gz") ? gzipSync(text, { level: 9 }) : Buffer.from(text);
}

export function toText(path: string, bytes: Uint8Array): string {
	return (
		path.endsWith(".gz") ? gunzipSync(bytes, { maxOutputLength: maxBytes }) : Buffer.from(bytes)
	).toString("utf8");
}

// Positioned reads of an open file: nothing is read but what is asked for.
import { readSync } from "node:fs";
import type { ByteSource } from "../../formats/bytes/byte-source.ts";

/** Reads beyond 2 GiB in one call fail. */
const blockBytes = 4 * 1024 * 1024;

/** Each read is a copy of its own; offsets beyond 2 GiB are as good as others. */
export function fileSource(file: number, size: number): ByteSource {
	return {
		size,
		read(offset, length) {
			const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
			let filled = 0;
			while (filled < bytes.length) {
				const count = readSync(file, bytes, filled, Math.min(blockBytes, bytes.length - filled), offset + filled);
				if (count === 0) return bytes.subarray(0, filled);
				filled += count;
			}
			return bytes;
		},
	};
}

// Reads tar archives as POSIX.1-1988 (ustar) lays them out.
export const blockBytes = 512;

/** The regular files of a whole archive, links, folders and devices left out; paths as they stand. @throws where it is damaged or cut short. */
export function* tarFiles(archive: Uint8Array): Generator<{ path: string; bytes: Uint8Array }> {
	for (let at = 0; at + blockBytes <= archive.length; ) {
		const header = parseHeader(archive.subarray(at, at + blockBytes));
		at += blockBytes;
		if (header === null) continue;
		if (at + header.bytes > archive.length) throw new Error("the archive is truncated");
		if (header.isFile) yield { path: header.path, bytes: archive.subarray(at, at + header.bytes) };
		at += Math.ceil(header.bytes / blockBytes) * blockBytes;
	}
}

export interface TarHeader {
	path: string;
	bytes: number;
	isFile: boolean;
}

/** null: one of the blocks of zeros at the end. Fields by POSIX.1-1988 ustar. */
export function parseHeader(bytes: Uint8Array): TarHeader | null {
	const block = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (block.every((byte) => byte === 0)) return null;
	const text = (from: number, length: number): string => {
		const field = block.toString("utf8", from, from + length);
		const end = field.indexOf("\0");
		return end === -1 ? field : field.slice(0, end);
	};
	const size = text(124, 12).trim();
	if (!/^[0-7]{1,12}$/.test(size) || checksum(block) !== Number.parseInt(text(148, 8).trim(), 8)) throw new Error("the archive is damaged");
	const kind = text(156, 1);
	const prefix = text(257, 5) === "ustar" ? text(345, 155) : "";
	const path = prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`;
	return { path, bytes: Number.parseInt(size, 8), isFile: kind === "" || kind === "0" };
}

/** Sum of all bytes, those of the checksum's own field read as spaces. */
function checksum(block: Buffer): number {
	let sum = 0;
	for (const [index, byte] of block.entries()) sum += index >= 148 && index < 156 ? 32 : byte;
	return sum;
}

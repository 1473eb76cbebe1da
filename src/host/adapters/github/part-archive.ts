// Takes one file out of an artifact, which may be hostile, into memory.
import { open } from "node:fs/promises";
import { crc32, inflateRawSync } from "node:zlib";
import { fileSource } from "../../../adapters/process/input-file.ts";
import type { ByteSource } from "../../../formats/bytes/byte-source.ts";
import { findZipEntries, type ZipEntry } from "../../../formats/zip/zip.ts";
import type { TakeLimits, TakenFile } from "../../../ports/code-host.ts";

/** The name must be an entry's, so no path is followed. */
export async function takeFile(archive: string, name: string, limits: TakeLimits): Promise<TakenFile> {
	const file = await open(archive);
	try {
		const { size } = await file.stat();
		if (size > limits.packedBytes)
			return refused(`It has ${size} bytes; at most ${limits.packedBytes} are read.`);
		const source = fileSource(file.fd, size);
		const entries = findZipEntries(source, (candidate) => candidate === name);
		if (typeof entries === "string") return refused(`It cannot be read: ${entries}.`);
		const [entry, second] = entries;
		if (entry === undefined) return { state: "absent" };
		if (second !== undefined) return refused(`It contains ${name} twice.`);
		return unpack(source, entry, limits);
	} finally {
		await file.close();
	}
}

function refused(reason: string): TakenFile {
	return { state: "refused", reason };
}

function unpack(source: ByteSource, entry: ZipEntry, limits: TakeLimits): TakenFile {
	if (entry.isLink) return refused(`Its ${entry.name} is a symbolic link.`);
	if (entry.bytes > limits.bytes || entry.packedBytes > limits.bytes)
		return refused(`Its ${entry.name} has ${entry.bytes} bytes; at most ${limits.bytes} are read.`);
	const packed = source.read(entry.dataAt, entry.packedBytes);
	const bytes = entry.method === "stored" ? packed : inflate(packed, Math.min(limits.bytes, entry.bytes));
	if (bytes === null || bytes.length !== entry.bytes)
		return refused(`Its ${entry.name} does not have the size in its directory.`);
	if (crc32(bytes) !== entry.crc32) return refused(`Its ${entry.name} does not match its checksum.`);
	return decodeFile(bytes, entry.name);
}

export function decodeFile(bytes: Uint8Array, name: string): TakenFile {
	try {
		return { state: "read", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
	} catch {
		return refused(`Its ${name} is not UTF-8 text.`);
	}
}

/** null if the entry is broken, or unpacks to more than it declares. */
function inflate(packed: Uint8Array, maxBytes: number) {
	try {
		return inflateRawSync(packed, { maxOutputLength: Math.max(1, maxBytes) });
	} catch {
		return null;
	}
}

// Takes one named file out of a downloaded artifact that may be hostile: into memory, bounded, and nothing onto the disk.
import { type FileHandle, open } from "node:fs/promises";
import { crc32, inflateRawSync } from "node:zlib";
import { findZipList, localHeaderBytes, parseLocalHeader, parseZipList, tailBytes, type ZipEntry } from "../../formats/zip/directory.ts";

export type Taken =
	| { state: "read"; text: string }
	/** No file of this name. */
	| { state: "absent" }
	| { state: "refused"; reason: string };

export interface TakeLimits {
	/** Of the archive. */
	packedBytes: number;
	/** Of the one file, unpacked. */
	bytes: number;
}

/** The name has to be exactly that of an entry, so no path of the archive is ever followed. */
export async function takeFile(archive: string, name: string, limits: TakeLimits): Promise<Taken> {
	const file = await open(archive);
	try {
		const { size } = await file.stat();
		if (size > limits.packedBytes) return refused(`It has ${size} bytes; at most ${limits.packedBytes} are read.`);
		const tail = await readAt(file, Math.max(0, size - tailBytes), Math.min(size, tailBytes));
		const list = findZipList(tail, size);
		if (list.state === "refused") return list;
		const entries = parseZipList(await readAt(file, list.value.offset, list.value.bytes), list.value.entries);
		if (entries.state === "refused") return entries;
		const [entry, second] = entries.value.filter((candidate) => candidate.name === name);
		if (entry === undefined) return { state: "absent" };
		if (second !== undefined) return refused(`It holds ${name} twice.`);
		return checkEntry(entry, limits) ?? (await unpack(file, entry, limits));
	} finally {
		await file.close();
	}
}

function refused(reason: string): { state: "refused"; reason: string } {
	return { state: "refused", reason };
}

function checkEntry(entry: ZipEntry, limits: TakeLimits): Taken | null {
	if (entry.isLink) return refused(`Its ${entry.name} is a symbolic link.`);
	if (entry.isEncrypted) return refused(`Its ${entry.name} is encrypted.`);
	if (entry.method !== 0 && entry.method !== 8) return refused(`Its ${entry.name} is packed by method ${entry.method}, which is not read.`);
	if (entry.bytes <= limits.bytes && entry.packedBytes <= limits.bytes) return null;
	return refused(`Its ${entry.name} has ${entry.bytes} bytes; at most ${limits.bytes} are read.`);
}

async function unpack(file: FileHandle, entry: ZipEntry, limits: TakeLimits): Promise<Taken> {
	const start = parseLocalHeader(await readAt(file, entry.offset, localHeaderBytes));
	if (start.state === "refused") return start;
	const packed = await readAt(file, entry.offset + start.value, entry.packedBytes);
	const bytes = entry.method === 0 ? packed : inflate(packed, Math.min(limits.bytes, entry.bytes));
	if (bytes === null || bytes.length !== entry.bytes) return refused(`Its ${entry.name} is not as long as its list says.`);
	if (crc32(bytes) !== entry.crc32) return refused(`Its ${entry.name} does not match its checksum.`);
	try {
		return { state: "read", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
	} catch {
		return refused(`Its ${entry.name} is no UTF-8 text.`);
	}
}

/** null where it is broken, or unpacks to more than it says. */
function inflate(packed: Uint8Array, mostBytes: number): Uint8Array | null {
	try {
		return inflateRawSync(packed, { maxOutputLength: Math.max(1, mostBytes) });
	} catch {
		return null;
	}
}

/** Shorter where the file ends. */
async function readAt(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
	const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, offset);
	return buffer.subarray(0, bytesRead);
}

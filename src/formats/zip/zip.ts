// The directory of a ZIP archive: the byte ranges of its members. Every offset is checked first.
import type { ByteSource } from "../bytes/byte-source.ts";

export interface ZipEntry {
	name: string;
	method: "stored" | "deflated";
	dataAt: number;
	packedBytes: number;
	bytes: number;
	crc32: number;
	isLink: boolean;
}

type ZipAnswer<Value> = Value | string;

/** Signatures, sizes and fields by PKWARE's APPNOTE 6.3.10, 4.3 and 4.5.3. */
const endSignature = 0x06054b50;
const endBytes = 22;
const longestComment = 65_535;
const end64LocatorSignature = 0x07064b50;
const end64LocatorBytes = 20;
const end64Signature = 0x06064b50;
const end64Bytes = 56;
const entrySignature = 0x02014b50;
const entryBytes = 46;
const localSignature = 0x04034b50;
const localBytes = 30;
const long16 = 0xffff;
const long32 = 0xffffffff;

const maxDirectoryBytes = 16 * 1024 * 1024;

export function findZipEntries(source: ByteSource, wanted: (name: string) => boolean): ZipAnswer<ZipEntry[]> {
	const directory = findDirectory(source);
	if (typeof directory === "string") return directory;
	const { at, bytes } = directory;
	if (bytes > maxDirectoryBytes)
		return `a directory of ${bytes} bytes, where at most ${maxDirectoryBytes} are read`;
	if (at + bytes > source.size) return "a directory beyond the end of the file";
	return readEntries(source, viewOf(source.read(at, bytes)), wanted);
}

function viewOf(bytes: Uint8Array): DataView {
	return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function findDirectory(source: ByteSource) {
	const length = Math.min(source.size, endBytes + longestComment);
	const tail = viewOf(source.read(source.size - length, length));
	for (let at = tail.byteLength - endBytes; at >= 0; at -= 1) {
		if (
			tail.getUint32(at, true) !== endSignature ||
			tail.getUint16(at + 20, true) !== tail.byteLength - at - endBytes
		)
			continue;
		const directory = { at: tail.getUint32(at + 16, true), bytes: tail.getUint32(at + 12, true) };
		const is64 =
			directory.at === long32 || directory.bytes === long32 || tail.getUint16(at + 10, true) === long16;
		return is64 ? findDirectory64(source, source.size - tail.byteLength + at) : directory;
	}
	return "not a ZIP archive, or a truncated one";
}

function findDirectory64(source: ByteSource, endAt: number) {
	const locator = viewOf(source.read(Math.max(0, endAt - end64LocatorBytes), end64LocatorBytes));
	if (locator.byteLength < end64LocatorBytes || locator.getUint32(0, true) !== end64LocatorSignature)
		return "no ZIP64 locator";
	const at = readLong(locator, 8);
	const end = at === null || at > source.size - end64Bytes ? null : viewOf(source.read(at, end64Bytes));
	if (end === null || end.getUint32(0, true) !== end64Signature) return "no end of a ZIP64 directory";
	const bytes = readLong(end, 40);
	const start = readLong(end, 48);
	return bytes === null || start === null ? "a ZIP64 directory beyond any file" : { at: start, bytes };
}

/** null if it is more than a file can have. */
function readLong(view: DataView, at: number) {
	const value = view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
	return Number.isSafeInteger(value) ? value : null;
}

function readEntries(
	source: ByteSource,
	directory: DataView,
	wanted: (name: string) => boolean,
): ZipAnswer<ZipEntry[]> {
	const entries: ZipEntry[] = [];
	let at = 0;
	while (at < directory.byteLength) {
		if (at + entryBytes > directory.byteLength || directory.getUint32(at, true) !== entrySignature)
			return "a broken ZIP directory";
		const nameBytes = directory.getUint16(at + 28, true);
		const next =
			at + entryBytes + nameBytes + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
		if (next > directory.byteLength) return "a broken ZIP directory";
		const name = new TextDecoder().decode(
			new Uint8Array(directory.buffer, directory.byteOffset + at + entryBytes, nameBytes),
		);
		if (wanted(name)) {
			const view = new DataView(directory.buffer, directory.byteOffset + at, next - at);
			const entry = readEntry(source, view, name);
			if (typeof entry === "string") return entry;
			entries.push(entry);
		}
		at = next;
	}
	return entries;
}

function readEntry(source: ByteSource, view: DataView, name: string): ZipAnswer<ZipEntry> {
	if (view.getUint16(8, true) & 1) return "an encrypted member";
	const method = view.getUint16(10, true);
	if (method !== 0 && method !== 8)
		return `compression method ${method}, where stored (0) and deflated (8) are read`;
	const sizes = sizesOf(view);
	if (sizes === null) return "a member beyond any file";
	const [bytes, packedBytes, localAt] = sizes;
	if (localAt + localBytes > source.size) return "a member beyond the end of the file";
	const local = viewOf(source.read(localAt, localBytes));
	if (local.getUint32(0, true) !== localSignature) return "a member without its header";
	const dataAt = localAt + localBytes + local.getUint16(26, true) + local.getUint16(28, true);
	if (dataAt + packedBytes > source.size) return "a member beyond the end of the file";
	if (method === 0 && packedBytes !== bytes) return "a stored member of two sizes";
	const isLink = ((view.getUint32(38, true) >>> 16) & 0xf000) === 0xa000;
	return {
		name,
		method: method === 0 ? "stored" : "deflated",
		dataAt,
		packedBytes,
		bytes,
		crc32: view.getUint32(16, true),
		isLink,
	};
}

/** Those that are all ones are in the ZIP64 field, in this order. */
function sizesOf(view: DataView): [number, number, number] | null {
	const short = [view.getUint32(24, true), view.getUint32(20, true), view.getUint32(42, true)];
	let at = zip64At(view);
	const sizes: number[] = [];
	for (const value of short) {
		if (value !== long32) {
			sizes.push(value);
			continue;
		}
		if (at === null || at.next + 8 > at.end) return null;
		const long = readLong(view, at.next);
		if (long === null) return null;
		sizes.push(long);
		at = { ...at, next: at.next + 8 };
	}
	return [sizes[0] ?? 0, sizes[1] ?? 0, sizes[2] ?? 0];
}

function zip64At(view: DataView) {
	const extraAt = entryBytes + view.getUint16(28, true);
	const end = extraAt + view.getUint16(30, true);
	for (let at = extraAt; at + 4 <= end; at += 4 + view.getUint16(at + 2, true)) {
		const fieldEnd = at + 4 + view.getUint16(at + 2, true);
		if (view.getUint16(at, true) === 1) return fieldEnd <= end ? { next: at + 4, end: fieldEnd } : null;
	}
	return null;
}

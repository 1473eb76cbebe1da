// Reads the list of files at the end of a ZIP archive (APPNOTE 6.3, 4.3.12 and 4.3.16) that may be hostile: nothing is unpacked here.

export interface ZipEntry {
	name: string;
	/** 0 stored, 8 deflated. */
	method: number;
	packedBytes: number;
	bytes: number;
	crc32: number;
	/** Of the local header. */
	offset: number;
	isEncrypted: boolean;
	isLink: boolean;
}

export type Parsed<Value> = { state: "ok"; value: Value } | { state: "refused"; reason: string };

/** The end record and the longest comment that may follow it. */
export const tailBytes = 22 + 0xffff;
/** Of the list; an entry has 46 bytes and its name. */
const mostListBytes = 16 * 1024 * 1024;
const mostEntries = 50_000;

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
/** Stands where a ZIP64 record holds the figure. */
const beyond32 = 0xffffffff;

function refused(reason: string): { state: "refused"; reason: string } {
	return { state: "refused", reason };
}

function viewOf(bytes: Uint8Array): DataView {
	return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Where the list lies. `tail` is the end of the archive, which has `archiveBytes` in all. */
export function findZipList(tail: Uint8Array, archiveBytes: number): Parsed<{ offset: number; bytes: number; entries: number }> {
	const view = viewOf(tail);
	for (let at = tail.length - 22; at >= 0; at -= 1) {
		if (view.getUint32(at, true) !== endSignature || at + 22 + view.getUint16(at + 20, true) !== tail.length) continue;
		const [entries, bytes, offset] = [view.getUint16(at + 10, true), view.getUint32(at + 12, true), view.getUint32(at + 16, true)];
		if (bytes === beyond32 || offset === beyond32 || entries === 0xffff) return refused("It is a ZIP64 archive, larger than any of ours.");
		if (bytes > mostListBytes || entries > mostEntries)
			return refused(`It lists ${entries} files in ${bytes} bytes; at most ${mostEntries} are read.`);
		if (offset + bytes > archiveBytes) return refused("Its list of files lies outside of it.");
		return { state: "ok", value: { offset, bytes, entries } };
	}
	return refused("It is no ZIP archive, or cut short.");
}

export function parseZipList(list: Uint8Array, entries: number): Parsed<ZipEntry[]> {
	const view = viewOf(list);
	const found: ZipEntry[] = [];
	let at = 0;
	for (let count = 0; count < entries; count += 1) {
		if (at + 46 > list.length || view.getUint32(at, true) !== entrySignature) return refused("Its list of files is broken.");
		const [name, extra, comment] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true), view.getUint16(at + 32, true)];
		const end = at + 46 + name + extra + comment;
		if (end > list.length) return refused("Its list of files is broken.");
		found.push({
			name: new TextDecoder().decode(list.subarray(at + 46, at + 46 + name)),
			method: view.getUint16(at + 10, true),
			packedBytes: view.getUint32(at + 20, true),
			bytes: view.getUint32(at + 24, true),
			crc32: view.getUint32(at + 16, true),
			offset: view.getUint32(at + 42, true),
			isEncrypted: (view.getUint16(at + 8, true) & 1) === 1,
			// The high half holds the mode of Unix; 0xA000 is a symbolic link.
			isLink: ((view.getUint32(at + 38, true) >>> 16) & 0xf000) === 0xa000,
		});
		at = end;
	}
	return { state: "ok", value: found };
}

export const localHeaderBytes = 30;

/** Bytes from the local header to the file's own. */
export function parseLocalHeader(header: Uint8Array): Parsed<number> {
	const view = viewOf(header);
	if (header.length < localHeaderBytes || view.getUint32(0, true) !== localSignature)
		return refused("A file does not lie where the list says.");
	return { state: "ok", value: localHeaderBytes + view.getUint16(26, true) + view.getUint16(28, true) };
}

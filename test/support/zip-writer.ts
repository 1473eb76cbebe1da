import { crc32, deflateRawSync } from "node:zlib";

export interface ZipFile {
	name: string;
	content: Uint8Array | string;
	/** 0 stored, 8 deflated (default). */
	method?: number;
	flags?: number;
	/** Unix mode, e.g. 0o120777 for a symbolic link. */
	mode?: number;
	/** False values that the list states. */
	says?: { bytes?: number; packedBytes?: number; crc32?: number; offset?: number };
}

export function zipOf(
	files: readonly ZipFile[],
	says: { listBytes?: number; listOffset?: number } = {},
): Buffer {
	const chunks: Buffer[] = [];
	const list: Buffer[] = [];
	let offset = 0;
	for (const file of files) {
		const content = Buffer.from(file.content);
		const method = file.method ?? 8;
		const packed = method === 8 ? deflateRawSync(content) : content;
		const name = Buffer.from(file.name);
		const header = Buffer.alloc(30);
		header.writeUInt32LE(0x04034b50, 0);
		header.writeUInt16LE(20, 4);
		header.writeUInt16LE(file.flags ?? 0, 6);
		header.writeUInt16LE(method, 8);
		header.writeUInt16LE(name.length, 26);
		const entry = Buffer.alloc(46);
		entry.writeUInt32LE(0x02014b50, 0);
		entry.writeUInt16LE((3 << 8) | 20, 4);
		entry.writeUInt16LE(file.flags ?? 0, 8);
		entry.writeUInt16LE(method, 10);
		entry.writeUInt32LE(file.says?.crc32 ?? crc32(content), 16);
		entry.writeUInt32LE(file.says?.packedBytes ?? packed.length, 20);
		entry.writeUInt32LE(file.says?.bytes ?? content.length, 24);
		entry.writeUInt16LE(name.length, 28);
		entry.writeUInt32LE(((file.mode ?? 0o100644) << 16) >>> 0, 38);
		entry.writeUInt32LE(file.says?.offset ?? offset, 42);
		chunks.push(header, name, packed);
		list.push(entry, name);
		offset += header.length + name.length + packed.length;
	}
	const listed = Buffer.concat(list);
	const end = Buffer.alloc(22);
	end.writeUInt32LE(0x06054b50, 0);
	end.writeUInt16LE(files.length, 8);
	end.writeUInt16LE(files.length, 10);
	end.writeUInt32LE(says.listBytes ?? listed.length, 12);
	end.writeUInt32LE(says.listOffset ?? offset, 16);
	return Buffer.concat([...chunks, listed, end]);
}

import { gzipSync } from "node:zlib";

export interface TarEntry {
	path: string;
	text: string;
	/** "0" file (default), "2" link, "5" folder. */
	kind?: string;
	prefix?: string;
}

export function tarball(entries: readonly TarEntry[]): Buffer {
	const blocks = entries.flatMap((entry) => [header(entry), padded(Buffer.from(entry.text))]);
	return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export function gzippedTarball(entries: readonly TarEntry[]): Buffer {
	return gzipSync(tarball(entries));
}

function header(entry: TarEntry): Buffer {
	const block = Buffer.alloc(512);
	block.write(entry.path, 0, 100);
	block.write("0000644\0", 100);
	block.write(`${Buffer.byteLength(entry.text).toString(8).padStart(11, "0")}\0`, 124);
	block.write("        ", 148);
	block.write(entry.kind ?? "0", 156);
	block.write("ustar\x0000", 257);
	block.write(entry.prefix ?? "", 345, 155);
	const sum = block.reduce((total, byte) => total + byte, 0);
	block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
	return block;
}

function padded(content: Buffer): Buffer {
	return Buffer.concat([content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

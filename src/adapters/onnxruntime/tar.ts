// Unpacks chosen files of a tar archive as it streams by. Registry tarballs are plain ustar with paths below `package/`.
import { createWriteStream, type WriteStream } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { Writable } from "node:stream";
import { blockBytes, parseHeader, type TarHeader } from "../../formats/tar/tar.ts";
import { makeFolders } from "../process/write-error.ts";

export interface TarTarget {
	/** Files are written below it; the first part of their path (`package/`) is taken off. */
	folder: string;
	/** Whether a file is wanted, by its path without the first part. */
	wants(path: string): boolean;
}

/** Links, devices and folders are skipped; a path that leaves the folder is an error. */
export function untar(target: TarTarget): Writable {
	const state: Unpacking = { pending: Buffer.alloc(0), leftBytes: 0, paddingBytes: 0, file: null };
	return new Writable({
		write(chunk: Buffer, _encoding, callback) {
			consume(state, chunk, target).then(() => callback(), callback);
		},
		final(callback) {
			const whole = state.leftBytes === 0 && state.pending.length === 0;
			closeFile(state).then(() => callback(whole ? null : new Error("the archive is truncated")), callback);
		},
		destroy(error, callback) {
			state.file?.destroy();
			callback(error);
		},
	});
}

interface Unpacking {
	/** Bytes of an incomplete header. */
	pending: Buffer;
	leftBytes: number;
	/** Zeros after the content, up to the next block. */
	paddingBytes: number;
	/** null: the current content is skipped. */
	file: WriteStream | null;
}

async function consume(state: Unpacking, chunk: Buffer, target: TarTarget): Promise<void> {
	let rest = chunk;
	while (rest.length > 0) {
		if (state.leftBytes > 0) rest = await takeContent(state, rest);
		else if (state.paddingBytes > 0) rest = skipPadding(state, rest);
		else rest = await takeHeader(state, rest, target);
	}
}

async function takeContent(state: Unpacking, bytes: Buffer): Promise<Buffer> {
	const part = bytes.subarray(0, state.leftBytes);
	state.leftBytes -= part.length;
	if (state.file !== null) await writePart(state.file, part);
	if (state.leftBytes === 0) await closeFile(state);
	return bytes.subarray(part.length);
}

function skipPadding(state: Unpacking, bytes: Buffer): Buffer {
	const skipped = Math.min(bytes.length, state.paddingBytes);
	state.paddingBytes -= skipped;
	return bytes.subarray(skipped);
}

async function takeHeader(state: Unpacking, bytes: Buffer, target: TarTarget): Promise<Buffer> {
	const needed = blockBytes - state.pending.length;
	state.pending = Buffer.concat([state.pending, bytes.subarray(0, needed)]);
	if (state.pending.length < blockBytes) return bytes.subarray(needed);
	const header = parseHeader(state.pending);
	state.pending = Buffer.alloc(0);
	if (header !== null) {
		state.leftBytes = header.bytes;
		state.paddingBytes = (blockBytes - (header.bytes % blockBytes)) % blockBytes;
		state.file = await openFile(header, target);
		if (header.bytes === 0) await closeFile(state);
	}
	return bytes.subarray(needed);
}

async function openFile(header: TarHeader, target: TarTarget): Promise<WriteStream | null> {
	const path = normalize(header.path.split("/").slice(1).join("/"));
	if (!header.isFile || !target.wants(path.split(sep).join("/"))) return null;
	if (path.startsWith("..") || path.startsWith(sep)) throw new Error(`the archive holds the path ${header.path}`);
	const to = join(target.folder, path);
	await makeFolders(dirname(to));
	const file = createWriteStream(to, { flags: "wx" });
	await new Promise<void>((resolve, reject) => {
		file.once("open", () => resolve());
		file.once("error", reject);
	});
	return file;
}

function writePart(file: WriteStream, part: Buffer): Promise<void> {
	return new Promise((resolve, reject) => {
		file.write(part, (error) => (error ? reject(error) : resolve()));
	});
}

async function closeFile(state: Unpacking): Promise<void> {
	const { file } = state;
	state.file = null;
	if (file === null) return;
	await new Promise<void>((resolve, reject) => {
		file.once("error", reject);
		file.end(() => resolve());
	});
}

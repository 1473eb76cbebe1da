// Reads tar archives as they stream by, as POSIX.1-1988 (ustar) lays them out.
const blockBytes = 512;

type Chunks = AsyncIterable<Buffer> | Iterable<Buffer>;

/** The regular files, in order; links, folders and devices are left out. Paths are as they stand. @throws where it is damaged or cut short. */
export async function* tarFiles(chunks: Chunks): AsyncGenerator<{ path: string; content: AsyncGenerator<Buffer> }> {
	const take = takerOf(chunks);
	for (let block = await joined(take(blockBytes)); block.length > 0; block = await joined(take(blockBytes))) {
		if (block.length < blockBytes) throw new Error("the archive is truncated");
		const header = parseHeader(block);
		if (header === null) continue;
		const content = exactly(header.bytes, take);
		if (header.isFile) yield { path: header.path, content };
		// Of what was not read.
		for await (const _ of content);
		await joined(take((blockBytes - (header.bytes % blockBytes)) % blockBytes));
	}
}

type Take = (bytes: number) => AsyncGenerator<Buffer>;

/** Gives the next bytes, fewer at the end. */
function takerOf(chunks: Chunks): Take {
	const source = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
	let rest: Buffer = Buffer.alloc(0);
	return async function* take(bytes) {
		for (let left = bytes; left > 0; ) {
			if (rest.length === 0) {
				const next = await source.next();
				if (next.done) return;
				rest = next.value;
			}
			const part = rest.subarray(0, left);
			rest = rest.subarray(part.length);
			left -= part.length;
			yield part;
		}
	};
}

async function* exactly(bytes: number, take: Take): AsyncGenerator<Buffer> {
	let left = bytes;
	for await (const part of take(bytes)) {
		left -= part.length;
		yield part;
	}
	if (left > 0) throw new Error("the archive is truncated");
}

async function joined(parts: AsyncIterable<Buffer>): Promise<Buffer> {
	const all: Buffer[] = [];
	for await (const part of parts) all.push(part);
	return Buffer.concat(all);
}

/** null: one of the blocks of zeros at the end. */
function parseHeader(block: Buffer): { path: string; bytes: number; isFile: boolean } | null {
	if (block.every((byte) => byte === 0)) return null;
	const text = (from: number, length: number): string => block.toString("utf8", from, from + length).split("\0", 1)[0] ?? "";
	// Of all bytes, those of the checksum's own field read as spaces.
	const sum = block.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0);
	const size = text(124, 12).trim();
	if (!/^[0-7]{1,12}$/.test(size) || sum !== Number.parseInt(text(148, 8).trim(), 8)) throw new Error("the archive is damaged");
	const prefix = text(257, 5) === "ustar" ? text(345, 155) : "";
	const path = prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`;
	return { path, bytes: Number.parseInt(size, 8), isFile: ["", "0"].includes(text(156, 1)) };
}

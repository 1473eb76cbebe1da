import { crc32, deflateSync } from "node:zlib";

export interface PngKind {
	width: number;
	height: number;
	depth: number;
	/** Colour type: 0 grey, 2 colour, 3 palette, 4 and 6 with alpha. */
	colour: number;
	interlaced: boolean;
}

export function pngChunk(type: string, data: Uint8Array): Buffer {
	const chunk = Buffer.alloc(12 + data.length);
	chunk.writeUInt32BE(data.length, 0);
	chunk.write(type, 4, "latin1");
	chunk.set(data, 8);
	chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
	return chunk;
}

export function pngHeader({ width, height, depth, colour, interlaced }: PngKind): Buffer {
	const data = Buffer.alloc(13);
	data.writeUInt32BE(width, 0);
	data.writeUInt32BE(height, 4);
	data.set([depth, colour, 0, 0, interlaced ? 1 : 0], 8);
	return pngChunk("IHDR", data);
}

const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
export const pngSignature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

export function writePng(kind: PngKind, byte: () => number): Buffer {
	const bytes = Math.ceil((kind.width * kind.depth * samples[kind.colour]!) / 8);
	const rows = Array.from({ length: kind.height }, (_, y) =>
		Uint8Array.from({ length: bytes + 1 }, (_, at) => (at === 0 ? y % 5 : byte())),
	);
	const palette = Uint8Array.from({ length: 3 * 2 ** Math.min(8, kind.depth) }, byte);
	return Buffer.concat([
		pngSignature,
		pngHeader(kind),
		...(kind.colour === 3 ? [pngChunk("PLTE", palette)] : []),
		pngChunk("IDAT", deflateSync(Buffer.concat(rows))),
		pngChunk("IEND", new Uint8Array()),
	]);
}

// PNG (W3C, third edition) to red, green and blue, a byte each. Nothing is allocated beyond what the first header says, and no
// more is inflated: fast-png bounds neither, and pngjs 7 fills missing pixels from memory that was never written.
import type { Pixels } from "./preprocess.ts";

/** Inflates zlib data to at most `bytes` bytes; throws if it is broken or becomes more. */
export type InflateZlib = (packed: Uint8Array, bytes: number) => Uint8Array;

interface Header {
	width: number;
	height: number;
	depth: number;
	samples: number;
	isPalette: boolean;
	rowBytes: number;
}

/** Table 8 of the standard, by colour type. */
const colourTypes: Readonly<Record<number, { samples: number; depths: readonly number[] }>> = {
	0: { samples: 1, depths: [1, 2, 4, 8, 16] },
	2: { samples: 3, depths: [8, 16] },
	3: { samples: 1, depths: [1, 2, 4, 8] },
	4: { samples: 2, depths: [8, 16] },
	6: { samples: 4, depths: [8, 16] },
};

/** Deflate expands a byte to at most 1,032. */
const maxInflation = 1032;

export const interlaced = "an interlaced image";

/** The caller has checked the size in the header. @throws Error that says what is wrong. */
export function decodePng(bytes: Uint8Array, inflate: InflateZlib): Pixels {
	const { header, palette, packed } = readChunks(bytes);
	const size = header.height * (1 + header.rowBytes);
	if (size > packed.length * maxInflation)
		throw new Error(`${packed.length} bytes of pixels, too few for the size in the header`);
	const raw = inflate(packed, size);
	if (raw.length !== size) throw new Error(`${raw.length} bytes of pixels where ${size} belong`);
	const rgb = new Uint8Array(header.width * header.height * 3);
	unfilter(raw, header);
	paint(raw, header, palette, rgb);
	return { width: header.width, height: header.height, rgb };
}

const signatureBytes = 8;

function readChunks(bytes: Uint8Array) {
	const parts: Uint8Array[] = [];
	let header: Header | null = null;
	let palette = new Uint8Array();
	for (const { type, data } of chunksOf(bytes)) {
		if (type === "IHDR" && header !== null) throw new Error("a second IHDR chunk");
		if (header === null) header = readHeader(type, data);
		else if (type === "PLTE") palette = data.slice(0, 768);
		else if (type === "IDAT") parts.push(data);
		else if (type === "IEND") return { header, palette, packed: Buffer.concat(parts) };
		// A lower-case first letter marks chunks that a reader may skip.
		else if (!/^[a-z]/.test(type)) throw new Error(`the unknown chunk ${JSON.stringify(type)}`);
	}
	throw new Error("an end before the IEND chunk");
}

function* chunksOf(bytes: Uint8Array) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	for (let at = signatureBytes; at + 12 <= bytes.length; ) {
		const dataAt = at + 8;
		const dataEnd = dataAt + view.getUint32(at);
		if (dataEnd + 4 > bytes.length) return;
		yield {
			type: String.fromCharCode(...bytes.subarray(at + 4, dataAt)),
			data: bytes.subarray(dataAt, dataEnd),
		};
		at = dataEnd + 4;
	}
}

function readHeader(type: string, data: Uint8Array) {
	if (type !== "IHDR" || data.length !== 13) throw new Error("no IHDR chunk of 13 bytes at the start");
	const view = new DataView(data.buffer, data.byteOffset, data.length);
	const [depth = 0, colour = 0, compression, filter, interlace = 0] = data.subarray(8);
	const known = colourTypes[colour];
	if (known === undefined || !known.depths.includes(depth))
		throw new Error(`colour type ${colour} with ${depth} bits`);
	if (interlace === 1) throw new Error(interlaced);
	if (compression !== 0 || filter !== 0 || interlace > 1)
		throw new Error("an unknown way to compress, filter or interlace");
	const [width, height] = [view.getUint32(0), view.getUint32(4)];
	const { samples } = known;
	const rowBytes = Math.ceil((width * samples * depth) / 8);
	return { width, height, depth, samples, isPalette: colour === 3, rowBytes };
}

function unfilter(rows: Uint8Array, { height, rowBytes, samples, depth }: Header) {
	const pixelBytes = Math.max(1, (samples * depth) >> 3);
	let above: Uint8Array = new Uint8Array(rowBytes);
	for (let y = 0; y < height; y += 1) {
		const start = y * (rowBytes + 1) + 1;
		const row = rows.subarray(start, start + rowBytes);
		unfilterRow(row, above, rows[start - 1] as number, pixelBytes);
		above = row;
	}
}

function unfilterRow(row: Uint8Array, above: Uint8Array, filter: number, pixelBytes: number) {
	if (filter > 4) throw new Error(`the unknown row filter ${filter}`);
	if (filter === 0) return;
	for (let i = 0; i < row.length; i += 1) {
		const left = i < pixelBytes ? 0 : (row[i - pixelBytes] as number);
		const corner = i < pixelBytes ? 0 : (above[i - pixelBytes] as number);
		row[i] = (row[i] as number) + predict(filter, left, above[i] as number, corner);
	}
}

function predict(filter: number, left: number, above: number, corner: number) {
	if (filter === 1) return left;
	if (filter === 2) return above;
	if (filter === 3) return (left + above) >> 1;
	const toLeft = Math.abs(above - corner);
	const toAbove = Math.abs(left - corner);
	const toCorner = Math.abs(left + above - 2 * corner);
	if (toLeft <= toAbove && toLeft <= toCorner) return left;
	return toAbove <= toCorner ? above : corner;
}

/** Alpha is dropped: a tensor has three channels or one. */
function paint(rows: Uint8Array, header: Header, palette: Uint8Array, rgb: Uint8Array) {
	const { width, height, samples, isPalette, rowBytes } = header;
	const step = samples >= 3 ? 1 : 0;
	let to = 0;
	for (let y = 0; y < height; y += 1) {
		const start = y * (rowBytes + 1) + 1;
		for (let index = 0; index < width * samples; index += samples) {
			const first = sampleAt(rows, start, index, header);
			if (isPalette) rgb.set(colourOf(palette, first), to);
			else {
				rgb[to] = first;
				rgb[to + 1] = sampleAt(rows, start, index + step, header);
				rgb[to + 2] = sampleAt(rows, start, index + 2 * step, header);
			}
			to += 3;
		}
	}
}

function colourOf(palette: Uint8Array, index: number) {
	if (index * 3 + 3 > palette.length) throw new Error(`a pixel of colour ${index}, which the palette lacks`);
	return palette.subarray(index * 3, index * 3 + 3);
}

function sampleAt(rows: Uint8Array, start: number, index: number, { depth, isPalette }: Header) {
	if (depth === 8) return rows[start + index] as number;
	if (depth === 16) {
		const value = (rows[start + index * 2] as number) * 256 + (rows[start + index * 2 + 1] as number);
		return Math.floor((value * 255) / 65_535 + 0.5);
	}
	const bit = index * depth;
	const most = 2 ** depth - 1;
	const value = ((rows[start + (bit >> 3)] as number) >> (8 - depth - (bit & 7))) & most;
	return isPalette ? value : value * (255 / most);
}

// Writes a picture of few colours as a small PNG: a palette of at most 256, a byte a pixel.
import { crc32, deflateSync } from "node:zlib";

export interface Pixels {
	width: number;
	height: number;
	/** Red, green, blue and opacity, a byte each; opacity is taken for full. */
	data: Buffer;
}

const mostColours = 256;

function countColours({ data }: Pixels, bits: number): Map<number, number> {
	const counts = new Map<number, number>();
	for (let at = 0; at < data.length; at += 4) {
		const colour = colourAt(data, at, bits);
		counts.set(colour, (counts.get(colour) ?? 0) + 1);
	}
	return counts;
}

/** Its upper bits, spread over the whole range again: white stays white. */
function colourAt(data: Buffer, at: number, bits: number): number {
	let colour = 0;
	for (let channel = 0; channel < 3; channel += 1) {
		const most = (1 << bits) - 1;
		const level = Math.round(((data[at + channel] ?? 0) / 255) * most);
		colour = (colour << 8) | Math.round((level / most) * 255);
	}
	return colour;
}

function chunk(type: string, content: Buffer): Buffer {
	const named = Buffer.concat([Buffer.from(type, "latin1"), content]);
	const framed = Buffer.alloc(named.length + 8);
	framed.writeUInt32BE(content.length, 0);
	named.copy(framed, 4);
	framed.writeUInt32BE(crc32(named), named.length + 4);
	return framed;
}

/** As many bits a colour as the palette has room for. */
export function encodePalette(pixels: Pixels): Buffer {
	const { width, height, data } = pixels;
	const bits = [8, 7, 6, 5, 4, 3, 2].find((bits) => countColours(pixels, bits).size <= mostColours) ?? 2;
	const colours = [...countColours(pixels, bits)].sort((left, right) => right[1] - left[1]).map(([colour]) => colour);
	const places = new Map(colours.map((colour, place) => [colour, place]));
	const lines = Buffer.alloc((width + 1) * height);
	for (let row = 0; row < height; row += 1)
		for (let column = 0; column < width; column += 1)
			lines[row * (width + 1) + 1 + column] = places.get(colourAt(data, (row * width + column) * 4, bits)) ?? 0;
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	// Eight bits a pixel, by palette; the usual compression, filter and order.
	header.set([8, 3, 0, 0, 0], 8);
	const palette = Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
	return Buffer.concat([
		Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
		chunk("IHDR", header),
		chunk("PLTE", palette),
		chunk("IDAT", deflateSync(lines, { level: 9 })),
		chunk("IEND", Buffer.alloc(0)),
	]);
}

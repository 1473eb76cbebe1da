// Reads the kind and size of an image before anything is decoded, and limits its size.

import { isFrame } from "./jpeg.ts";

export interface ImageHeader {
	kind: "png" | "jpeg";
	width: number;
	height: number;
}

const pngMagic = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

export function readImageHeader(bytes: Uint8Array): ImageHeader | null {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	if (pngMagic.every((byte, at) => bytes[at] === byte)) {
		// The header chunk (PNG 1.2, 4.1.1) is the first.
		return view.byteLength < 24
			? null
			: { kind: "png", width: view.getUint32(16), height: view.getUint32(20) };
	}
	return bytes[0] === 0xff && bytes[1] === 0xd8 ? jpegHeader(view) : null;
}

/** Walks the segments to the first start of frame (ITU-T T.81, B.1.1.3): C0 to CF but for C4, C8 and CC. */
function jpegHeader(view: DataView): ImageHeader | null {
	let at = 2;
	while (at + 9 <= view.byteLength) {
		const marker = view.getUint8(at + 1);
		if (view.getUint8(at) !== 0xff) return null;
		if (isFrame(marker)) {
			return { kind: "jpeg", height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
		}
		// Fill bytes, or a segment with its length.
		at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
	}
	return null;
}

export const maxImageBytes = 64 * 1024 * 1024;
/** 4096 × 4096, which take about a second and at most half a gibibyte to decode. */
export const maxPixels = 16 * 1024 * 1024;
/** Limit of jpeg-js, which counts half of what it takes: 8 million pixels in full colour, 13 million in 4:2:0. */
export const maxJpegMebibytes = 192;

// Limits the work that a JPEG file (ITU-T T.81) causes: jpeg-js bounds neither scans nor frames, and allocates all blocks before
// it reads one. Segments are checked strictly, so that the decoder cannot find one that this walk misses.

/** Encoders write one scan or about ten; each goes through all blocks, and takes a few bytes. */
const maxScans = 32;
/** A block's first coefficient takes at least one bit. */
const blocksPerByte = 8;

const marks = {
	tables: 0xc4,
	end: 0xd9,
	scan: 0xda,
	quantization: 0xdb,
	lines: 0xdc,
	restart: 0xdd,
};

export function jpegFault(bytes: Uint8Array): string | null {
	let frames = 0;
	let scans = 0;
	for (const segment of segments(bytes)) {
		if (typeof segment === "string") return segment;
		const { marker, data } = segment;
		if (marker === marks.end) return null;
		if (marker === marks.scan) scans += 1;
		if (scans > maxScans) return `more than ${maxScans} scans`;
		if (!isFrame(marker)) continue;
		frames += 1;
		const fault = frames > 1 ? "a second frame" : frameFault(data, { marker, bytes: bytes.length });
		if (fault !== null) return fault;
	}
	return "an end before the end marker";
}

/** Ends with the first broken segment, whose fault is a string. Fill bytes and scan data are skipped. */
function* segments(bytes: Uint8Array): Generator<{ marker: number; data: Uint8Array } | string, void> {
	for (let at = 2; at + 2 <= bytes.length; ) {
		const [mark, marker = 0, high = 0, low = 0] = bytes.subarray(at, at + 4);
		const next = at + 2 + high * 256 + low;
		const data = bytes.subarray(at + 4, next);
		if (mark !== 0xff) return yield "bytes between two segments";
		if (
			marker !== 0xff &&
			marker !== marks.end &&
			(at + 4 + data.length !== next || sizeOf(marker, data) !== data.length)
		)
			return yield `a broken segment ${marker.toString(16)}`;
		if (marker === 0xff) at += 1;
		else {
			yield { marker, data };
			at = marker === marks.scan ? endOfScan(bytes, next) : next;
		}
	}
}

export function isFrame(marker: number) {
	return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

/** Bytes of a segment's content; NaN for a segment that the decoder does not read. */
function sizeOf(marker: number, data: Uint8Array) {
	if (isFrame(marker)) return 6 + 3 * (data[5] ?? 0);
	if (marker === marks.scan) return 4 + 2 * (data[0] ?? 0);
	if (marker === marks.lines || marker === marks.restart) return 2;
	if (marker === marks.quantization)
		return tablesSize(data, (at) => ((data[at] as number) >> 4 === 0 ? 65 : 129));
	if (marker === marks.tables)
		return tablesSize(data, (at) => data.subarray(at + 1, at + 17).reduce((sum, count) => sum + count, 17));
	return (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe ? data.length : NaN;
}

function tablesSize(data: Uint8Array, bytesAt: (at: number) => number) {
	let at = 0;
	while (at < data.length) at += bytesAt(at);
	return at;
}

/** In scan data, FF is followed by 0, and restart markers have no length. */
function endOfScan(bytes: Uint8Array, from: number) {
	for (let at = from; at + 1 < bytes.length; at += 1) {
		const next = bytes[at + 1] as number;
		if (bytes[at] === 0xff && next !== 0 && (next < 0xd0 || next > 0xd7)) return at;
	}
	return bytes.length;
}

function frameFault(data: Uint8Array, { marker, bytes }: { marker: number; bytes: number }) {
	if (marker > 0xc2) return "a coding other than baseline, extended or progressive Huffman";
	const [precision, height1 = 0, height0 = 0, width1 = 0, width0 = 0, components = 0] = data;
	if (precision !== 8) return `samples of ${precision} bits`;
	if (components !== 1 && components !== 3 && components !== 4) return `${components} colour components`;
	const factors = Array.from({ length: components }, (_, i) => data[7 + 3 * i] as number);
	const wide = factors.map((both) => both >> 4);
	const high = factors.map((both) => both & 15);
	if ([...wide, ...high].some((factor) => factor < 1 || factor > 4)) return "a sampling factor beyond 1 to 4";
	const across = Math.ceil((width1 * 256 + width0) / 8 / Math.max(...wide));
	const down = Math.ceil((height1 * 256 + height0) / 8 / Math.max(...high));
	const blocks = wide.reduce((sum, factor, i) => sum + factor * across * (high[i] as number) * down, 0);
	return blocks > bytes * blocksPerByte ? `${bytes} bytes, too few for the size in the header` : null;
}

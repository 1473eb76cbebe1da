// Base64 with padding, strictly: other characters are no data.

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const invalid = 255;

const values = new Uint8Array(128).fill(invalid);
for (let i = 0; i < letters.length; i += 1) values[letters.charCodeAt(i)] = i;

/** null where the text is no base64. */
export function decodeBase64(text: string): Uint8Array | null {
	if (text.length % 4 !== 0) return null;
	const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
	const digits = text.length - padding;
	const out = new Uint8Array((text.length / 4) * 3 - padding);
	let to = 0;
	for (let at = 0; at < digits; at += 4) {
		const bits =
			(digit(text, at, digits) << 18) |
			(digit(text, at + 1, digits) << 12) |
			(digit(text, at + 2, digits) << 6) |
			digit(text, at + 3, digits);
		if (bits < 0) return null;
		out[to] = bits >> 16;
		if (to + 1 < out.length) out[to + 1] = bits >> 8;
		if (to + 2 < out.length) out[to + 2] = bits;
		to += 3;
	}
	return out;
}

/** Negative, and so the whole group, where the character is none of the alphabet's. */
function digit(text: string, at: number, end: number): number {
	if (at >= end) return 0;
	const value = values[text.charCodeAt(at)] ?? invalid;
	return value === invalid ? -1 : value;
}

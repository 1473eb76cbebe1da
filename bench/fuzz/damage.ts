// Damages files: changes bytes and digits, removes, duplicates or repeats pieces.

/** A whole number below the one given. */
export type Random = (below: number) => number;

/** Marsaglia's xorshift32: the same inputs in every run. */
export function randomSource(seed: number): Random {
	let state = seed;
	return (below) => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return (state >>> 0) % below;
	};
}

const telling = [0, 1, 0x7f, 0x80, 0xfe, 0xff, ...Buffer.from('0919-.,:;"{}[]#&*!|>\n\r\t ')];
const pieces = [
	"99999999999999999999",
	"1e999",
	"-0",
	"NaN",
	"\u2028",
	"[[[[[[[[",
	'{"":',
	"&a [*a,*a]",
	"__proto__",
	"\\u0000",
	"::",
	"\r\n",
].map((text) => Buffer.from(text));
const maxBytes = 64 * 1024;
/** One in this many inputs has this size, to reveal quadratic time. */
const oneLargeIn = 2000;
const largeBytes = 512 * 1024;

export function damage(seed: Uint8Array, random: Random): Uint8Array {
	const bytes = Uint8Array.from(seed.subarray(0, random(4) === 0 ? random(seed.length + 1) : seed.length));
	for (let left = random(6); left > 0 && bytes.length > 0; left -= 1) {
		// Binary formats have headers at either end.
		const at = random(2) === 0 ? random(bytes.length) : random(Math.min(128, bytes.length));
		const place = random(2) === 0 ? at : bytes.length - 1 - at;
		bytes[place] = random(2) === 0 ? random(256) : (telling[random(telling.length)] ?? 0);
	}
	return random(3) === 0 ? spliced(bytes, random) : bytes;
}

/** Inserts a piece of the file itself, or a difficult one, or replaces a piece with it. */
function spliced(bytes: Uint8Array, random: Random): Uint8Array {
	const [from, at] = [random(bytes.length + 1), random(bytes.length + 1)];
	const own = bytes.subarray(from, from + 1 + random(64));
	const piece = random(2) === 0 ? own : (pieces[random(pieces.length)] ?? own);
	const most = random(oneLargeIn) === 0 ? largeBytes : Math.max(0, maxBytes - bytes.length);
	const times = most > maxBytes ? most / Math.max(1, piece.length) : [1, 1, 2, 64][random(4)];
	const count = Math.min(times ?? 1, most / Math.max(1, piece.length));
	const skipped = random(2) === 0 ? 0 : random(32);
	return new Uint8Array(
		Buffer.concat([
			bytes.subarray(0, at),
			...Array<Uint8Array>(Math.floor(count)).fill(piece),
			bytes.subarray(at + skipped),
		]),
	);
}

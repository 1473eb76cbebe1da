// A bursty neighbour: works through 8 MB of memory for 20 to 400 ms, then rests as long, at random. node bench/noisy/neighbour.ts SEED
const memory = new Float64Array(2 ** 20);
let state = Number(process.argv[2] ?? 1);

/** Mulberry32. */
function random(): number {
	state = (state + 0x6d2b79f5) | 0;
	let bits = Math.imul(state ^ (state >>> 15), 1 | state);
	bits ^= bits + Math.imul(bits ^ (bits >>> 7), 61 | bits);
	return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
}

const lengthMs = (): number => 20 * 20 ** random();

function burst(): void {
	const endMs = performance.now() + lengthMs();
	for (let stride = 8; performance.now() < endMs; stride = stride === 8 ? 24 : 8) {
		for (let at = 0; at < memory.length; at += stride) memory[at] = (memory[at] ?? 0) + at;
	}
	setTimeout(burst, lengthMs());
}

burst();

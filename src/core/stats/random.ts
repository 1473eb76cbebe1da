// Random numbers from a seed: the same everywhere.

/** Uniform in [0, 1): splitmix32 with the constants of MurmurHash3's 32-bit finaliser. */
export function uniformSource(seed: number): () => number {
	let state = seed | 0;
	return () => {
		state = (state + 0x9e3779b9) | 0;
		let bits = state;
		bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
		bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
		return ((bits ^ (bits >>> 16)) >>> 0) / 4_294_967_296;
	};
}

export function normalSource(uniform: () => number): () => number {
	return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

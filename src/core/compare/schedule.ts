// Orders the sides in blocks of two pairs, ABBA or BAAB, so that linear drift cancels.
import type { Arm } from "../../../generated/result.ts";

function hash(text: string): number {
	let state = 0x811c9dc5;
	for (let index = 0; index < text.length; index += 1) {
		state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
	}
	return state >>> 0;
}

function mix(value: number): number {
	let bits = value | 0;
	bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
	bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
	return (bits ^ (bits >>> 16)) >>> 0;
}

/**
 * The first side of each pair, deterministic in `seed`. The coin of block k is the top bit of mix(hash(seed) + k ·
 * golden ratio), a splitmix generator.
 */
export function firstArms(seed: string, pairs: number): Arm[] {
	const start = hash(seed);
	return Array.from({ length: pairs }, (_, pair): Arm => {
		const coin = mix(start + Math.imul(Math.floor(pair / 2) + 1, 0x9e3779b9)) >>> 31;
		return (coin + pair) % 2 === 0 ? "base" : "head";
	});
}

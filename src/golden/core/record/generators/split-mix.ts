// SplitMix64 in 32-bit halves: the one source of randomness of recorded goldens, the same bits everywhere.

export interface RandomSource {
	next(): { high: number; low: number };
	uniform(): number;
	below(count: number): number;
	normal(): number;
}

interface Word {
	high: number;
	low: number;
}

/** Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014), as in java.util.SplittableRandom. */
const gamma: Word = { high: 0x9e3779b9, low: 0x7f4a7c15 };
const mixA: Word = { high: 0xbf58476d, low: 0x1ce4e5b9 };
const mixB: Word = { high: 0x94d049bb, low: 0x133111eb };

/** @param stream small numbers such as case and input. */
export function splitMix64(seed: number, stream: readonly number[] = []): RandomSource {
	let state = wordOf(seed);
	for (const part of stream) state = mix(add(mix(add(state, gamma)), wordOf(part)));
	const next = (): Word => {
		state = add(state, gamma);
		return mix(state);
	};
	const uniform = (): number => {
		const { high, low } = next();
		return ((high >>> 5) * 67_108_864 + (low >>> 6)) / 9_007_199_254_740_992;
	};
	return { next, uniform, below: (count) => Math.floor(uniform() * count), normal: () => normalOf(next) };
}

function normalOf(next: () => Word): number {
	let sum = 0;
	for (let draw = 0; draw < 3; draw += 1) {
		const { high, low } = next();
		sum += (high >>> 16) + (high & 0xffff) + (low >>> 16) + (low & 0xffff);
	}
	// Each of the twelve is half a step below the middle of its step.
	return (sum + 6) / 65_536 - 6;
}

function wordOf(value: number): Word {
	return { high: Math.floor(value / 4_294_967_296) >>> 0, low: value >>> 0 };
}

function add(left: Word, right: Word): Word {
	const low = left.low + right.low;
	return { high: (left.high + right.high + (low > 0xffffffff ? 1 : 0)) >>> 0, low: low >>> 0 };
}

function mix(word: Word): Word {
	const first = multiply(xorShift(word, 30), mixA);
	return xorShift(multiply(xorShift(first, 27), mixB), 31);
}

function xorShift(word: Word, by: number): Word {
	const low = (word.low >>> by) | (word.high << (32 - by));
	return { high: (word.high ^ (word.high >>> by)) >>> 0, low: (word.low ^ low) >>> 0 };
}

function multiply(left: Word, right: Word): Word {
	const cross = Math.imul(left.high, right.low) + Math.imul(left.low, right.high);
	return {
		high: (highOfProduct(left.low, right.low) + cross) >>> 0,
		low: Math.imul(left.low, right.low) >>> 0,
	};
}

function highOfProduct(left: number, right: number): number {
	const [leftLow, leftHigh] = [left & 0xffff, left >>> 16];
	const [rightLow, rightHigh] = [right & 0xffff, right >>> 16];
	const middle = leftHigh * rightLow + ((leftLow * rightLow) >>> 16);
	const carry = (middle & 0xffff) + leftLow * rightHigh;
	return leftHigh * rightHigh + Math.floor(middle / 65_536) + Math.floor(carry / 65_536);
}

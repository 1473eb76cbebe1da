// Writes numbers as a tensor of a dtype, and draws them: the same bits for the same seed, everywhere.
import type { DType } from "../../../../../generated/golden.ts";
import { isPacked, isSmall, type SmallDType, smallBits } from "../../tensor/small-numbers.ts";
import { elementBytes, elementCount, type Tensor, tensorBytes } from "../../tensor/tensor.ts";

type Write = (view: DataView, at: number, value: number) => void;

export const writers = {
	float32: (view, at, value) => view.setFloat32(at, value, true),
	float64: (view, at, value) => view.setFloat64(at, value, true),
	float16: (view, at, value) => view.setUint16(at, halfBits(value), true),
	bfloat16: (view, at, value) => view.setUint16(at, brainFloatBits(value), true),
	int8: (view, at, value) => view.setInt8(at, value),
	uint8: (view, at, value) => view.setUint8(at, value),
	int16: (view, at, value) => view.setInt16(at, value, true),
	uint16: (view, at, value) => view.setUint16(at, value, true),
	int32: (view, at, value) => view.setInt32(at, value, true),
	uint32: (view, at, value) => view.setUint32(at, value, true),
	int64: (view, at, value) => view.setBigInt64(at, BigInt(Math.round(value)), true),
	uint64: (view, at, value) => view.setBigUint64(at, BigInt(Math.round(value)), true),
	bool: (view, at, value) => view.setUint8(at, value === 0 ? 0 : 1),
} as const satisfies Partial<Record<DType, Write>>;

export function canEncode(dtype: DType): dtype is keyof typeof writers {
	return Object.hasOwn(writers, dtype);
}

export function encodeTensor(
	dtype: DType,
	shape: readonly number[],
	valueAt: (index: number) => number,
): Tensor {
	if (isSmall(dtype)) return encodeSmall(dtype, shape, valueAt);
	if (!canEncode(dtype)) throw new RangeError(`no values are made for ${dtype}`);
	const write = writers[dtype];
	const size = elementBytes[dtype];
	const elements = elementCount(shape);
	const data = new Uint8Array(elements * size);
	const view = new DataView(data.buffer);
	for (let index = 0; index < elements; index += 1) write(view, index * size, valueAt(index));
	return { dtype, shape, data };
}

function encodeSmall(dtype: SmallDType, shape: readonly number[], valueAt: (index: number) => number) {
	const data = new Uint8Array(tensorBytes({ dtype, shape }));
	const packed = isPacked(dtype);
	for (let i = 0; i < elementCount(shape); i += 1) {
		const bits = smallBits(dtype, valueAt(i));
		if (packed) data[i >>> 1] = (data[i >>> 1] ?? 0) | (bits << (i & 1 ? 4 : 0));
		else data[i] = bits;
	}
	return { dtype, shape, data };
}

/** IEEE 754 binary16, rounded to nearest, ties to even; too large values become infinite. */
export function halfBits(value: number): number {
	const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
	const size = Math.abs(value);
	if (Number.isNaN(value)) return 0x7e00;
	// Half a step above the largest finite value, 65504.
	if (size >= 65_520) return sign | 0x7c00;
	const exponent = size < 2 ** -14 ? -14 : Math.floor(Math.log2(size));
	// A step of the value's binade; a product by a power of two is exact.
	const steps = roundEven(size * 2 ** (10 - exponent));
	return sign | (steps + (exponent + 14) * 1024);
}

function roundEven(value: number) {
	const floor = Math.floor(value);
	const fraction = value - floor;
	return fraction > 0.5 || (fraction === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

const scratch = new DataView(new ArrayBuffer(4));

export function brainFloatBits(value: number): number {
	if (Number.isNaN(value)) return 0x7fc0;
	scratch.setFloat32(0, value);
	const bits = scratch.getUint32(0);
	return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

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

export function splitMix64(seed: number, stream: readonly number[] = []): RandomSource {
	let state = wordOf(seed);
	for (const part of stream) state = mix(add(mix(add(state, gamma)), wordOf(part)));
	const next = () => {
		state = add(state, gamma);
		return mix(state);
	};
	const uniform = () => {
		const { high, low } = next();
		return ((high >>> 5) * 67_108_864 + (low >>> 6)) / 9_007_199_254_740_992;
	};
	return { next, uniform, below: (count) => Math.floor(uniform() * count), normal: () => normalOf(next) };
}

function normalOf(next: () => Word) {
	let sum = 0;
	for (let draw = 0; draw < 3; draw += 1) {
		const { high, low } = next();
		sum += (high >>> 16) + (high & 0xffff) + (low >>> 16) + (low & 0xffff);
	}
	// Each of the twelve is half a step below the middle of its step.
	return (sum + 6) / 65_536 - 6;
}

function wordOf(value: number) {
	return { high: Math.floor(value / 4_294_967_296) >>> 0, low: value >>> 0 };
}

function add(left: Word, right: Word) {
	const low = left.low + right.low;
	return { high: (left.high + right.high + (low > 0xffffffff ? 1 : 0)) >>> 0, low: low >>> 0 };
}

function mix(word: Word) {
	const first = multiply(xorShift(word, 30), mixA);
	return xorShift(multiply(xorShift(first, 27), mixB), 31);
}

function xorShift(word: Word, by: number) {
	const low = (word.low >>> by) | (word.high << (32 - by));
	return { high: (word.high ^ (word.high >>> by)) >>> 0, low: (word.low ^ low) >>> 0 };
}

function multiply(left: Word, right: Word) {
	const cross = Math.imul(left.high, right.low) + Math.imul(left.low, right.high);
	return {
		high: (highOfProduct(left.low, right.low) + cross) >>> 0,
		low: Math.imul(left.low, right.low) >>> 0,
	};
}

function highOfProduct(left: number, right: number) {
	const [leftLow, leftHigh] = [left & 0xffff, left >>> 16];
	const [rightLow, rightHigh] = [right & 0xffff, right >>> 16];
	const middle = leftHigh * rightLow + ((leftLow * rightLow) >>> 16);
	const carry = (middle & 0xffff) + leftLow * rightHigh;
	return leftHigh * rightHigh + Math.floor(middle / 65_536) + Math.floor(carry / 65_536);
}

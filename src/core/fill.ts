// Makes the inputs of timed runs from a seed: the same bytes on every machine and for both arms.
import type { InputConfig } from "./config/config.ts";
import { isPacked, isSmall, type SmallDType, smallBits } from "./golden/tensor/small-numbers.ts";
import { elementBytes, elementCount, tensorBytes } from "./golden/tensor/tensor.ts";
import type { DType } from "./schema/golden.ts";

/** An input as it is filled; its name plays no part. */
export interface FilledInput {
	dtype: DType;
	shape: readonly number[];
	fill: InputConfig["fill"];
}

/**
 * Uniform numbers in [0, 1) by splitmix32: a Weyl sequence of the golden ratio, each step mixed by MurmurHash3's finaliser
 * with the constants of its 32-bit variant.
 */
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

/** Standard normal numbers: Box-Muller, the cosine half only. */
function normalSource(uniform: () => number): () => number {
	return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/**
 * Little-endian values of one input; `index` is its place among the inputs, so that two inputs differ.
 * Integers and bools are 0 or 1 whatever the fill, except for `ones` and `zeros`: valid as token, index and mask.
 */
export function fillInput(input: FilledInput, seed: number, index: number): Uint8Array {
	const bytes = new Uint8Array(tensorBytes(input));
	const uniform = uniformSource(seed + Math.imul(index, 0x85ebca6b));
	const draw = drawer(input, uniform);
	if (isSmall(input.dtype)) writeSmall(bytes, { dtype: input.dtype, elements: elementCount(input.shape) }, draw);
	else writeValues(new DataView(bytes.buffer), input.dtype, draw);
	return bytes;
}

function drawer(input: FilledInput, uniform: () => number): () => number {
	if (input.fill === "zeros") return () => 0;
	if (input.fill === "ones") return () => 1;
	if (!input.dtype.includes("float")) return () => (uniform() < 0.5 ? 0 : 1);
	return input.fill === "uniform" ? uniform : normalSource(uniform);
}

function writeSmall(bytes: Uint8Array, { dtype, elements }: { dtype: SmallDType; elements: number }, draw: () => number): void {
	const packed = isPacked(dtype);
	for (let i = 0; i < elements; i += 1) {
		const bits = smallBits(dtype, draw());
		if (packed) bytes[i >>> 1] = (bytes[i >>> 1] ?? 0) | (bits << (i & 1 ? 4 : 0));
		else bytes[i] = bits;
	}
}

function writeValues(view: DataView, dtype: DType, draw: () => number): void {
	const size = elementBytes[dtype];
	const write = writer(view, dtype);
	for (let at = 0; at < view.byteLength; at += size) write(at, draw());
}

function writer(view: DataView, dtype: DType): (at: number, value: number) => void {
	switch (dtype) {
		case "float32":
			return (at, value) => view.setFloat32(at, value, true);
		case "float64":
			return (at, value) => view.setFloat64(at, value, true);
		case "float16":
			return (at, value) => view.setUint16(at, halfBits(value), true);
		case "bfloat16":
			return (at, value) => view.setUint16(at, floatBits(value) >>> 16, true);
		default:
			// 0 and 1 are the first byte of every little-endian integer.
			return (at, value) => view.setUint8(at, value);
	}
}

const scratch = new DataView(new ArrayBuffer(4));

function floatBits(value: number): number {
	scratch.setFloat32(0, value);
	return scratch.getUint32(0);
}

/** IEEE 754 binary16, rounded toward zero; what is below its normal range becomes zero. Inputs of timed runs need no more. */
function halfBits(value: number): number {
	const bits = floatBits(value);
	const sign = (bits >>> 16) & 0x8000;
	const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
	if (exponent <= 0) return sign;
	if (exponent >= 31) return sign | 0x7bff;
	return sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}

// Writes numbers as a tensor of a dtype, rounded to nearest if it holds fewer digits.
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
	const write: Write = writers[dtype];
	const size = elementBytes[dtype];
	const elements = elementCount(shape);
	const data = new Uint8Array(elements * size);
	const view = new DataView(data.buffer);
	for (let index = 0; index < elements; index += 1) write(view, index * size, valueAt(index));
	return { dtype, shape, data };
}

function encodeSmall(
	dtype: SmallDType,
	shape: readonly number[],
	valueAt: (index: number) => number,
): Tensor {
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
	// The exponent's bits are right above the fraction's, so a carry works by itself.
	return sign | (steps + (exponent + 14) * 1024);
}

function roundEven(value: number): number {
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

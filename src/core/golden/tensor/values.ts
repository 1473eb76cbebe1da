// Reads a tensor's values in chunks, as binary32 where that is exact and as binary64 for every dtype.
import type { DType, TensorStatistics } from "../../../../generated/golden.ts";
import {
	decodeBrainFloat,
	decodeHalf,
	isPacked,
	isSmall,
	nibbleAt,
	type SmallDType,
	smallValues,
} from "./small-numbers.ts";
import { elementBytes, elementCount, type Tensor } from "./tensor.ts";

/** Two chunks of binary32 fit in the second-level cache of every host. */
export const chunkElements = 65_536;

/** Reads `count` (at most chunkElements) values from `start`; the array holds until the next call. */
type ChunkReader<Values> = (start: number, count: number) => Values;

type NarrowArray = Float32Array | Uint16Array | Int16Array | Uint8Array | Int8Array;
type WideArray = Float64Array | Int32Array | Uint32Array;
type LongArray = BigInt64Array | BigUint64Array;

interface ViewOf<Values> {
	new (buffer: ArrayBufferLike, byteOffset: number, length: number): Values;
}

const narrowViews: Partial<Record<DType, ViewOf<NarrowArray>>> = {
	float32: Float32Array,
	float16: Uint16Array,
	bfloat16: Uint16Array,
	int16: Int16Array,
	uint16: Uint16Array,
	int8: Int8Array,
	uint8: Uint8Array,
	bool: Uint8Array,
};
const wideViews: Partial<Record<DType, ViewOf<WideArray>>> = {
	float64: Float64Array,
	int32: Int32Array,
	uint32: Uint32Array,
};
const longViews: Partial<Record<DType, ViewOf<LongArray>>> = { int64: BigInt64Array, uint64: BigUint64Array };

/** A copy only where the elements are misaligned. Hosts are little-endian, as TensorRT's are. */
function viewChunk<Values>(
	tensor: Tensor,
	View: ViewOf<Values>,
	range: { start: number; count: number },
): Values {
	const size = elementBytes[tensor.dtype];
	const offset = range.start * size;
	const at = tensor.data.byteOffset + offset;
	if (at % size === 0) return new View(tensor.data.buffer, at, range.count);
	return new View(tensor.data.slice(offset, offset + range.count * size).buffer, 0, range.count);
}

/** For dtypes whose values binary32 holds exactly. */
export function float32Reader(tensor: Tensor): ChunkReader<Float32Array> {
	if (isSmall(tensor.dtype)) return smallReader(tensor, tensor.dtype);
	const View = narrowViews[tensor.dtype];
	if (View === undefined) throw new RangeError(`binary32 does not hold every ${tensor.dtype}`);
	const isPlain = tensor.dtype === "float32";
	const scratch = new Float32Array(isPlain ? 0 : Math.min(chunkElements, elementCount(tensor.shape)));
	const decode = decoders[tensor.dtype] ?? ((bits: NarrowArray, out: Float32Array) => out.set(bits));
	return (start, count) => {
		const bits = viewChunk(tensor, View, { start, count });
		if (bits instanceof Float32Array) return bits;
		const out = scratch.subarray(0, count);
		decode(bits, out);
		return out;
	};
}

function smallReader({ data, shape }: Tensor, dtype: SmallDType): ChunkReader<Float32Array> {
	const table = smallValues(dtype);
	const packed = isPacked(dtype);
	const scratch = new Float32Array(Math.min(chunkElements, elementCount(shape)));
	return (start, count) => {
		for (let i = 0; i < count; i += 1) {
			scratch[i] = table[packed ? nibbleAt(data, start + i) : (data[start + i] as number)] as number;
		}
		return scratch.subarray(0, count);
	};
}

const decoders: Partial<Record<DType, (bits: NarrowArray, out: Float32Array) => void>> = {
	float16: (bits, out) => decodeHalf(bits as Uint16Array, out),
	bfloat16: (bits, out) => decodeBrainFloat(bits as Uint16Array, out),
	bool: (bits, out) => {
		for (let i = 0; i < bits.length; i += 1) out[i] = bits[i] === 0 ? 0 : 1;
	},
};

/** For every dtype; 64-bit integers beyond 2^53 are rounded. */
export function float64Reader(tensor: Tensor): ChunkReader<Float64Array> {
	const scratch = new Float64Array(Math.min(chunkElements, elementCount(tensor.shape)));
	const fill = float64Filler(tensor);
	return (start, count) => {
		const out = scratch.subarray(0, count);
		fill(out, start);
		return out;
	};
}

function float64Filler(tensor: Tensor): (out: Float64Array, start: number) => void {
	const Wide = wideViews[tensor.dtype];
	if (Wide !== undefined)
		return (out, start) => out.set(viewChunk(tensor, Wide, { start, count: out.length }));
	const Long = longViews[tensor.dtype];
	if (Long !== undefined) {
		return (out, start) => {
			const values = viewChunk(tensor, Long, { start, count: out.length });
			for (let i = 0; i < out.length; i += 1) out[i] = Number(values[i]);
		};
	}
	const narrow = float32Reader(tensor);
	return (out, start) => out.set(narrow(start, out.length));
}

/** 64-bit integers, exactly; null for every other dtype. */
export function longReader(tensor: Tensor): ChunkReader<LongArray> | null {
	const View = longViews[tensor.dtype];
	return View === undefined ? null : (start, count) => viewChunk(tensor, View, { start, count });
}

/** Subtracts the origin from 64-bit integers, so that close values stay distinct in binary64. */
export function offsetReader(tensor: Tensor, origin: bigint): ChunkReader<Float64Array> {
	const long = longReader(tensor);
	if (long === null || origin === 0n) return float64Reader(tensor);
	return (start, count) => Float64Array.from(long(start, count), (value: bigint) => Number(value - origin));
}

/** The first 64-bit integer; 0 for every other dtype. */
export function originOf(tensor: Tensor): bigint {
	return elementCount(tensor.shape) === 0 ? 0n : (longReader(tensor)?.(0, 1)[0] ?? 0n);
}

/** One value as binary64. */
export function valueAt(tensor: Tensor, flat: number): number {
	if (isSmall(tensor.dtype))
		return smallReader({ ...tensor, shape: [1] }, tensor.dtype)(flat, 1)[0] ?? Number.NaN;
	const size = elementBytes[tensor.dtype];
	const data = tensor.data.subarray(flat * size, (flat + 1) * size);
	return float64Reader({ ...tensor, shape: [1], data })(0, 1)[0] ?? Number.NaN;
}

/** One value in decimal, exact for every integer. */
export function formatValueAt(tensor: Tensor, flat: number): string {
	const long = longReader(tensor);
	return String(long === null ? valueAt(tensor, flat) : long(flat, 1)[0]);
}

/** Calls `visit` for the chunks of `elements`, in order. */
export function forEachChunk(elements: number, visit: (start: number, count: number) => void): void {
	for (let start = 0; start < elements; start += chunkElements)
		visit(start, Math.min(chunkElements, elements - start));
}

/** A chunk's array holds until the next step. */
export function* valueChunks(tensor: Tensor): Generator<{ start: number; values: Float64Array }> {
	const read = float64Reader(tensor);
	const elements = elementCount(tensor.shape);
	for (let start = 0; start < elements; start += chunkElements) {
		yield { start, values: read(start, Math.min(chunkElements, elements - start)) };
	}
}

/** The values of two tensors of one shape, side by side. */
export function* pairChunks({
	expected,
	got,
}: Record<"expected" | "got", Tensor>): Generator<{ start: number } & Record<"expected" | "got", Float64Array>> {
	const read = float64Reader(got);
	for (const { start, values } of valueChunks(expected))
		yield { start, expected: values, got: read(start, values.length) };
}

/** Calls `visit` for each value with its flat index. */
export function forEachValue(tensor: Tensor, visit: (value: number, flat: number) => void): void {
	for (const { start, values } of valueChunks(tensor)) {
		for (let i = 0; i < values.length; i += 1) visit(values[i] as number, start + i);
	}
}

export function everyValue(tensor: Tensor, test: (value: number) => boolean): boolean {
	for (const { values } of valueChunks(tensor)) if (!values.every(test)) return false;
	return true;
}

/** All values, or the first `most`, as binary64. */
export function valuesOf(tensor: Tensor, most = Number.POSITIVE_INFINITY): Float64Array {
	const all = new Float64Array(Math.min(most, elementCount(tensor.shape)));
	const read = float64Reader(tensor);
	forEachChunk(all.length, (start, count) => all.set(read(start, count), start));
	return all;
}

/** Recording asks for the statistics of one output many times. */
const knownStatistics = new WeakMap<Tensor, TensorStatistics>();

/** Mean and population standard deviation of the finite values in one pass (Welford 1962). */
export function tensorStatistics(tensor: Tensor): TensorStatistics {
	const statistics = knownStatistics.get(tensor) ?? measureStatistics(tensor);
	knownStatistics.set(tensor, statistics);
	return statistics;
}

function measureStatistics(tensor: Tensor): TensorStatistics {
	let [min, max, mean] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
	let squares = 0;
	let [finite, nan, inf] = [0, 0, 0];
	forEachValue(tensor, (value) => {
		if (Number.isNaN(value)) nan += 1;
		else if (!Number.isFinite(value)) inf += 1;
		else {
			finite += 1;
			const before = value - mean;
			mean += before / finite;
			squares += before * (value - mean);
			min = Math.min(min, value);
			max = Math.max(max, value);
		}
	});
	if (finite === 0) return { min: null, max: null, mean: null, std: null, nan, inf };
	return { min, max, mean, std: Math.sqrt(squares / finite), nan, inf };
}

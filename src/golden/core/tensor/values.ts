// Reads a tensor in chunks, as binary64 for every dtype, and two tensors row by row along an axis.
import type { DType, TensorStatistics } from "../../../../generated/golden.ts";
import { isPacked, nibbleAt, valueTable } from "./small-numbers.ts";
import { axisFromStart, elementBytes, elementCount, isFloating, type Sides, type Tensor } from "./tensor.ts";

export const chunkElements = 65_536;

type ChunkReader<Values> = (start: number, count: number) => Values;

interface ViewOf<Values> {
	new (buffer: ArrayBufferLike, byteOffset: number, length: number): Values;
}

type LongArray = BigInt64Array | BigUint64Array;

const longViews: Partial<Record<DType, ViewOf<LongArray>>> = { int64: BigInt64Array, uint64: BigUint64Array };
const plainViews: Partial<Record<DType, ViewOf<ArrayLike<number>>>> = {
	float64: Float64Array,
	float32: Float32Array,
	int32: Int32Array,
	uint32: Uint32Array,
	int16: Int16Array,
	uint16: Uint16Array,
	int8: Int8Array,
	uint8: Uint8Array,
};
/** A copy only if the elements are misaligned. Hosts are little-endian, as TensorRT's are. */
function viewChunk<Values>({ dtype, data }: Tensor, View: ViewOf<Values>, start: number, count: number) {
	const size = elementBytes[dtype];
	const at = data.byteOffset + start * size;
	if (at % size === 0) return new View(data.buffer, at, count);
	return new View(data.slice(start * size, (start + count) * size).buffer, 0, count);
}

export function float64Reader(tensor: Tensor): ChunkReader<Float64Array> {
	const scratch = new Float64Array(Math.min(chunkElements, elementCount(tensor.shape)));
	const fill = filler(tensor);
	return (start, count) => {
		const out = scratch.subarray(0, count);
		fill(out, start);
		return out;
	};
}

export function numberReader(tensor: Tensor): ChunkReader<Float32Array | Float64Array> {
	if (tensor.dtype !== "float32") return float64Reader(tensor);
	return (start, count) => viewChunk(tensor, Float32Array, start, count);
}

function filler(tensor: Tensor): (out: Float64Array, start: number) => void {
	const { dtype, data } = tensor;
	const Plain = plainViews[dtype];
	if (Plain) return (out, start) => out.set(viewChunk(tensor, Plain, start, out.length));
	const Long = longViews[dtype];
	if (Long)
		return (out, start) => {
			const values = viewChunk(tensor, Long, start, out.length);
			for (let i = 0; i < out.length; i += 1) out[i] = Number(values[i]);
		};
	const table = valueTable(dtype);
	const packed = isPacked(dtype);
	const View = elementBytes[dtype] === 2 ? Uint16Array : Uint8Array;
	return (out, start) => {
		const bits = packed ? null : viewChunk<Uint16Array | Uint8Array>(tensor, View, start, out.length);
		for (let i = 0; i < out.length; i += 1)
			out[i] = table[bits === null ? nibbleAt(data, start + i) : (bits[i] as number)] as number;
	};
}

export function longReader(tensor: Tensor): ChunkReader<LongArray> | null {
	const View = longViews[tensor.dtype];
	return View === undefined ? null : (start, count) => viewChunk(tensor, View, start, count);
}

/** Subtracts the origin from 64-bit integers, so that close values stay distinct in binary64. */
export function offsetReader(tensor: Tensor, origin: bigint): ChunkReader<Float64Array> {
	const long = longReader(tensor);
	if (long === null || origin === 0n) return float64Reader(tensor);
	return (start, count) => Float64Array.from(long(start, count), (value) => Number(value - origin));
}

/** The first element, if binary64 does not hold its neighbours. */
export function originOf(tensor: Tensor): bigint {
	const [first = 0n] = elementCount(tensor.shape) === 0 ? [] : (longReader(tensor)?.(0, 1) ?? []);
	return first > -(2n ** 53n) && first < 2n ** 53n ? 0n : first;
}

export function valueAt(tensor: Tensor, flat: number): number {
	return float64Reader({ ...tensor, shape: [1] })(flat, 1)[0] ?? NaN;
}

export function forEachChunk(elements: number, visit: (start: number, count: number) => void): void {
	for (let start = 0; start < elements; start += chunkElements)
		visit(start, Math.min(chunkElements, elements - start));
}

function* valueChunks(tensor: Tensor): Generator<{ start: number; values: Float64Array }> {
	const read = float64Reader(tensor);
	const elements = elementCount(tensor.shape);
	for (let start = 0; start < elements; start += chunkElements)
		yield { start, values: read(start, Math.min(chunkElements, elements - start)) };
}

export function forEachPair(
	{ expected, got }: Sides,
	visit: (expected: number, got: number, flat: number) => void,
): void {
	const read = float64Reader(got);
	for (const { start, values } of valueChunks(expected)) {
		const others = read(start, values.length);
		for (let i = 0; i < values.length; i += 1) visit(values[i] as number, others[i] as number, start + i);
	}
}

export function forEachValue(tensor: Tensor, visit: (value: number, flat: number) => void): void {
	for (const { start, values } of valueChunks(tensor))
		for (let i = 0; i < values.length; i += 1) visit(values[i] as number, start + i);
}

export function everyValue(tensor: Tensor, test: (value: number) => boolean): boolean {
	for (const { values } of valueChunks(tensor)) if (!values.every(test)) return false;
	return true;
}

export function isAllFinite(tensor: Tensor): boolean {
	return !isFloating(tensor.dtype) || everyValue(tensor, Number.isFinite);
}

export function valuesOf(tensor: Tensor, most = Infinity): Float64Array {
	const all = new Float64Array(Math.min(most, elementCount(tensor.shape)));
	const read = float64Reader(tensor);
	forEachChunk(all.length, (start, count) => all.set(read(start, count), start));
	return all;
}

const knownStatistics = new WeakMap<Tensor, TensorStatistics>();

/** Mean and population standard deviation of the finite values in one pass (Welford 1962). */
export function tensorStatistics(tensor: Tensor): TensorStatistics {
	const statistics = knownStatistics.get(tensor) ?? measureStatistics(tensor);
	knownStatistics.set(tensor, statistics);
	return statistics;
}

function measureStatistics(tensor: Tensor) {
	let [min, max, mean] = [Infinity, -Infinity, 0];
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

interface RowPosition {
	first: number;
	stride: number;
}

export type RowVisitor = (expected: Float64Array, got: Float64Array, place: RowPosition) => void;

/** @param origin subtracted from 64-bit integers. */
export function forEachRow(pair: Sides, axis: number, visit: RowVisitor, origin = 0n): void {
	const { shape } = pair.expected;
	const along = axisFromStart(axis, shape.length);
	const length = along < 0 ? 1 : (shape[along] ?? 1);
	const stride = along < 0 ? 1 : elementCount(shape.slice(along + 1));
	if (elementCount(shape) === 0) return;
	const outer = elementCount(shape) / (length * stride);
	// Rows along an inner axis are read some columns at a time to bound memory.
	const width = Math.min(stride, chunkElements, Math.max(1, Math.floor((16 * chunkElements) / length)));
	const readExpected = stripReader(offsetReader(pair.expected, origin), { length, stride, width });
	const readGot = stripReader(offsetReader(pair.got, origin), { length, stride, width });
	for (let block = 0; block < outer; block += 1) {
		for (let column = 0; column < stride; column += width) {
			const columns = Math.min(width, stride - column);
			const first = block * length * stride + column;
			const left = readExpected(first, columns);
			const right = readGot(first, columns);
			for (let i = 0; i < columns; i += 1) {
				const [from, to] = [i * length, (i + 1) * length];
				visit(left.subarray(from, to), right.subarray(from, to), { first: first + i, stride });
			}
		}
	}
}

function stripReader(
	read: ChunkReader<Float64Array>,
	{ length, stride, width }: Record<"length" | "stride" | "width", number>,
): (first: number, columns: number) => Float64Array {
	const rows = new Float64Array(length * width);
	return (first, columns) => {
		if (stride === 1) forEachChunk(rows.length, (at, count) => rows.set(read(first + at, count), at));
		else
			for (let k = 0; k < length; k += 1) {
				const values = read(first + k * stride, columns);
				for (let i = 0; i < columns; i += 1) rows[i * length + k] = values[i] as number;
			}
		return rows;
	};
}

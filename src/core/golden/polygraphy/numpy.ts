// Arithmetic on arrays in the types in which numpy does it for Polygraphy: what it rounds, wraps and refuses, so does this.
import type { DType } from "../../schema/golden.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk, longReader } from "../tensor/values.ts";
import type { Quantile } from "./settings.ts";

/** Binary32 values lie in binary64 arrays, rounded; integers of 32 bits among those of 64, wrapped. */
export type NumpyArray = { kind: "bool" | "f32" | "f64"; values: Float64Array } | { kind: "i32" | "i64" | "u64"; values: LongArray };
type LongArray = BigInt64Array | BigUint64Array;
type Kind = NumpyArray["kind"];
type LongKind = "i32" | "i64" | "u64";

/** Polygraphy casts small types up before it computes. Its files hold none of the last row. */
const kinds: Readonly<Record<DType, Kind>> = {
	...{ bool: "bool", float16: "f32", float32: "f32", float64: "f64" },
	...{ int8: "i32", uint8: "i32", int16: "i32", uint16: "i32", int32: "i32", uint32: "i64", int64: "i64", uint64: "u64" },
	...{ bfloat16: "f32", float8e4m3fn: "f32", float8e5m2: "f32", float4e2m1: "f32", int4: "i32", uint4: "i32" },
};

export function castUp(tensor: Tensor): NumpyArray {
	const kind = kinds[tensor.dtype];
	const elements = elementCount(tensor.shape);
	const readLong = longReader(tensor);
	if (isLong(kind) && readLong !== null) {
		const values = makeLongs(kind, elements);
		forEachChunk(elements, (start, count) => values.set(readLong(start, count), start));
		return { kind, values };
	}
	const read = float64Reader(tensor);
	const numbers = new Float64Array(elements);
	forEachChunk(elements, (start, count) => numbers.set(read(start, count), start));
	if (!isLong(kind)) return { kind, values: numbers };
	const values = makeLongs(kind, elements);
	for (let i = 0; i < elements; i += 1) values[i] = BigInt(numbers[i] as number);
	return { kind, values };
}

export function isLong(kind: Kind): kind is LongKind {
	return kind === "i32" || kind === "i64" || kind === "u64";
}

/** Values that do not fit wrap around as they are written. */
function makeLongs(kind: LongKind, length: number): LongArray {
	return kind === "u64" ? new BigUint64Array(length) : new BigInt64Array(length);
}

/** Of both sides' types the one that numpy computes in. */
function promote(left: Kind, right: Kind): Kind {
	if (left === right || right === "bool") return left;
	if (left === "bool") return right;
	const signed = (left === "i32" || left === "i64") && (right === "i32" || right === "i64");
	return signed ? "i64" : "f64";
}

export function toNumbers({ values }: NumpyArray): Float64Array {
	return values instanceof Float64Array ? values : Float64Array.from(values, Number);
}

function toLongs({ values }: NumpyArray, kind: LongKind): LongArray {
	if (!(values instanceof Float64Array)) return values;
	const longs = makeLongs(kind, values.length);
	for (let i = 0; i < values.length; i += 1) longs[i] = BigInt(values[i] as number);
	return longs;
}

interface Operation {
	numbers(left: number, right: number): number;
	longs(left: bigint, right: bigint): bigint;
}

function combine(left: NumpyArray, right: NumpyArray, operation: Operation): NumpyArray {
	const kind = promote(left.kind, right.kind);
	if (isLong(kind)) {
		const [a, b, values] = [toLongs(left, kind), toLongs(right, kind), makeLongs(kind, left.values.length)];
		for (let i = 0; i < values.length; i += 1) values[i] = wrap(kind, operation.longs(a[i] as bigint, b[i] as bigint));
		return { kind, values };
	}
	const [a, b, values] = [toNumbers(left), toNumbers(right), new Float64Array(left.values.length)];
	for (let i = 0; i < values.length; i += 1) values[i] = round(kind, operation.numbers(a[i] as number, b[i] as number));
	return { kind, values };
}

/** The array wraps at 64 bits itself. */
function wrap(kind: LongKind, value: bigint): bigint {
	return kind === "i32" ? BigInt.asIntN(32, value) : value;
}

function round(kind: Kind, value: number): number {
	return kind === "f32" ? Math.fround(value) : value;
}

/** Of bools on both sides numpy makes no difference: those are for the caller. */
export function subtract(left: NumpyArray, right: NumpyArray): NumpyArray {
	return combine(left, right, { numbers: (a, b) => a - b, longs: (a, b) => a - b });
}

/** Whether some difference is no number of the type that numpy computes it in. */
export function subtractWraps(left: NumpyArray, right: NumpyArray): boolean {
	const kind = promote(left.kind, right.kind);
	if (!isLong(kind)) return false;
	const [a, b, differences] = [toLongs(left, kind), toLongs(right, kind), toLongs(subtract(left, right), kind)];
	return differences.some((difference: bigint, i: number) => difference !== (a[i] as bigint) - (b[i] as bigint));
}

export function multiply(left: NumpyArray, right: NumpyArray): NumpyArray {
	return combine(left, right, { numbers: (a, b) => a * b, longs: (a, b) => a * b });
}

export function absolute(array: NumpyArray): NumpyArray {
	if (!isLong(array.kind)) return { kind: array.kind, values: toNumbers(array).map(Math.abs) };
	const values = makeLongs(array.kind, array.values.length);
	for (const [i, value] of toLongs(array, array.kind).entries()) values[i] = wrap(array.kind, value < 0n ? -value : value);
	return { kind: array.kind, values };
}

/** As by a 64-bit integer exponent: floats become binary64, integers 64 bits wide. */
export function square(array: NumpyArray): NumpyArray {
	const wide = widen(array);
	return multiply(wide, wide);
}

/** The type together with 64-bit integers. */
export function widen(array: NumpyArray): NumpyArray {
	const kind = promote(array.kind, "i64");
	return isLong(kind) ? { kind, values: toLongs(array, kind) } : { kind, values: toNumbers(array) };
}

/** Bools and integers are divided in binary64. */
export function divide(left: NumpyArray, right: NumpyArray): { kind: "f32" | "f64"; values: Float64Array } {
	const kind = promote(left.kind, right.kind) === "f32" ? "f32" : "f64";
	const divisors = toNumbers(right);
	return { kind, values: toNumbers(left).map((value, i) => round(kind, value / (divisors[i] as number))) };
}

type Rounding = (value: number) => number;
const single: Rounding = Math.fround;
const double: Rounding = (value) => value;

function roundingOf({ kind }: NumpyArray): Rounding {
	return kind === "f32" ? single : double;
}

/** Values that are added up one by one in eight sums; longer stretches are halved (numpy: pairwise summation). */
const blockLength = 128;
const lanes = 8;
/** Elements that numpy casts at a time where it adds in another type than the array's. */
const bufferLength = 8192;

function pairwiseSum(values: Float64Array, round: Rounding): number {
	const { length } = values;
	if (length > blockLength) {
		const half = Math.floor(length / 2);
		const cut = half - (half % lanes);
		return round(pairwiseSum(values.subarray(0, cut), round) + pairwiseSum(values.subarray(cut), round));
	}
	const whole = length - (length % lanes);
	let sum = whole === 0 ? 0 : sumLanes(values.subarray(0, whole), round);
	for (let i = whole; i < length; i += 1) sum = round(sum + (values[i] as number));
	return sum;
}

function sumLanes(values: Float64Array, round: Rounding): number {
	const sums = values.slice(0, lanes);
	for (let i = lanes; i < values.length; i += 1) sums[i % lanes] = round((sums[i % lanes] as number) + (values[i] as number));
	for (let width = 1; width < lanes; width *= 2) {
		for (let i = 0; i < lanes; i += 2 * width) sums[i] = round((sums[i] as number) + (sums[i + width] as number));
	}
	return sums[0] as number;
}

/** Integers wrap at 64 bits. */
export function sum(array: NumpyArray): number {
	if (!isLong(array.kind)) return pairwiseSum(toNumbers(array), roundingOf(array));
	let total = 0n;
	for (const value of array.values as BigInt64Array) total += value;
	return Number(array.kind === "u64" ? BigInt.asUintN(64, total) : BigInt.asIntN(64, total));
}

/** Added up in binary32, or else in binary64; NaN of nothing. */
export function mean(array: NumpyArray, how: "binary32" | "binary64"): number {
	const round = how === "binary32" ? single : double;
	const values = toNumbers(array).map(round);
	const inType = array.kind === (how === "binary32" ? "f32" : "f64");
	const step = inType ? Math.max(1, values.length) : bufferLength;
	let total = 0;
	for (let at = 0; at < values.length; at += step) total = round(total + pairwiseSum(values.subarray(at, at + step), round));
	return round(total / values.length);
}

/** Polygraphy's own: 0 of nothing. */
export function largest(array: NumpyArray): number {
	const values = toNumbers(array);
	if (values.length === 0) return 0;
	let most = Number.NEGATIVE_INFINITY;
	for (const value of values) most = Math.max(most, value);
	return most;
}

/** Polygraphy's own: 0 of nothing. */
export function median(array: NumpyArray): number {
	const sorted = toNumbers(array).slice().sort();
	const { length } = sorted;
	if (length === 0) return 0;
	if (Number.isNaN(sorted[length - 1])) return Number.NaN;
	const upper = sorted[Math.floor(length / 2)] as number;
	if (length % 2 === 1) return upper;
	const round = roundingOf(array);
	return round(round((sorted[length / 2 - 1] as number) + upper) / 2);
}

/** The linear method; Polygraphy's own: infinite of nothing. */
export function quantile(array: NumpyArray, share: Quantile): number {
	const sorted = { ...array, values: array.values.slice().sort() } as NumpyArray;
	const last = sorted.values.length - 1;
	if (last < 0) return Number.POSITIVE_INFINITY;
	if (Number.isNaN(numberAt(sorted, last))) return Number.NaN;
	if (typeof share === "string") return numberAt(sorted, share === "first" ? 0 : last);
	const below = Math.min(Math.floor(last * share), last);
	return interpolate(sorted, { below, above: Math.min(below + 1, last), share: last * share - below });
}

function numberAt({ values }: NumpyArray, at: number): number {
	return Number(values[at]);
}

/** From the nearer side, as numpy does it. Between equal infinities lies no number; between integers the step is one. */
function interpolate(sorted: NumpyArray, { below, above, share }: { below: number; above: number; share: number }): number {
	const round = roundingOf(sorted);
	const at = (place: number): NumpyArray => ({ ...sorted, values: sorted.values.subarray(place, place + 1) }) as NumpyArray;
	const step = numberAt(subtract(at(above), at(below)), 0);
	return share >= 0.5
		? round(numberAt(sorted, above) - round(step * round(1 - share)))
		: round(numberAt(sorted, below) + round(step * round(share)));
}

// Sums, means, medians and quantiles as numpy computes them, to the last bit: in the type of the array and in numpy's order.
import { isLong, type NumpyArray, subtract, toNumbers } from "./numpy.ts";
import type { Quantile } from "./settings.ts";

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
	if (Number.isNaN(valueAt(sorted, last))) return Number.NaN;
	if (typeof share === "string") return valueAt(sorted, share === "first" ? 0 : last);
	const below = Math.min(Math.floor(last * share), last);
	return interpolate(sorted, { below, above: Math.min(below + 1, last), share: last * share - below });
}

function valueAt({ values }: NumpyArray, at: number): number {
	return Number(values[at]);
}

/** From the nearer side, as numpy does it. Between equal infinities lies no number; between integers the step is one. */
function interpolate(sorted: NumpyArray, { below, above, share }: { below: number; above: number; share: number }): number {
	const round = roundingOf(sorted);
	const at = (place: number): NumpyArray => ({ ...sorted, values: sorted.values.subarray(place, place + 1) }) as NumpyArray;
	const step = valueAt(subtract(at(above), at(below)), 0);
	return share >= 0.5
		? round(valueAt(sorted, above) - round(step * round(1 - share)))
		: round(valueAt(sorted, below) + round(step * round(share)));
}

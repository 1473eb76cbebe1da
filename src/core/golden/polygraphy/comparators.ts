// Polygraphy's comparators.
import { elementCount } from "../tensor/tensor.ts";
import {
	absolute,
	castUp,
	divide,
	isLong,
	largest,
	mean,
	median,
	multiply,
	type NumpyArray,
	quantile,
	square,
	subtract,
	subtractWraps,
	sum,
	toNumbers,
	widen,
} from "./numpy.ts";
import { type Limit, measure, type Outcome, type OutputSettings, type RunnerOutputs, stopped } from "./settings.ts";

/** 2^-52: stands for zeros of a floating reference, so that relative errors beside them are huge. */
const zeroStandIn = 2.220446049250313e-16;

export function compareSimple(sides: RunnerOutputs, settings: OutputSettings): Outcome {
	const [candidate, golden] = [castUp(sides.candidate), castUp(sides.golden)];
	const bools = candidate.kind === "bool" && golden.kind === "bool";
	const between = settings.statistic === "quantile" && typeof settings.quantile === "number";
	if (bools && between && elementCount(sides.golden.shape) > 0) return stopped("numpy has no quantile of bools");
	const errors = errorsOf(candidate, golden, settings);
	const outcome = settings.statistic === "elemwise" ? eachElement(errors, settings) : byStatistic(errors, settings, settings.statistic);
	const wraps = outcome.pass && !bools && subtractWraps(candidate, golden);
	return {
		...outcome,
		warnings: wraps ? ["differences of its integers overflow and wrap around, so large errors may look small"] : [],
	};
}

interface Errors {
	absolute: NumpyArray;
	relative: NumpyArray;
}

function errorsOf(candidate: NumpyArray, golden: NumpyArray, { infinitiesEqual }: OutputSettings): Errors {
	const bools = candidate.kind === "bool" && golden.kind === "bool";
	const plain = bools ? differing(candidate, golden) : absolute(subtract(candidate, golden));
	const error = infinitiesEqual && !bools ? withEqualInfinities(plain, candidate, golden) : plain;
	return { absolute: error, relative: divide(error, absolute(withoutZeros(golden))) };
}

function differing(candidate: NumpyArray, golden: NumpyArray): NumpyArray {
	const wanted = toNumbers(golden);
	return { kind: "bool", values: toNumbers(candidate).map((value, i) => (value === wanted[i] ? 0 : 1)) };
}

/** numpy widens the errors as it puts the zeros in. */
function withEqualInfinities(errors: NumpyArray, candidate: NumpyArray, golden: NumpyArray): NumpyArray {
	const wide = widen(errors);
	if (!(wide.values instanceof Float64Array)) return wide;
	const [got, wanted] = [toNumbers(candidate), toNumbers(golden)];
	const values = wide.values.map((error, i) =>
		Math.abs(got[i] as number) === Number.POSITIVE_INFINITY && got[i] === wanted[i] ? 0 : error,
	);
	return { kind: "f64", values };
}

function withoutZeros(golden: NumpyArray): NumpyArray {
	if (golden.kind !== "f32" && golden.kind !== "f64") return golden;
	return { kind: golden.kind, values: golden.values.map((value) => (value === 0 ? zeroStandIn : value)) };
}

function eachElement(errors: Errors, { atol, rtol }: OutputSettings): Omit<Outcome, "warnings"> {
	const [absolutes, relatives] = [toNumbers(errors.absolute), toNumbers(errors.relative)];
	let outside = 0;
	for (let i = 0; i < absolutes.length; i += 1)
		if (!((absolutes[i] as number) <= atol) && !((relatives[i] as number) <= rtol)) outside += 1;
	const most = { bound: "at-most" } as const;
	return {
		pass: outside === 0,
		measures: [
			measure("elements outside both tolerances", outside, { ...most, allowed: 0 }),
			measure("largest absolute error", largest(errors.absolute), { ...most, allowed: atol }),
			measure("largest relative error", largest(errors.relative), { ...most, allowed: rtol }),
		],
	};
}

function byStatistic(
	errors: Errors,
	settings: OutputSettings,
	statistic: "max" | "mean" | "median" | "quantile",
): Omit<Outcome, "warnings"> {
	const statistics: Readonly<Record<typeof statistic, (array: NumpyArray) => number>> = {
		max: largest,
		mean: (array) => mean(array, "binary32"),
		median,
		quantile: (array) => quantile(array, settings.quantile),
	};
	const { atol, rtol } = settings;
	const absolutes = measure(`${statistic} absolute error`, statistics[statistic](errors.absolute), { allowed: atol, bound: "at-most" });
	const relatives = measure(`${statistic} relative error`, statistics[statistic](errors.relative), { allowed: rtol, bound: "at-most" });
	return { pass: absolutes.pass || relatives.pass, measures: [absolutes, relatives] };
}

/** The last values of a row, as many as the tolerance, are not looked at; of equal values the first counts. */
export function compareIndices({ candidate, golden }: RunnerOutputs, { indexTolerance }: OutputSettings): Outcome {
	const { shape } = candidate;
	if (shape.length === 0) return stopped("it needs rows of indices, and this is a scalar");
	const width = shape[shape.length - 1] as number;
	const [got, wanted] = [comparable(castUp(candidate), castUp(golden)), comparable(castUp(golden), castUp(candidate))];
	const looked = Math.max(0, width - indexTolerance);
	let misplaced = 0;
	for (let start = 0; start < elementCount(shape); start += width) {
		const row = wanted.slice(start, start + width);
		for (let place = 0; place < looked; place += 1) if (!isNear(got[start + place], row, { place, indexTolerance })) misplaced += 1;
	}
	const blind = width > 0 && looked === 0;
	return {
		pass: misplaced === 0,
		measures: [measure("misplaced values", misplaced, { allowed: 0, bound: "at-most" })],
		warnings: blind ? ["the index tolerance is as long as its rows, so no value was compared"] : [],
	};
}

type Comparable = readonly (number | bigint | undefined)[];

function isNear(value: Comparable[number], row: Comparable, { place, indexTolerance }: { place: number; indexTolerance: number }): boolean {
	if (row[place] === value) return true;
	const at = row.indexOf(value);
	return at >= 0 && Math.abs(at - place) <= indexTolerance;
}

/** Integers exactly where both sides are; NaN is at no place. */
function comparable(array: NumpyArray, other: NumpyArray): Comparable {
	return isLong(array.kind) && isLong(other.kind) ? Array.from(array.values as BigInt64Array) : Array.from(toNumbers(array));
}

interface Arrays {
	candidate: NumpyArray;
	golden: NumpyArray;
}

function arraysOf({ candidate, golden }: RunnerOutputs): Arrays {
	return { candidate: castUp(candidate), golden: castUp(golden) };
}

/** numpy cannot subtract bools. */
function noDifference({ candidate, golden }: Arrays): Outcome | null {
	return candidate.kind === "bool" && golden.kind === "bool" ? stopped("numpy cannot subtract bools") : null;
}

function plain(name: string, value: number, limit: Limit): Outcome {
	const only = measure(name, value, limit);
	return { pass: only.pass, measures: [only], warnings: [] };
}

export function compareL2(sides: RunnerOutputs, { l2 }: OutputSettings): Outcome {
	const arrays = arraysOf(sides);
	const distance = (): number => Math.sqrt(sum(square(subtract(arrays.candidate, arrays.golden))));
	return noDifference(arrays) ?? plain("L2 distance", distance(), { allowed: l2, bound: "at-most" });
}

export function compareCosine(sides: RunnerOutputs, { cosine }: OutputSettings): Outcome {
	const arrays = arraysOf(sides);
	const { value, overflows } = cosineOf(arrays);
	const outcome = plain("cosine similarity", value, { allowed: cosine, bound: "at-least" });
	return outcome.pass && overflows ? { ...outcome, warnings: ["its products overflow, so its cosine similarity is meaningless"] } : outcome;
}

function cosineOf({ candidate, golden }: Arrays): { value: number; overflows: boolean } {
	const product = sum(multiply(candidate, golden));
	const [left, right] = [Math.sqrt(sum(square(candidate))), Math.sqrt(sum(square(golden)))];
	if (left === 0 && right === 0) return { value: 1, overflows: false };
	if (left === 0 || right === 0) return { value: 0, overflows: false };
	const value = product / (left * right);
	const overflows = !Number.isFinite(product) && Number.isFinite(left) && Number.isFinite(right);
	return { value: Number.isNaN(value) ? value : Math.max(-1, Math.min(1, value)), overflows };
}

export function comparePsnr(sides: RunnerOutputs, { psnr }: OutputSettings): Outcome {
	return compareByFirst(sides, { name: "PSNR (dB)", takes: "peak", ratio: psnrOf, allowed: psnr });
}

export function compareSnr(sides: RunnerOutputs, { snr }: OutputSettings): Outcome {
	return compareByFirst(sides, { name: "SNR (dB)", takes: "power", ratio: snrOf, allowed: snr });
}

interface Ratio {
	name: string;
	takes: string;
	ratio(arrays: Arrays): number;
	allowed: number;
}

/** Both use the first runner, the candidate, as the reference: values that are too large there look good. */
function compareByFirst(sides: RunnerOutputs, { name, takes, ratio, allowed }: Ratio): Outcome {
	const arrays = arraysOf(sides);
	const stop = noDifference(arrays);
	if (stop !== null) return stop;
	const limit = { allowed, bound: "at-least" } as const;
	const outcome = plain(name, ratio(arrays), limit);
	if (!outcome.pass || elementCount(sides.golden.shape) === 0) return outcome;
	const byGolden = measure(name, ratio({ candidate: arrays.golden, golden: arrays.candidate }), limit);
	if (byGolden.pass) return outcome;
	const value = typeof byGolden.value === "number" ? Number(byGolden.value.toPrecision(3)) : byGolden.value;
	return { ...outcome, warnings: [`its ${takes} is taken from the first runner; by the second's own it is ${value} dB and fails`] };
}

function psnrOf({ candidate, golden }: Arrays): number {
	const noise = mean(square(subtract(candidate, golden)), "binary64");
	if (noise === 0) return Number.POSITIVE_INFINITY;
	const peak = largest(candidate);
	return 20 * Math.log10(peak <= 0 ? 1 : peak) - 10 * Math.log10(noise);
}

function snrOf({ candidate, golden }: Arrays): number {
	const noise = mean(square(subtract(candidate, golden)), "binary64");
	const signal = mean(square(candidate), "binary64");
	if (noise === 0) return Number.POSITIVE_INFINITY;
	return signal === 0 ? Number.NEGATIVE_INFINITY : 10 * Math.log10(signal / noise);
}

// Polygraphy's default comparator: absolute and relative errors, of which only one has to be within its tolerance.
import { elementCount } from "../tensor/tensor.ts";
import { absolute, castUp, divide, type NumpyArray, subtract, subtractWraps, toNumbers, widen } from "./numpy.ts";
import { largest, mean, median, quantile } from "./numpy-statistics.ts";
import { measure, type Outcome, type Sides, stopped } from "./outcome.ts";
import type { OutputSettings } from "./settings.ts";

/** 2^-52: stands for zeros of a floating reference, so that relative errors beside them are huge. */
const zeroStandIn = 2.220446049250313e-16;

export function compareSimple(sides: Sides, settings: OutputSettings): Outcome {
	const [candidate, golden] = [castUp(sides.candidate), castUp(sides.golden)];
	const bools = candidate.kind === "bool" && golden.kind === "bool";
	const between = settings.statistic === "quantile" && typeof settings.quantile === "number";
	if (bools && between && elementCount(sides.golden.shape) > 0) return stopped("numpy has no quantile of bools");
	const errors = errorsOf(candidate, golden, settings);
	const outcome = settings.statistic === "elemwise" ? eachElement(errors, settings) : byStatistic(errors, settings, settings.statistic);
	const wraps = outcome.pass && !bools && subtractWraps(candidate, golden);
	return {
		...outcome,
		cautions: wraps ? ["differences of its integers overflow and wrap around, so that large errors may look small"] : [],
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

function eachElement(errors: Errors, { atol, rtol }: OutputSettings): Omit<Outcome, "cautions"> {
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
): Omit<Outcome, "cautions"> {
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

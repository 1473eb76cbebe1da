// Polygraphy's default comparator: an element passes within its absolute or its relative tolerance.
import type { DType } from "../../schema/golden.ts";
import type { Bound, Numeric } from "../../schema/result.ts";
import { toNumeric } from "../compare/checks.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk, longReader } from "../tensor/values.ts";

export interface Tolerances {
	absolute: number;
	relative: number;
	/** Whether infinities of the same sign are equal. */
	infinitiesEqual: boolean;
}

export interface Measure {
	name: string;
	value: Numeric;
	allowed: Numeric;
	bound: Bound;
	pass: boolean;
}

/** In Polygraphy's order: the candidate comes first. */
export interface RunnerOutputs {
	candidate: Tensor;
	golden: Tensor;
}

/** 2^-52 replaces zeros of a floating-point reference, so that relative errors at zero are huge. */
const zeroReplacement = 2.220446049250313e-16;
const singles: ReadonlySet<DType> = new Set(["float16", "float32"]);
const doubles: ReadonlySet<DType> = new Set(["float64", ...singles]);

/** Computed in binary32 where both sides fit, as numpy does: values near a tolerance keep Polygraphy's verdict. */
export function compareElements(sides: RunnerOutputs, tolerances: Tolerances): Measure[] {
	const { candidate, golden } = sides;
	const round = singles.has(candidate.dtype) && singles.has(golden.dtype) ? Math.fround : (value: number) => value;
	const differences = differenceReader(sides);
	const [readCandidate, readGolden] = [float64Reader(candidate), float64Reader(golden)];
	const isFloating = doubles.has(golden.dtype);
	let outside = 0;
	const largest = { absolute: Number.NEGATIVE_INFINITY, relative: Number.NEGATIVE_INFINITY };
	forEachChunk(elementCount(golden.shape), (start, count) => {
		const [got, wanted, difference] = [readCandidate(start, count), readGolden(start, count), differences(start, count)];
		for (let i = 0; i < count; i += 1) {
			const reference = Math.abs(wanted[i] as number);
			const isEqual = tolerances.infinitiesEqual && reference === Number.POSITIVE_INFINITY && got[i] === wanted[i];
			const absolute = isEqual ? 0 : round(Math.abs(difference[i] as number));
			const relative = round(absolute / (reference === 0 && isFloating ? zeroReplacement : reference));
			if (!(absolute <= tolerances.absolute) && !(relative <= tolerances.relative)) outside += 1;
			largest.absolute = Math.max(largest.absolute, absolute);
			largest.relative = Math.max(largest.relative, relative);
		}
	});
	return [
		measure("elements outside both tolerances", outside, 0),
		...(["absolute", "relative"] as const).map((error) =>
			measure(`largest ${error} error`, elementCount(golden.shape) === 0 ? 0 : largest[error], tolerances[error]),
		),
	];
}

/** 64-bit integers are subtracted exactly. */
function differenceReader({ candidate, golden }: RunnerOutputs): (start: number, count: number) => ArrayLike<number> {
	const [longCandidate, longGolden] = [longReader(candidate), longReader(golden)];
	if (longCandidate !== null && longGolden !== null) {
		return (start, count) => {
			const wanted = longGolden(start, count);
			return Array.from(longCandidate(start, count), (value, i) => Number(value - (wanted[i] as bigint)));
		};
	}
	const [read, readGolden] = [float64Reader(candidate), float64Reader(golden)];
	return (start, count) => {
		const wanted = readGolden(start, count);
		return read(start, count).map((value, i) => value - (wanted[i] as number));
	};
}

function measure(name: string, value: number, allowed: number): Measure {
	return { name, value: toNumeric(value), allowed: toNumeric(allowed), bound: "at-most", pass: value <= allowed };
}

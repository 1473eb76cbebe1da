// Polygraphy's comparator of indices: how far each value of a row has moved.
import { elementCount } from "../tensor/tensor.ts";
import { castUp, isLong, type NumpyArray, toNumbers } from "./numpy.ts";
import { measure, type Outcome, type Sides, stopped } from "./outcome.ts";
import type { OutputSettings } from "./settings.ts";

/** The last values of a row, as many as the tolerance, are not looked at; of equal values the first counts. */
export function compareIndices({ candidate, golden }: Sides, { indexTolerance }: OutputSettings): Outcome {
	const { shape } = candidate;
	if (shape.length === 0) return stopped("it takes rows of indices, and this is a scalar");
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
		cautions: blind ? ["the index tolerance is as long as its rows, so that no value was looked at"] : [],
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

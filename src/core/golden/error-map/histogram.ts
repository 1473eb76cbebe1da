// Counts how large the differences of two tensors are, in bins that are equally wide on a logarithmic scale.
import type { ErrorHistogram } from "../../schema/result.ts";
import type { Closeness } from "../compare/difference.ts";
import { elementCount } from "../tensor/tensor.ts";
import { distanceAt, forEachDifference, type TensorPair } from "./element-errors.ts";

const maxBins = 64;
/** Sixteen decades exceed the precision of binary64; what is smaller falls into the first bin. */
const maxDecades = 16;

interface Extent {
	least: number;
	most: number;
	equal: number;
	notFinite: number;
	minTolerance: number;
	maxTolerance: number;
}

/** `closeness`: the tolerance of one element, for checks of elements. */
export function errorHistogram(sides: TensorPair, closeness: Closeness | null): ErrorHistogram {
	const extent = extentOf(sides, closeness ?? { rtol: 0, atol: 0 });
	const { equal, notFinite } = extent;
	const { from, to, bins } = binsOf(extent);
	const counts = new Array<number>(bins).fill(0);
	const perDecade = bins / Math.log10(to / from);
	const first = Math.log10(from);
	forEachDifference(sides, ({ difference }) => {
		for (const value of difference) {
			const size = Math.abs(value);
			if (!(size > 0 && size < Number.POSITIVE_INFINITY)) continue;
			const bin = Math.min(bins - 1, Math.max(0, Math.floor((Math.log10(size) - first) * perDecade)));
			counts[bin] = (counts[bin] ?? 0) + 1;
		}
	});
	const { minTolerance, maxTolerance } = extent;
	const known = closeness !== null && minTolerance <= maxTolerance;
	return {
		from,
		to,
		counts,
		equal,
		notFinite,
		elements: elementCount(sides.expected.shape),
		...(known ? { tolerance: [minTolerance, maxTolerance] } : {}),
	};
}

function extentOf(sides: TensorPair, closeness: Closeness): Extent {
	const none = { least: Number.POSITIVE_INFINITY, most: 0, minTolerance: Number.POSITIVE_INFINITY, maxTolerance: 0 };
	const extent: Extent = { ...none, equal: 0, notFinite: 0 };
	forEachDifference(sides, (chunk) => {
		for (let i = 0; i < chunk.expected.length; i += 1) {
			const size = distanceAt(chunk, i);
			if (size === Number.POSITIVE_INFINITY) extent.notFinite += 1;
			else addSize(extent, size);
			addTolerance(extent, closeness.atol + closeness.rtol * Math.abs(chunk.expected[i] as number));
		}
	});
	return extent;
}

function addSize(extent: Extent, size: number): void {
	if (size === 0) extent.equal += 1;
	else if (size < extent.least) extent.least = size;
	if (size > extent.most) extent.most = size;
}

function addTolerance(extent: Extent, tolerance: number): void {
	// Elements that are not finite have no tolerance.
	if (!(tolerance < Number.POSITIVE_INFINITY)) return;
	if (tolerance < extent.minTolerance) extent.minTolerance = tolerance;
	if (tolerance > extent.maxTolerance) extent.maxTolerance = tolerance;
}

/** Whole decades, as finely divided as the number of bins allows. */
function binsOf({ least, most }: Extent): { from: number; to: number; bins: number } {
	if (!(most > 0)) return { from: 1, to: 10, bins: 0 };
	// The ends of binary64 have no decade beyond them.
	const top = Math.min(308, Math.max(-290, Math.floor(Math.log10(most)) + 1));
	const bottom = Math.max(top - maxDecades, Math.min(top - 1, Math.floor(Math.log10(least))));
	const decades = top - bottom;
	const perDecade = [16, 8, 4].find((count) => count * decades <= maxBins) ?? 4;
	return { from: 10 ** bottom, to: 10 ** top, bins: decades * perDecade };
}

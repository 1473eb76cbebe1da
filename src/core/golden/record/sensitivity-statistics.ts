// Figures that tell one tensor from another at a glance: range, mean, spread, and what is not a number.
import type { TensorStatistics } from "../../schema/golden.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk } from "../tensor/values.ts";

interface Sums {
	min: number;
	max: number;
	mean: number;
	/** Sum of squared distances from the mean so far. */
	squares: number;
	finite: number;
	nan: number;
	inf: number;
}

/** Mean and population standard deviation in one pass (Welford 1962), of the finite values. */
export function tensorStatistics(tensor: Tensor): TensorStatistics {
	const read = float64Reader(tensor);
	const sums: Sums = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY, mean: 0, squares: 0, finite: 0, nan: 0, inf: 0 };
	forEachChunk(elementCount(tensor.shape), (start, count) => addChunk(read(start, count), sums));
	const { finite, nan, inf } = sums;
	if (finite === 0) return { min: null, max: null, mean: null, std: null, nan, inf };
	return { min: sums.min, max: sums.max, mean: sums.mean, std: Math.sqrt(sums.squares / finite), nan, inf };
}

function addChunk(values: Float64Array, sums: Sums): void {
	for (let i = 0; i < values.length; i += 1) {
		const value = values[i] as number;
		if (Number.isFinite(value)) {
			sums.finite += 1;
			const before = value - sums.mean;
			sums.mean += before / sums.finite;
			sums.squares += before * (value - sums.mean);
			if (value < sums.min) sums.min = value;
			if (value > sums.max) sums.max = value;
		} else if (Number.isNaN(value)) sums.nan += 1;
		else sums.inf += 1;
	}
}

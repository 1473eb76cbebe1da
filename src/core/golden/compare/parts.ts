// Cuts a pair of outputs into what is judged by itself, and finds the worst of it.
import type { Bound } from "../../schema/result.ts";
import type { Measured } from "../metrics/measured.ts";
import { sliceTensor, type Tensor } from "../tensor/tensor.ts";
import { type Closeness, makePair, type Pair } from "./difference.ts";

export interface Part {
	pair: Pair;
	/** Place along the batch axis; null for the whole. */
	sample: number | null;
}

/** Slices along the axis; with null the whole as one part. */
export function cutParts(sides: { expected: Tensor; got: Tensor }, axis: number | null, planned?: Closeness): Part[] {
	const { expected, got } = sides;
	if (axis === null) return [{ pair: makePair(expected, got, planned), sample: null }];
	return Array.from({ length: expected.shape[axis] ?? 0 }, (_, sample) => ({
		pair: makePair(sliceTensor(expected, axis, sample), sliceTensor(got, axis, sample), planned),
		sample,
	}));
}

export interface Worst {
	part: Part;
	measured: Measured;
	/** Elements of all parts together. */
	elements: number;
}

/** The part that is furthest on the wrong side; NaN is further than any number. null where no part holds a finite element. */
export function findWorst(parts: readonly Part[], bound: Bound, measure: (pair: Pair) => Measured): Worst | null {
	let worst: Worst | null = null;
	let elements = 0;
	for (const part of parts) {
		const measured = measure(part.pair);
		if (measured.elements === 0) continue;
		elements += measured.elements;
		if (worst === null || isWorse(measured.value, worst.measured.value, bound)) worst = { part, measured, elements };
	}
	return worst === null ? null : { ...worst, elements };
}

function isWorse(value: number, than: number, bound: Bound): boolean {
	if (Number.isNaN(than)) return false;
	return bound === "at-most" ? !(value <= than) : !(value >= than);
}

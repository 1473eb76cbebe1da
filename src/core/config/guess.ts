// Guesses the sizes of a symbolic dimension from its name and place; the user corrects them.
import type { DimRange } from "./config.ts";

interface Kind {
	name: RegExp;
	range: DimRange;
}

/** Checked in this order. The optima are what the common public models are trained or exported with. */
const kinds: readonly Kind[] = [
	{ name: /batch|^n$|^b$/i, range: { min: 1, opt: 8, max: 32 } },
	{ name: /seq|len|token|time|frames|^t$|^l$|^s$/i, range: { min: 1, opt: 128, max: 512 } },
	{ name: /height|width|^h$|^w$/i, range: { min: 64, opt: 224, max: 640 } },
];

const batch: DimRange = { min: 1, opt: 8, max: 32 };
const unknown: DimRange = { min: 1, opt: 16, max: 64 };

/** @param axis of the input that has the dimension; the first is the batch where the name says nothing. */
export function guessRange(name: string, axis: number): DimRange {
	return kinds.find((kind) => kind.name.test(name))?.range ?? (axis === 0 ? batch : unknown);
}

export function isBatch(range: DimRange): boolean {
	return range.min === batch.min && range.opt === batch.opt && range.max === batch.max;
}

// How far two segmentations agree: mean intersection over union, Dice, and the share of pixels that differ.
import type { Pair } from "../compare/difference.ts";
import { forEachRow } from "../tensor/rows.ts";
import { isFloating } from "../tensor/tensor.ts";
import { pairChunks } from "../tensor/values.ts";
import { argMax } from "./classification.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/** More classes than this are no classes. */
const maxClasses = 65_536;

interface ClassTally {
	/** By class: pixels of both, of the golden, of the engine. */
	both: Float64Array;
	expected: Float64Array;
	got: Float64Array;
	pixels: number;
	differing: number;
	firstDiffering: number;
	/** A value that is no class. */
	stray: number | null;
}

/** Of one class, from its pixels in both, in the golden and in the engine's output. */
export type ClassScore = (both: number, expected: number, got: number) => number;

export const iouScore: ClassScore = (both, expected, got) => both / (expected + got - both);
export const diceScore: ClassScore = (both, expected, got) => (2 * both) / (expected + got);

/**
 * Mean over classes of TP / (TP + FP + FN) (sklearn: `jaccard_score(average="macro")` over the classes that are there). A class
 * that neither side has is left out; of a mask by threshold only what it holds counts, and two empty masks agree fully. Symmetric.
 */
export function meanIou(pair: Pair, options: MetricOptions): Measured {
	return meanOfClasses(tallyClasses(pair, options), options, iouScore);
}

/** Mean over classes of 2 TP / (2 TP + FP + FN) (sklearn: `f1_score(average="macro")`), with the same conventions as meanIou. */
export function dice(pair: Pair, options: MetricOptions): Measured {
	return meanOfClasses(tallyClasses(pair, options), options, diceScore);
}

/** Share of pixels whose class is another than the golden's (numpy: `mean(a != b)`). */
export function pixelDisagreement(pair: Pair, options: MetricOptions): Measured {
	const tally = tallyClasses(pair, options);
	return measuredOf(tally, tally.differing / tally.pixels, "");
}

export function meanOfClasses(tally: ClassTally, options: MetricOptions, score: ClassScore): Measured {
	let worst = Number.POSITIVE_INFINITY;
	let worstClass = -1;
	let sum = 0;
	let classes = 0;
	for (let index = options.threshold === null ? 0 : 1; index < tally.both.length; index += 1) {
		const expected = tally.expected[index] as number;
		const got = tally.got[index] as number;
		if (expected + got === 0) continue;
		const value = score(tally.both[index] as number, expected, got);
		sum += value;
		classes += 1;
		if (value < worst) {
			worst = value;
			worstClass = index;
		}
	}
	const lowest = `lowest of ${classes} classes: ${Number(worst.toPrecision(4))} of class ${worstClass}; `;
	return measuredOf(tally, classes === 0 ? 1 : sum / classes, lowest);
}

/** NaN where a value is no class, or nothing was tallied. */
function measuredOf(tally: ClassTally, value: number, before: string): Measured {
	const { stray, pixels, differing, firstDiffering } = tally;
	if (stray !== null) {
		const detail = `${stray} is not a class from 0 to ${maxClasses - 1}`;
		return { value: Number.NaN, elements: Math.max(1, pixels), worstAt: -1, detail };
	}
	if (pixels === 0) return { value: Number.NaN, elements: 0, worstAt: -1 };
	const detail = differing > 0 ? `${before}${differing} of ${pixels} pixels differ` : undefined;
	return { value, elements: pixels, worstAt: firstDiffering, detail };
}

export function emptyClassTally(): ClassTally {
	const counts = (): Float64Array => new Float64Array(2);
	return {
		both: counts(),
		expected: counts(),
		got: counts(),
		pixels: 0,
		differing: 0,
		firstDiffering: -1,
		stray: null,
	};
}

/** Adds an output's pixels to those that were counted before. */
export function tallyClasses(
	pair: Pair,
	{ axis, ignore, threshold }: MetricOptions,
	tally: ClassTally = emptyClassTally(),
): ClassTally {
	const add = (wanted: number, got: number, flat: number): void => {
		if (wanted !== ignore) addPixel(tally, wanted, got, flat);
	};
	if (threshold === null && isFloating(pair.expected.dtype)) {
		forEachRow(pair, axis, (expected, got, place) => {
			const wanted = argMax(expected);
			add(wanted, argMax(got), place.first + wanted * place.stride);
		});
		return tally;
	}
	const classOf = (value: number): number => (threshold === null ? value : Number(value > threshold));
	for (const { start, expected, got } of pairChunks(pair)) {
		for (let i = 0; i < expected.length; i += 1)
			add(classOf(expected[i] as number), classOf(got[i] as number), start + i);
	}
	return tally;
}

function addPixel(tally: ClassTally, expected: number, got: number, flat: number): void {
	for (const value of [expected, got]) {
		if (value >= 0 && value < maxClasses && Number.isInteger(value)) continue;
		tally.stray ??= value;
		return;
	}
	const most = Math.max(expected, got);
	if (most >= tally.both.length) grow(tally, most + 1);
	tally.pixels += 1;
	tally.expected[expected] = (tally.expected[expected] as number) + 1;
	tally.got[got] = (tally.got[got] as number) + 1;
	if (expected === got) tally.both[expected] = (tally.both[expected] as number) + 1;
	else {
		tally.differing += 1;
		if (tally.firstDiffering < 0) tally.firstDiffering = flat;
	}
}

function grow(tally: ClassTally, classes: number): void {
	const length = Math.min(maxClasses, Math.max(classes, 2 * tally.both.length));
	for (const key of ["both", "expected", "got"] as const) {
		const longer = new Float64Array(length);
		longer.set(tally[key]);
		tally[key] = longer;
	}
}

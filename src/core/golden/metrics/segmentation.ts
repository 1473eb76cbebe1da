// How far two segmentations agree: mean intersection over union, Dice, and the share of pixels that differ.
import type { Pair } from "../compare/difference.ts";
import { forEachRow } from "../tensor/rows.ts";
import { isFloating } from "../tensor/tensor.ts";
import { pairChunks } from "../tensor/values.ts";
import { argMax } from "./classification.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/** More classes than this are no classes. */
const maxClasses = 65_536;

export interface ClassTally {
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

/**
 * Mean over classes of TP / (TP + FP + FN) (sklearn: `jaccard_score(average="macro")` over the classes that are there). A class
 * that neither side has is left out; of a mask by threshold only what it holds counts, and two empty masks agree fully. Symmetric.
 */
export function meanIou(pair: Pair, options: MetricOptions): Measured {
	return meanOverClasses(pair, options, iouScore);
}

/** Mean over classes of 2 TP / (2 TP + FP + FN) (sklearn: `f1_score(average="macro")`), with the same conventions as meanIou. */
export function dice(pair: Pair, options: MetricOptions): Measured {
	return meanOverClasses(pair, options, diceScore);
}

const iouScore: ClassScore = (both, expected, got) => both / (expected + got - both);
const diceScore: ClassScore = (both, expected, got) => (2 * both) / (expected + got);

/** The mean over the classes of all that was tallied. */
export function measureClasses(tally: ClassTally, options: MetricOptions, kind: "miou" | "dice"): Measured {
	return meanOfTally(tally, options, kind === "miou" ? iouScore : diceScore);
}

/** Share of pixels whose class is another than the golden's (numpy: `mean(a != b)`). */
export function pixelDisagreement(pair: Pair, options: MetricOptions): Measured {
	const tally = tallyClasses(pair, options);
	if (tally.stray !== null || tally.pixels === 0) return undefinedFor(tally);
	const detail = `${tally.differing} of ${tally.pixels} pixels differ`;
	return {
		value: tally.differing / tally.pixels,
		elements: tally.pixels,
		worstAt: tally.firstDiffering,
		...(tally.differing ? { detail } : {}),
	};
}

type ClassScore = (both: number, expected: number, got: number) => number;

function meanOverClasses(pair: Pair, options: MetricOptions, score: ClassScore): Measured {
	return meanOfTally(tallyClasses(pair, options), options, score);
}

function meanOfTally(tally: ClassTally, options: MetricOptions, score: ClassScore): Measured {
	if (tally.stray !== null || tally.pixels === 0) return undefinedFor(tally);
	const worst = { score: Number.POSITIVE_INFINITY, class: -1 };
	let sum = 0;
	let classes = 0;
	for (let index = options.threshold === null ? 0 : 1; index < tally.both.length; index += 1) {
		const expected = tally.expected[index] as number;
		const got = tally.got[index] as number;
		if (expected + got === 0) continue;
		const value = score(tally.both[index] as number, expected, got);
		sum += value;
		classes += 1;
		if (value < worst.score) Object.assign(worst, { score: value, class: index });
	}
	const value = classes === 0 ? 1 : sum / classes;
	const detail = `lowest of ${classes} classes: ${Number(worst.score.toPrecision(4))} of class ${worst.class}; ${tally.differing} of ${tally.pixels} pixels differ`;
	return {
		value,
		elements: tally.pixels,
		worstAt: tally.firstDiffering,
		...(tally.differing > 0 ? { detail } : {}),
	};
}

function undefinedFor(tally: ClassTally): Measured {
	if (tally.stray === null) return { value: Number.NaN, elements: 0, worstAt: -1 };
	return {
		value: Number.NaN,
		elements: Math.max(1, tally.pixels),
		worstAt: -1,
		detail: `${tally.stray} is not a class from 0 to ${maxClasses - 1}`,
	};
}

export function emptyClassTally(): ClassTally {
	return {
		both: new Float64Array(2),
		expected: new Float64Array(2),
		got: new Float64Array(2),
		pixels: 0,
		differing: 0,
		firstDiffering: -1,
		stray: null,
	};
}

/** Adds an output's pixels to those that were counted before. */
export function tallyClasses(
	pair: Pair,
	options: MetricOptions,
	tally: ClassTally = emptyClassTally(),
): ClassTally {
	const { ignore, threshold } = options;
	if (threshold === null && isFloating(pair.expected.dtype)) {
		forEachRow(pair, options.axis, (expected, got, place) => {
			const wanted = argMax(expected);
			if (wanted !== ignore)
				addPixel(tally, { expected: wanted, got: argMax(got), flat: place.first + wanted * place.stride });
		});
		return tally;
	}
	const classOf =
		threshold === null ? (value: number) => value : (value: number) => (value > threshold ? 1 : 0);
	for (const { start, expected, got } of pairChunks(pair)) {
		for (let i = 0; i < expected.length; i += 1) {
			const wanted = classOf(expected[i] as number);
			if (wanted !== ignore)
				addPixel(tally, { expected: wanted, got: classOf(got[i] as number), flat: start + i });
		}
	}
	return tally;
}

function addPixel(
	tally: ClassTally,
	{ expected, got, flat }: { expected: number; got: number; flat: number },
): void {
	if (!isClass(expected) || !isClass(got)) {
		tally.stray ??= isClass(expected) ? got : expected;
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

function isClass(value: number): boolean {
	return value >= 0 && value < maxClasses && Number.isInteger(value);
}

function grow(tally: ClassTally, classes: number): void {
	const length = Math.min(maxClasses, Math.max(classes, 2 * tally.both.length));
	for (const key of ["both", "expected", "got"] as const) {
		const longer = new Float64Array(length);
		longer.set(tally[key]);
		tally[key] = longer;
	}
}

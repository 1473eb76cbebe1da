// How far two segmentations agree: mean intersection over union, and the share of pixels that differ.
import type { Pair } from "../compare/difference.ts";
import { forEachRow } from "../tensor/rows.ts";
import { isFloating } from "../tensor/tensor.ts";
import { pairChunks } from "../tensor/values.ts";
import { argMax } from "./classification.ts";
import type { Measured, MetricOptions } from "./measured.ts";

const maxClasses = 65_536;

interface ClassTally {
	both: Float64Array;
	expected: Float64Array;
	got: Float64Array;
	pixels: number;
	differing: number;
	firstDiffering: number;
	stray: number | null;
}

/**
 * Mean over classes of TP / (TP + FP + FN) (sklearn: `jaccard_score(average="macro")`). Classes that neither side has are left
 * out; of a mask by threshold only the foreground counts, and two empty masks agree fully.
 */
export function meanIou(pair: Pair, options: MetricOptions): Measured {
	return iouOfTally(tallyClasses(pair, options), options);
}

/** Share of pixels whose class differs from the golden's (numpy: `mean(a != b)`). */
export function pixelDisagreement(pair: Pair, options: MetricOptions): Measured {
	const tally = tallyClasses(pair, options);
	return measuredOf(tally, tally.differing / tally.pixels, "");
}

export function iouOfTally(tally: ClassTally, options: MetricOptions): Measured {
	let worst = { iou: Number.POSITIVE_INFINITY, index: -1 };
	let sum = 0;
	let classes = 0;
	for (let index = options.threshold === null ? 0 : 1; index < tally.both.length; index += 1) {
		const both = tally.both[index] as number;
		const either = (tally.expected[index] as number) + (tally.got[index] as number) - both;
		if (either === 0) continue;
		const iou = both / either;
		sum += iou;
		classes += 1;
		if (iou < worst.iou) worst = { iou, index };
	}
	const lowest = `lowest of ${classes} classes: ${Number(worst.iou.toPrecision(4))} of class ${worst.index}; `;
	return measuredOf(tally, classes === 0 ? 1 : sum / classes, lowest);
}

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
	const counts = { both: new Float64Array(2), expected: new Float64Array(2), got: new Float64Array(2) };
	return { ...counts, pixels: 0, differing: 0, firstDiffering: -1, stray: null };
}

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
	const isClass = (value: number): boolean => value >= 0 && value < maxClasses && Number.isInteger(value);
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

function grow(tally: ClassTally, classes: number): void {
	const length = Math.min(maxClasses, Math.max(classes, 2 * tally.both.length));
	for (const key of ["both", "expected", "got"] as const) {
		const longer = new Float64Array(length);
		longer.set(tally[key]);
		tally[key] = longer;
	}
}

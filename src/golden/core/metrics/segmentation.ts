// Compares segmentations: mean intersection over union, and the share of pixels that differ.

import type { Pair } from "../compare/difference.ts";
import { forEachPair } from "../tensor/values.ts";
import { forEachClass } from "./classification.ts";
import type { Measured, MetricOptions } from "./element-errors.ts";

const maxClasses = 65_536;

interface ClassTally {
	both: number[];
	expected: number[];
	got: number[];
	pixels: number;
	differing: number;
	firstDiffering: number;
	stray: number | null;
}

/**
 * Mean over classes of TP / (TP + FP + FN) (sklearn: `jaccard_score(average="macro")`). Classes that neither side has are left
 * out. In a mask by threshold, only the foreground counts, and two empty masks agree fully.
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
	const first = options.threshold === null ? 0 : 1;
	const scores = tally.both.flatMap((both, index) => {
		const either = (tally.expected[index] as number) + (tally.got[index] as number) - both;
		return index < first || either === 0 ? [] : [{ iou: both / either, index }];
	});
	const mean = scores.reduce((sum, { iou }) => sum + iou, 0) / scores.length;
	const worst = scores.reduce((lowest, one) => (one.iou < lowest.iou ? one : lowest), { iou: 2, index: -1 });
	const lowest = `lowest of ${scores.length} classes: ${Number(worst.iou.toPrecision(4))} of class ${worst.index}; `;
	return measuredOf(tally, scores.length === 0 ? 1 : mean, lowest);
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
	return { both: [], expected: [], got: [], pixels: 0, differing: 0, firstDiffering: -1, stray: null };
}

export function tallyClasses(
	pair: Pair,
	{ axis, ignore, threshold }: MetricOptions,
	tally: ClassTally = emptyClassTally(),
): ClassTally {
	const add = (wanted: number, got: number, flat: number): void => {
		if (wanted !== ignore) addPixel(tally, wanted, got, flat);
	};
	if (threshold === null) forEachClass(pair, axis, (wanted, got, { flat }) => add(wanted, got, flat));
	else
		forEachPair(pair, (wanted, got, flat) => add(Number(wanted > threshold), Number(got > threshold), flat));
	return tally;
}

function isClass(value: number): boolean {
	return value >= 0 && value < maxClasses && Number.isInteger(value);
}

function addPixel(tally: ClassTally, expected: number, got: number, flat: number): void {
	if (!isClass(expected) || !isClass(got)) {
		tally.stray ??= isClass(expected) ? got : expected;
		return;
	}
	const most = Math.max(expected, got);
	while (tally.both.length <= most)
		for (const counts of [tally.both, tally.expected, tally.got]) counts.push(0);
	tally.pixels += 1;
	tally.expected[expected] = (tally.expected[expected] as number) + 1;
	tally.got[got] = (tally.got[got] as number) + 1;
	if (expected === got) tally.both[expected] = (tally.both[expected] as number) + 1;
	else {
		tally.differing += 1;
		if (tally.firstDiffering < 0) tally.firstDiffering = flat;
	}
}

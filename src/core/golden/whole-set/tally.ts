// Sums over all cases of a golden, case by case, in memory that does not grow with their number.
import type { Bound } from "../../../../generated/result.ts";
import { joinNorms, longerNorm, noNorm, normRatio, type Pair } from "../compare/difference.ts";
import type { Measured, MetricOptions } from "../metrics/measured.ts";
import { maxVectors, unit, type VectorScores, type Vectors } from "../metrics/neighbours.ts";
import { type ClassScore, emptyClassTally, meanOfClasses, tallyClasses } from "../metrics/segmentation.ts";
import { forEachRow } from "../tensor/rows.ts";

export interface SetTally {
	/** One output of one case. */
	add(pair: Pair, options: MetricOptions, caseId: string): void;
	/** What was added so far; the options are those of any case. */
	measure(options: MetricOptions): SetMeasured;
}

/** NaN where the number is not defined, which never passes. */
export type SetMeasured = Pick<Measured, "value" | "elements" | "detail">;

/** A share of rows times their number is a whole number: what rounding took from it is given back. */
const countSlack = 1e-6;

/** The mean of the cases' own numbers, each weighed by the elements that it covers: shares and means over rows. */
export function meanTally(measure: (pair: Pair, options: MetricOptions) => Measured, bound: Bound): SetTally {
	let sum = 0;
	let elements = 0;
	let worst: { value: number; id: string } | null = null;
	let problem: string | undefined;
	return {
		add(pair, options, id) {
			const measured = measure(pair, options);
			const { value } = measured;
			if (Number.isNaN(value) && measured.detail !== undefined) problem ??= `case ${id}: ${measured.detail}`;
			if (measured.elements === 0) return;
			const part = value * measured.elements;
			const whole = Math.round(part);
			sum += Math.abs(part - whole) < countSlack && part > 0.5 ? whole : part;
			elements += measured.elements;
			if (worst === null || (bound === "at-most" ? value > worst.value : value < worst.value))
				worst = { value, id };
		},
		measure: () => ({
			value: elements === 0 ? Number.NaN : sum / elements,
			elements,
			detail:
				problem ??
				(worst && `${Number(worst.value.toPrecision(4))} in the worst case, ${worst.id}`) ??
				undefined,
		}),
	};
}

/** Classes are counted over all pixels of all cases, and their mean is taken once, as benchmarks of segmentation do. */
export function classTally(score: ClassScore): SetTally {
	const tally = emptyClassTally();
	return {
		add: (pair, options) => void tallyClasses(pair, options, tally),
		measure: (options) => meanOfClasses(tally, options, score),
	};
}

/** The norm of all differences by the norm of all of the golden. */
export function squareTally(): SetTally {
	let difference = noNorm;
	let expected = noNorm;
	let elements = 0;
	let worst = { norm: noNorm, id: "" };
	return {
		add(pair, _, id) {
			const { differenceNorm, expectedNorm, maxAbs, elements: more } = pair.difference();
			expected = joinNorms(expected, expectedNorm);
			elements += more;
			if (maxAbs === 0) return;
			difference = joinNorms(difference, differenceNorm);
			if (longerNorm(differenceNorm, worst.norm) === differenceNorm) worst = { norm: differenceNorm, id };
		},
		measure() {
			if (elements === 0) return { value: Number.NaN, elements };
			if (difference === noNorm) return { value: 0, elements };
			const share = Number((100 * normRatio(worst.norm, difference) ** 2).toPrecision(3));
			const detail = `${share} % of the squared error lies in case ${worst.id}`;
			return { value: normRatio(difference, expected), elements, detail };
		},
	};
}

/** Of both sides together. */
const maxBytes = 128 * 1024 * 1024;
/** With fewer there is hardly a neighbourhood. */
const minVectors = 16;

/**
 * When there is no more room every second vector is dropped, and from then on half as many are taken: what is left is spread evenly
 * over the set, and is the same in every run.
 */
export function vectorTally(score: (vectors: Vectors, k: number) => VectorScores): SetTally {
	let sampled: { expected: Float64Array; got: Float64Array; id: string }[] = [];
	let seen = 0;
	let step = 1;
	let length = -1;
	let elements = 0;
	let problem: string | undefined;
	const take = (expected: Float64Array, got: Float64Array, id: string): void => {
		if (length < 0) length = expected.length;
		if (expected.length !== length)
			problem ??= `case ${id} has vectors of ${expected.length}, others of ${length}`;
		const room = Math.min(maxVectors, Math.floor(maxBytes / (16 * Math.max(1, length))));
		if (room < minVectors)
			problem ??= `vectors of ${length} elements are too long to keep ${minVectors} of them`;
		const at = seen;
		seen += 1;
		elements += expected.length;
		if (problem !== undefined || at % step !== 0) return;
		if (sampled.length >= room) {
			sampled = sampled.filter((_, index) => index % 2 === 0);
			step *= 2;
			if (at % step !== 0) return;
		}
		sampled.push({ expected: unit(expected), got: unit(got), id });
	};
	return {
		add: (pair, options, id) => forEachRow(pair, options.axis, (expected, got) => take(expected, got, id)),
		measure(options) {
			if (problem !== undefined) return { value: Number.NaN, elements, detail: problem };
			const expected = sampled.map((one) => one.expected);
			const scores = score({ expected, got: sampled.map(({ got }) => got), firsts: [] }, options.k);
			const { value, lowest, at } = scores;
			const of = step > 1 ? `${sampled.length} among ${seen} vectors, evenly drawn` : `${seen} vectors`;
			const worst =
				value < 1 ? `; lowest ${Number(lowest.toPrecision(4))}, in case ${sampled[at]?.id ?? ""}` : "";
			return { value, elements, detail: scores.problem ?? `of ${of}${worst}` };
		},
	};
}

/** The verdict on the whole set has this in place of a case id. */
export const wholeSet = "whole set";

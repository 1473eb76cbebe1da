// Sums over all cases of a golden, case by case, in memory that does not grow with their number.
import type { Bound } from "../../../../generated/result.ts";
import { normRatio, type Pair } from "../compare/difference.ts";
import type { Measured, MetricOptions } from "../metrics/element-errors.ts";
import {
	emptyClassTally,
	iouOfTally,
	maxVectors,
	tallyClasses,
	unit,
	type VectorScores,
	type Vectors,
} from "../metrics/segmentation.ts";
import { forEachRow } from "../tensor/values.ts";

export interface SetTally {
	add(pair: Pair, options: MetricOptions, caseId: string): void;
	measure(options: MetricOptions): SetMeasured;
}

export type SetMeasured = Pick<Measured, "value" | "elements" | "detail">;

const countSlack = 1e-6;

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
			const weight = measured.weight ?? measured.elements;
			if (weight === 0) return;
			const part = value * weight;
			const whole = Math.round(part);
			sum += Math.abs(part - whole) < countSlack && part > 0.5 ? whole : part;
			elements += weight;
			if (worst === null || (bound === "at-most" ? value > worst.value : value < worst.value))
				worst = { value, id };
		},
		measure: () => ({
			value: elements === 0 ? NaN : sum / elements,
			elements,
			detail:
				problem ??
				(worst && `${Number(worst.value.toPrecision(4))} in the worst case, ${worst.id}`) ??
				undefined,
		}),
	};
}

export function classTally(): SetTally {
	const tally = emptyClassTally();
	return {
		add: (pair, options) => void tallyClasses(pair, options, tally),
		measure: (options) => iouOfTally(tally, options),
	};
}

export function squareTally(): SetTally {
	let [difference, expected, elements] = [0, 0, 0];
	let isSame = true;
	let worst = { squared: 0, id: "" };
	return {
		add(pair, _, id) {
			const { squaredDifference: squared, squaredExpected, maxAbs, elements: more } = pair.difference();
			expected += squaredExpected;
			elements += more;
			isSame &&= maxAbs === 0;
			difference += squared;
			if (squared > worst.squared) worst = { squared, id };
		},
		measure() {
			if (elements === 0) return { value: NaN, elements };
			if (isSame) return { value: 0, elements };
			const share = Number(((100 * worst.squared) / difference).toPrecision(3));
			const detail = `${share} % of the squared error lies in case ${worst.id}`;
			return { value: normRatio(difference, expected), elements, detail };
		},
	};
}

const maxBytes = 128 * 1024 * 1024;
const minVectors = 16;

/** If memory is full, every second vector is dropped and half as many are taken: an even sample, equal in every run. */
export function vectorTally(score: (vectors: Vectors, k: number) => VectorScores): SetTally {
	let sampled: { expected: Float64Array; got: Float64Array; id: string }[] = [];
	let seen = 0;
	let step = 1;
	let length = -1;
	let elements = 0;
	let problem: string | undefined;
	const take = (expected: Float64Array, got: Float64Array, id: string) => {
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
			if (problem !== undefined) return { value: NaN, elements, detail: problem };
			const vectors = {
				expected: sampled.map(({ expected }) => expected),
				got: sampled.map(({ got }) => got),
			};
			const { value, lowest, at, problem: unmeasurable } = score(vectors, options.k);
			const of = step > 1 ? `${sampled.length} among ${seen} vectors, evenly drawn` : `${seen} vectors`;
			const worst =
				value < 1 ? `; lowest ${Number(lowest.toPrecision(4))}, in case ${sampled[at]?.id ?? ""}` : "";
			return { value, elements, detail: unmeasurable ?? `of ${of}${worst}` };
		},
	};
}

export const wholeSet = "whole set";

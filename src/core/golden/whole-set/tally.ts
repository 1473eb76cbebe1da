// Sums that go over all cases of a golden, one case after the other: what is kept does not grow with their number.
import type { Pair } from "../compare/difference.ts";
import { metrics } from "../compare/registry.ts";
import type { Measured, Question } from "../metrics/measured.ts";
import { emptyClassTally, measureClasses, tallyClasses } from "../metrics/segmentation.ts";
import { joinNorms, longerNorm, noNorm, normRatio } from "../norm.ts";
import type { SetKind } from "./kinds.ts";
import type { SetTally } from "./measured.ts";
import { vectorTally } from "./vector-tally.ts";

export function setTally(kind: SetKind): SetTally {
	switch (kind) {
		case "miou":
		case "dice":
			return classTally(kind);
		case "recall-at-k":
		case "rank-agreement":
			return vectorTally(kind);
		case "relative-l2":
			return squareTally();
		default:
			return meanTally((pair, question) => metrics[kind].measure(pair, question), metrics[kind].bound);
	}
}

/** A share of rows times their number is a whole number: what rounding took from it is given back. */
const countSlack = 1e-6;

/** The mean of the cases' own numbers, each weighed by the elements that it speaks of: shares and means over rows. */
export function meanTally(measure: (pair: Pair, question: Question) => Measured, bound: "at-most" | "at-least"): SetTally {
	let sum = 0;
	let elements = 0;
	let worst: { value: number; id: string } | null = null;
	let problem: string | undefined;
	return {
		add(pair, question, id) {
			const measured = measure(pair, question);
			if (Number.isNaN(measured.value) && measured.detail !== undefined) problem ??= `case ${id}: ${measured.detail}`;
			if (measured.elements === 0) return;
			const part = measured.value * measured.elements;
			const whole = Math.round(part);
			sum += Math.abs(part - whole) < countSlack && part > 0.5 ? whole : part;
			elements += measured.elements;
			const isWorse = worst === null || (bound === "at-most" ? measured.value > worst.value : measured.value < worst.value);
			if (isWorse) worst = { value: measured.value, id };
		},
		measure() {
			const value = elements === 0 ? Number.NaN : sum / elements;
			const detail = problem ?? (worst === null ? undefined : `${Number(worst.value.toPrecision(4))} in the worst case, ${worst.id}`);
			return { value, elements, ...(detail === undefined ? {} : { detail }) };
		},
	};
}

/** Classes are counted over all pixels of all cases, and their mean is taken once, as benchmarks of segmentation do. */
function classTally(kind: "miou" | "dice"): SetTally {
	const tally = emptyClassTally();
	return {
		add: (pair, question) => void tallyClasses(pair, question, tally),
		measure: (question) => measureClasses(tally, question, kind),
	};
}

/** The norm of all differences by the norm of all of the golden. */
function squareTally(): SetTally {
	const sums = { difference: noNorm, expected: noNorm, elements: 0 };
	let worst = { norm: noNorm, id: "" };
	return {
		add(pair, _, id) {
			const { differenceNorm, expectedNorm, maxAbs, elements } = pair.difference();
			sums.expected = joinNorms(sums.expected, expectedNorm);
			sums.elements += elements;
			if (maxAbs === 0) return;
			sums.difference = joinNorms(sums.difference, differenceNorm);
			if (longerNorm(differenceNorm, worst.norm) === differenceNorm) worst = { norm: differenceNorm, id };
		},
		measure() {
			const { difference, expected, elements } = sums;
			if (elements === 0) return { value: Number.NaN, elements };
			if (difference === noNorm) return { value: 0, elements };
			const share = Number((100 * normRatio(worst.norm, difference) ** 2).toPrecision(3));
			return { value: normRatio(difference, expected), elements, detail: `${share} % of the squared error lies in case ${worst.id}` };
		},
	};
}

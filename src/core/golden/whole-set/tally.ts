// Sums over all cases of a golden, case by case, in memory that does not grow with their number.
import type { BoxComparatorKind, ComparatorKind } from "../../../../generated/golden.ts";
import { joinNorms, longerNorm, noNorm, normRatio, type Pair } from "../compare/difference.ts";
import { metrics } from "../compare/registry.ts";
import type { Measured, MetricOptions } from "../metrics/measured.ts";
import { maxVectors, measureRanks, measureRecall, unit } from "../metrics/neighbours.ts";
import { emptyClassTally, measureClasses, tallyClasses } from "../metrics/segmentation.ts";
import { forEachRow } from "../tensor/rows.ts";

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
			return meanTally((pair, options) => metrics[kind].measure(pair, options), metrics[kind].bound);
	}
}

/** A share of rows times their number is a whole number: what rounding took from it is given back. */
const countSlack = 1e-6;

/** The mean of the cases' own numbers, each weighed by the elements that it speaks of: shares and means over rows. */
export function meanTally(
	measure: (pair: Pair, options: MetricOptions) => Measured,
	bound: "at-most" | "at-least",
): SetTally {
	let sum = 0;
	let elements = 0;
	let worst: { value: number; id: string } | null = null;
	let problem: string | undefined;
	return {
		add(pair, options, id) {
			const measured = measure(pair, options);
			if (Number.isNaN(measured.value) && measured.detail !== undefined)
				problem ??= `case ${id}: ${measured.detail}`;
			if (measured.elements === 0) return;
			const part = measured.value * measured.elements;
			const whole = Math.round(part);
			sum += Math.abs(part - whole) < countSlack && part > 0.5 ? whole : part;
			elements += measured.elements;
			const isWorse =
				worst === null || (bound === "at-most" ? measured.value > worst.value : measured.value < worst.value);
			if (isWorse) worst = { value: measured.value, id };
		},
		measure() {
			const value = elements === 0 ? Number.NaN : sum / elements;
			const detail =
				problem ??
				(worst === null ? undefined : `${Number(worst.value.toPrecision(4))} in the worst case, ${worst.id}`);
			return { value, elements, detail };
		},
	};
}

/** Classes are counted over all pixels of all cases, and their mean is taken once, as benchmarks of segmentation do. */
function classTally(kind: "miou" | "dice"): SetTally {
	const tally = emptyClassTally();
	return {
		add: (pair, options) => void tallyClasses(pair, options, tally),
		measure: (options) => measureClasses(tally, options, kind),
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
			return {
				value: normRatio(difference, expected),
				elements,
				detail: `${share} % of the squared error lies in case ${worst.id}`,
			};
		},
	};
}

/** Of both sides together. */
const maxBytes = 128 * 1024 * 1024;
/** With fewer there is hardly a neighbourhood. */
const minVectors = 16;

interface SampledVectors {
	expected: Float64Array[];
	got: Float64Array[];
	ids: string[];
}

/**
 * When there is no more room every second vector is dropped, and from then on half as many are taken: what is left is spread evenly
 * over the set, and is the same in every run.
 */
function vectorTally(kind: "recall-at-k" | "rank-agreement"): SetTally {
	const sampled: SampledVectors = { expected: [], got: [], ids: [] };
	const seen = { vectors: 0, step: 1, length: -1, elements: 0 };
	let problem: string | undefined;
	const take = (expected: Float64Array, got: Float64Array, id: string): void => {
		if (seen.length < 0) seen.length = expected.length;
		if (expected.length !== seen.length)
			problem ??= `case ${id} has vectors of ${expected.length}, others of ${seen.length}`;
		const room = Math.min(maxVectors, Math.floor(maxBytes / (16 * Math.max(1, seen.length))));
		if (room < minVectors)
			problem ??= `vectors of ${seen.length} elements are too long to keep ${minVectors} of them`;
		const at = seen.vectors;
		seen.vectors += 1;
		seen.elements += expected.length;
		if (problem !== undefined || at % seen.step !== 0) return;
		if (sampled.ids.length >= room) {
			thinOut(sampled);
			seen.step *= 2;
			if (at % seen.step !== 0) return;
		}
		sampled.expected.push(unit(expected));
		sampled.got.push(unit(got));
		sampled.ids.push(id);
	};
	return {
		add: (pair: Pair, options, id) =>
			forEachRow(pair, options.axis, (expected, got) => take(expected, got, id)),
		measure(options): SetMeasured {
			const vectors = { ...sampled, firsts: [] };
			const scores = kind === "recall-at-k" ? measureRecall(vectors, options.k) : measureRanks(vectors);
			const { value, lowest, at } =
				problem === undefined ? scores : { value: Number.NaN, lowest: Number.NaN, at: -1 };
			const sample =
				seen.step > 1
					? `of ${sampled.ids.length} among ${seen.vectors} vectors, evenly drawn`
					: `of ${seen.vectors} vectors`;
			const worst =
				value < 1 ? `; lowest ${Number(lowest.toPrecision(4))}, in case ${sampled.ids[at] ?? ""}` : "";
			return { value, elements: seen.elements, detail: problem ?? scores.problem ?? `${sample}${worst}` };
		},
	};
}

function thinOut(sampled: SampledVectors): void {
	for (const key of ["expected", "got"] as const)
		sampled[key] = sampled[key].filter((_, index) => index % 2 === 0);
	sampled.ids = sampled.ids.filter((_, index) => index % 2 === 0);
}

interface SetTally {
	/** One output of one case. */
	add(pair: Pair, options: MetricOptions, caseId: string): void;
	/** What was added so far; `question` is that of any case. */
	measure(options: MetricOptions): SetMeasured;
}

/** NaN where the number is not defined, which never passes. */
export type SetMeasured = Pick<Measured, "value" | "elements" | "detail">;

/** Means and shares over rows, pixels, elements or vectors. Of largest errors the worst case decides anyway. */
export const setKinds = [
	"accuracy",
	"top-k",
	"token-agreement",
	"recall-at-k",
	"rank-agreement",
	"miou",
	"dice",
	"pixel-disagreement",
	"kl",
	"js",
	"allclose",
	"relative-l2",
] as const satisfies readonly ComparatorKind[];

type SetKind = (typeof setKinds)[number];

export function isSetKind(kind: ComparatorKind): kind is SetKind {
	return (setKinds as readonly ComparatorKind[]).includes(kind);
}

export const boxSetKinds: readonly BoxComparatorKind[] = ["box-missing", "box-extra", "box-f1", "map"];

/** The verdict on the whole set has this in place of a case id. */
export const wholeSet = "whole set";

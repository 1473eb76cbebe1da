// Keeps embeddings of all cases, and of too many an even sample, to ask whether they are still neighbours.
import type { Pair } from "../compare/difference.ts";
import { measureRanks, measureRecall, mostVectors, unit } from "../metrics/neighbours.ts";
import { forEachRow } from "../tensor/rows.ts";
import type { SetMeasured, SetTally } from "./measured.ts";

/** Of both sides together. */
const mostBytes = 128 * 1024 * 1024;
/** With fewer there is hardly a neighbourhood. */
const leastVectors = 16;

interface Kept {
	expected: Float64Array[];
	got: Float64Array[];
	ids: string[];
}

/**
 * When there is no more room every second vector is dropped, and from then on half as many are taken: what is left is spread evenly
 * over the set, and is the same in every run.
 */
export function vectorTally(kind: "recall-at-k" | "rank-agreement"): SetTally {
	const kept: Kept = { expected: [], got: [], ids: [] };
	const seen = { vectors: 0, step: 1, length: -1, elements: 0 };
	let problem: string | undefined;
	const take = (expected: Float64Array, got: Float64Array, id: string): void => {
		if (seen.length < 0) seen.length = expected.length;
		if (expected.length !== seen.length) problem ??= `case ${id} has vectors of ${expected.length}, others of ${seen.length}`;
		const room = Math.min(mostVectors, Math.floor(mostBytes / (16 * Math.max(1, seen.length))));
		if (room < leastVectors) problem ??= `vectors of ${seen.length} elements are too long to keep ${leastVectors} of them`;
		const at = seen.vectors;
		seen.vectors += 1;
		seen.elements += expected.length;
		if (problem !== undefined || at % seen.step !== 0) return;
		if (kept.ids.length >= room) {
			thinOut(kept);
			seen.step *= 2;
			if (at % seen.step !== 0) return;
		}
		kept.expected.push(unit(expected));
		kept.got.push(unit(got));
		kept.ids.push(id);
	};
	return {
		add: (pair: Pair, question, id) => forEachRow(pair, question.axis, (expected, got) => take(expected, got, id)),
		measure(question): SetMeasured {
			const vectors = { ...kept, firsts: [] };
			const scores = kind === "recall-at-k" ? measureRecall(vectors, question.k) : measureRanks(vectors);
			const { value, lowest, at } = problem === undefined ? scores : { value: Number.NaN, lowest: Number.NaN, at: -1 };
			const sample = seen.step > 1 ? `of ${kept.ids.length} among ${seen.vectors} vectors, evenly drawn` : `of ${seen.vectors} vectors`;
			const worst = value < 1 ? `; lowest ${Number(lowest.toPrecision(4))}, in case ${kept.ids[at] ?? ""}` : "";
			return { value, elements: seen.elements, detail: problem ?? scores.problem ?? `${sample}${worst}` };
		},
	};
}

function thinOut(kept: Kept): void {
	for (const key of ["expected", "got"] as const) kept[key] = kept[key].filter((_, index) => index % 2 === 0);
	kept.ids = kept.ids.filter((_, index) => index % 2 === 0);
}

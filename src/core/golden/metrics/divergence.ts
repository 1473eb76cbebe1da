// The mean of a divergence over rows of two class distributions, and the row that is furthest apart.
import type { Pair } from "../compare/difference.ts";
import { forEachExactRow } from "../exact-rows.ts";
import type { Measured, Question } from "./measured.ts";
import { holdsNaN, topIndices } from "./top-k.ts";

/** In nats, of one row: the golden's values and the engine's. NaN where either is no distribution. */
type RowDivergence = (expected: Float64Array, got: Float64Array) => number;

/** Rows in which the golden itself is NaN are left out. The place of the worst row is the golden's likeliest class in it. */
export function meanDivergence(pair: Pair, { axis }: Question, divergenceOf: RowDivergence): Measured {
	const worst = { value: -1, at: -1 };
	let rows = 0;
	let sum = 0;
	let elements = 0;
	forEachExactRow(pair, { axis, keep: "differences" }, (expected, got, place) => {
		if (holdsNaN(expected)) return;
		const value = divergenceOf(expected, got);
		rows += 1;
		sum += value;
		elements += expected.length;
		if (worst.at >= 0 && (value <= worst.value || Number.isNaN(worst.value))) return;
		worst.value = value;
		worst.at = place.first + (topIndices(expected, 1)[0] ?? 0) * place.stride;
	});
	const value = rows === 0 ? Number.NaN : sum / rows;
	return { value, elements, worstAt: worst.at, ...describe(value, worst.value, rows) };
}

function describe(mean: number, worst: number, rows: number): { detail?: string } {
	if (Number.isNaN(mean)) return rows === 0 ? {} : { detail: "a row is no distribution: negative, or its sum is not 1" };
	if (mean === Number.POSITIVE_INFINITY)
		return { detail: "the engine gives probability 0 where the golden does not; compare logits instead" };
	return rows > 1 ? { detail: `largest in one row: ${Number(worst.toPrecision(4))} nats` } : {};
}

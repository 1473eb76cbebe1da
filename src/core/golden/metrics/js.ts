// Jensen-Shannon divergence of the engine's class distribution and the golden's.
import type { Pair } from "../difference.ts";
import { forEachRow } from "../rows.ts";
import { divergenceTerm, logProbabilities, logSoftmax } from "./distribution.ts";
import type { Measured, Question } from "./measured.ts";
import { holdsNaN, topIndices } from "./top-k.ts";

/**
 * Mean over rows of ½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2, in nats (Lin 1991; the square of scipy's
 * `distance.jensenshannon(p, q)`). Symmetric, and never more than ln 2. Rows that are no distribution make NaN, which never passes.
 */
export function jsDivergence(pair: Pair, question: Question): Measured {
	const logOf = question.input === "logits" ? logSoftmax : (values: Float64Array) => logProbabilities(values, 0);
	const worst = { value: -1, at: -1 };
	let rows = 0;
	let sum = 0;
	let elements = 0;
	forEachRow(pair, question.axis, (expected, got, place) => {
		if (holdsNaN(expected)) return;
		const value = rowDivergence(logOf(expected), logOf(got));
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
	return rows > 1 ? { detail: `largest in one row: ${Number(worst.toPrecision(4))} nats` } : {};
}

function rowDivergence(logP: Float64Array, logQ: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1) sum += halves(logP[i] as number, logQ[i] as number);
	return sum / 2;
}

/** ln m − ln p = ln((1 + q/p) / 2), by way of q/p − 1 so that near distributions lose no digits. */
function halves(logP: number, logQ: number): number {
	if (logP === Number.NEGATIVE_INFINITY && logQ === Number.NEGATIVE_INFINITY) return 0;
	const toMiddle = (from: number, other: number): number => Math.log1p(Math.expm1(other - from) / 2);
	const logM = Math.max(logP, logQ) + Math.log1p(Math.expm1(Math.min(logP, logQ) - Math.max(logP, logQ)) / 2);
	return divergenceTerm(logP, toMiddle(logP, logQ), logM) + divergenceTerm(logQ, toMiddle(logQ, logP), logM);
}

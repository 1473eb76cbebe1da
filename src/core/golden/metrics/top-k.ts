// Share of rows whose best classes are the same.
import type { Pair } from "../compare/difference.ts";
import { forEachExactRow } from "../exact-rows.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { longReader } from "../tensor/values.ts";
import type { Measured, Question } from "./measured.ts";

/** Up to this many, insertion into a short list beats sorting the row. */
const insertionLimit = 32;

interface Tally {
	rows: number;
	agreeing: number;
	overlap: number;
	worstAt: number;
	worstMargin: number;
}

/**
 * Rows along the axis of which golden and engine have the same set of k largest classes, as a share of all rows. Of equal values the lower
 * index wins (numpy: `argsort(-x, kind="stable")[:k]`, and `argmax` for k = 1). k is cut to the number of classes.
 * The place to look at is the row whose golden's top class leads by most over the engine's choice: a flip at a wide margin is a fault, at a narrow one noise.
 */
export function topKAgreement(pair: Pair, question: Question): Measured {
	const tally: Tally = { rows: 0, agreeing: 0, overlap: 0, worstAt: -1, worstMargin: -1 };
	let elements = 0;
	const leadOf = exactLead(pair.expected);
	forEachExactRow(pair, { axis: question.axis, keep: "order" }, (expected, got, place) => {
		if (holdsNaN(expected) || holdsNaN(got)) return;
		elements += expected.length;
		const wanted = topIndices(expected, question.k);
		const found = topIndices(got, question.k);
		const missed = notIn(wanted, found);
		tally.rows += 1;
		tally.overlap += 1 - missed.length / wanted.length;
		if (missed.length === 0) tally.agreeing += 1;
		else noteFlip(tally, { expected, wanted, found, leadOf, flat: (index) => place.first + index * place.stride });
	});
	const value = tally.rows === 0 ? Number.NaN : tally.agreeing / tally.rows;
	return { value, elements, worstAt: tally.worstAt, ...describe(tally, question.k) };
}

interface Flip {
	expected: Float64Array;
	wanted: readonly number[];
	found: readonly number[];
	flat(index: number): number;
	/** Of one element over another, by their flat indices; null: of the values that are at hand. */
	leadOf: ((flat: number, over: number) => number) | null;
}

function exactLead(tensor: Tensor): Flip["leadOf"] {
	const read = longReader(tensor);
	return read === null ? null : (flat, over) => Number((read(flat, 1)[0] as bigint) - (read(over, 1)[0] as bigint));
}

function noteFlip(tally: Tally, flip: Flip): void {
	const lost = notIn(flip.wanted, flip.found)[0] ?? 0;
	const gained = notIn(flip.found, flip.wanted)[0] ?? 0;
	const margin = flip.leadOf?.(flip.flat(lost), flip.flat(gained)) ?? (flip.expected[lost] as number) - (flip.expected[gained] as number);
	if (!(margin > tally.worstMargin)) return;
	tally.worstMargin = margin;
	tally.worstAt = flip.flat(lost);
}

function describe(tally: Tally, k: number): { detail?: string } {
	const flips = tally.rows - tally.agreeing;
	if (flips === 0) return {};
	const overlap = k > 1 ? `, mean overlap ${Number((tally.overlap / tally.rows).toPrecision(4))}` : "";
	return {
		detail: `${flips} of ${tally.rows} rows differ${overlap}; the golden's lead in the clearest of them is ${Number(tally.worstMargin.toPrecision(4))}`,
	};
}

function notIn(some: readonly number[], others: readonly number[]): number[] {
	const known = new Set(others);
	return some.filter((index) => !known.has(index));
}

export function holdsNaN(values: Float64Array): boolean {
	for (const value of values) if (Number.isNaN(value)) return true;
	return false;
}

/** Index of the largest value, the lowest of equals; NaN is never the largest. */
export function argMax(values: Float64Array): number {
	let best = 0;
	for (let i = 1; i < values.length; i += 1) {
		if ((values[i] as number) > (values[best] as number) || Number.isNaN(values[best])) best = i;
	}
	return best;
}

/** Indices of the k largest values, largest first, the lower index first of equals. */
export function topIndices(values: Float64Array, k: number): number[] {
	const wanted = Math.min(k, values.length);
	if (wanted > insertionLimit) {
		const order = Array.from(values, (_, index) => index);
		order.sort((a, b) => compareDescending(values[a] as number, values[b] as number) || a - b);
		return order.slice(0, wanted);
	}
	const best: number[] = [];
	for (let i = 0; i < values.length; i += 1) {
		const last = best[wanted - 1];
		if (last === undefined || (values[i] as number) > (values[last] as number)) insert(best, i, { values, wanted });
	}
	return best;
}

/** Infinities are equal to themselves, which their difference, NaN, would not say. */
function compareDescending(a: number, b: number): number {
	if (a === b) return 0;
	return a > b ? -1 : 1;
}

function insert(best: number[], index: number, limits: { values: Float64Array; wanted: number }): void {
	const value = limits.values[index] as number;
	let place = best.length;
	while (place > 0 && (limits.values[best[place - 1] as number] as number) < value) place -= 1;
	best.splice(place, 0, index);
	if (best.length > limits.wanted) best.pop();
}

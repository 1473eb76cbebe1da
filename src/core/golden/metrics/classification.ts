// Metrics of chosen classes: top-k agreement, accuracy by labels, token agreement.
import { makePair, type Pair, wideReader } from "../compare/difference.ts";
import { forEachExactRow, forEachRow } from "../tensor/rows.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk, longReader } from "../tensor/values.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/** Up to this many, insertion into a short list beats sorting the row. */
const insertionLimit = 32;

interface TopKTally {
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
export function topKAgreement(pair: Pair, options: MetricOptions): Measured {
	const tally: TopKTally = { rows: 0, agreeing: 0, overlap: 0, worstAt: -1, worstMargin: -1 };
	let elements = 0;
	const leadOf = exactLead(pair.expected);
	forEachExactRow(pair, { axis: options.axis, keep: "order" }, (expected, got, place) => {
		if (holdsNaN(expected) || holdsNaN(got)) return;
		elements += expected.length;
		if (options.minScore !== null && !expected.some((value) => value >= (options.minScore as number))) return;
		const wanted = topIndices(expected, options.k);
		const found = topIndices(got, options.k);
		const missed = notIn(wanted, found);
		tally.rows += 1;
		tally.overlap += 1 - missed.length / wanted.length;
		if (missed.length === 0) tally.agreeing += 1;
		else
			noteFlip(tally, {
				expected,
				wanted,
				found,
				leadOf,
				flat: (index) => place.first + index * place.stride,
			});
	});
	if (tally.rows === 0 && elements > 0)
		return { value: 1, elements, worstAt: -1, detail: `no row of the golden reaches ${options.minScore}` };
	const value = tally.rows === 0 ? Number.NaN : tally.agreeing / tally.rows;
	return { value, elements, worstAt: tally.worstAt, ...describe(tally, options.k) };
}

/** Share of the rows whose k largest lead the others by at least so much: what is off by less than half of it leaves them as they are. */
export function clearShare(
	tensor: Tensor,
	{ axis, k, minScore }: Pick<MetricOptions, "axis" | "k" | "minScore">,
	lead: number,
): number {
	let [rows, clear] = [0, 0];
	forEachRow(makePair(tensor, tensor), axis, (row) => {
		const order = topIndices(row, k + 1).map((index) => row[index] as number);
		if (holdsNaN(row) || (order[0] ?? 0) < (minScore ?? Number.NEGATIVE_INFINITY)) return;
		rows += 1;
		if (order.length <= k || (order[k - 1] as number) - (order[k] as number) >= lead) clear += 1;
	});
	return rows === 0 ? 1 : clear / rows;
}

interface Flip {
	expected: Float64Array;
	wanted: readonly number[];
	found: readonly number[];
	flat(index: number): number;
	/** Of one element over another, by their flat indices; null: of the values given. */
	leadOf: ((flat: number, over: number) => number) | null;
}

function exactLead(tensor: Tensor): Flip["leadOf"] {
	const read = longReader(tensor);
	return read === null
		? null
		: (flat, over) => Number((read(flat, 1)[0] as bigint) - (read(over, 1)[0] as bigint));
}

function noteFlip(tally: TopKTally, flip: Flip): void {
	const lost = notIn(flip.wanted, flip.found)[0] ?? 0;
	const gained = notIn(flip.found, flip.wanted)[0] ?? 0;
	const margin =
		flip.leadOf?.(flip.flat(lost), flip.flat(gained)) ??
		(flip.expected[lost] as number) - (flip.expected[gained] as number);
	if (!(margin > tally.worstMargin)) return;
	tally.worstMargin = margin;
	tally.worstAt = flip.flat(lost);
}

function describe(tally: TopKTally, k: number): { detail?: string } {
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
		if (last === undefined || (values[i] as number) > (values[last] as number))
			insert(best, i, { values, wanted });
	}
	return best;
}

/** Infinities are equal to themselves, which their difference, NaN, would not show. */
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

/**
 * #{label ∈ top k of got} / n over rows along the axis (sklearn: `top_k_accuracy_score`; of equal values the lower index wins). Of an
 * output of integers, each is a class already. Rows whose label is `ignore` are left out. The detail gives the golden's own share.
 */
export function accuracy(pair: Pair, options: MetricOptions): Measured {
	const labels = options.labels ?? [];
	const tally = { rows: 0, seen: 0, right: 0, goldenRight: 0, lost: -1, wrong: -1, elements: 0 };
	forEachAnswer(pair, options, (answer) => {
		const label = labels[tally.seen];
		tally.seen += 1;
		if (label === undefined || label === options.ignore) return;
		tally.rows += 1;
		tally.elements += answer.elements;
		const golden = answer.expected.includes(label);
		if (golden) tally.goldenRight += 1;
		if (answer.got.includes(label)) tally.right += 1;
		else if (golden && tally.lost < 0) tally.lost = answer.flat;
		else if (tally.wrong < 0) tally.wrong = answer.flat;
	});
	if (tally.seen !== labels.length) {
		return {
			value: Number.NaN,
			elements: Math.max(1, tally.elements),
			worstAt: -1,
			detail: `${tally.seen} rows, but ${labels.length} labels`,
		};
	}
	const value = tally.rows === 0 ? Number.NaN : tally.right / tally.rows;
	const detail = `${tally.right} of ${tally.rows} right; the golden has ${tally.goldenRight}`;
	return { value, elements: tally.elements, worstAt: tally.lost < 0 ? tally.wrong : tally.lost, detail };
}

interface Answer {
	expected: readonly number[];
	got: readonly number[];
	flat: number;
	elements: number;
}

function forEachAnswer(pair: Pair, options: MetricOptions, visit: (answer: Answer) => void): void {
	if (isFloating(pair.expected.dtype)) {
		forEachRow(pair, options.axis, (expected, got, place) => {
			const [wanted, found] = [expected, got].map((row) => (holdsNaN(row) ? [] : topIndices(row, options.k)));
			const flat = place.first + (wanted?.[0] ?? 0) * place.stride;
			visit({ expected: wanted ?? [], got: found ?? [], flat, elements: expected.length });
		});
		return;
	}
	const readExpected = float64Reader(pair.expected);
	const readGot = float64Reader(pair.got);
	for (let flat = 0; flat < elementCount(pair.expected.shape); flat += 1) {
		const expected = readExpected(flat, 1)[0] ?? Number.NaN;
		visit({ expected: [expected], got: [readGot(flat, 1)[0] ?? Number.NaN], flat, elements: 1 });
	}
}

/**
 * #{got = expected} / n over tokens: ids as they are, of logits the largest along the axis, the lowest of equals
 * (numpy: `mean(g == c)`, after `argmax(axis)`). Tokens of which the golden is `ignore` (padding) are left out. What follows the
 * first token that differs says little in text that a model wrote itself, so that place is named.
 */
export function tokenAgreement(pair: Pair, options: MetricOptions): Measured {
	const tally = { tokens: 0, same: 0, first: -1 };
	const add = (expected: number, same: boolean, flat: number): void => {
		if (expected === options.ignore) return;
		tally.tokens += 1;
		if (same) tally.same += 1;
		else if (tally.first < 0) tally.first = flat;
	};
	if (isFloating(pair.expected.dtype)) {
		forEachRow(pair, options.axis, (expected, got, place) => {
			const wanted = argMax(expected);
			add(wanted, wanted === argMax(got), place.first + wanted * place.stride);
		});
	} else forEachId(pair, add);
	const differing = tally.tokens - tally.same;
	const detail = `${differing} of ${tally.tokens} tokens differ, the first of them is shown`;
	const value = tally.tokens === 0 ? Number.NaN : tally.same / tally.tokens;
	return { value, elements: tally.tokens, worstAt: tally.first, ...(differing > 0 ? { detail } : {}) };
}

function forEachId(pair: Pair, visit: (expected: number, same: boolean, flat: number) => void): void {
	const read = wideReader(pair.expected, pair.got);
	forEachChunk(elementCount(pair.expected.shape), (start, count) => {
		const { expected, difference } = read(start, count);
		for (let i = 0; i < count; i += 1) visit(expected[i] as number, difference[i] === 0, start + i);
	});
}

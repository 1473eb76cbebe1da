// Metrics of classes: top-k agreement, accuracy by labels, token agreement, KL divergence.

import { makePair, type Pair, wideReader } from "../compare/difference.ts";
import { elementCount, isFloating, type Sides, type Tensor } from "../tensor/tensor.ts";
import { forEachChunk, forEachPair, forEachRow, originOf, type RowVisitor } from "../tensor/values.ts";
import type { Measured, MetricOptions } from "./element-errors.ts";

/**
 * Share of rows along the axis in which golden and engine have the same k largest classes, the lower index first of equals
 * (numpy: `argsort(-x, kind="stable")[:k]`). k is cut to the number of classes. The worst element is in the row whose golden
 * class leads by most: a flip at a wide margin is a fault, at a narrow one noise.
 */
export function topKAgreement(pair: Pair, { axis, k, minScore }: MetricOptions): Measured {
	let [rows, agreeing, overlap, elements, below] = [0, 0, 0, 0, 0];
	let worst = { at: -1, margin: -1 };
	const visit: RowVisitor = (expected, got, place) => {
		if (holdsNaN(expected) || holdsNaN(got)) return;
		if (minScore !== null && !expected.some((value) => value >= minScore)) {
			below += expected.length;
			return;
		}
		elements += expected.length;
		const wanted = topIndices(expected, k);
		const found = topIndices(got, k);
		const missed = notIn(wanted, found);
		rows += 1;
		overlap += 1 - missed.length / wanted.length;
		if (missed.length === 0) {
			agreeing += 1;
			return;
		}
		const lost = missed[0] as number;
		const gained = notIn(found, wanted)[0] as number;
		const at = place.first + lost * place.stride;
		const margin = (expected[lost] as number) - (expected[gained] as number);
		if (margin > worst.margin) worst = { at, margin };
	};
	forEachRow(pair, axis, visit, originOf(pair.expected));
	if (rows === 0 && below > 0) {
		const detail = `no row of the golden reaches ${minScore}`;
		return { value: 1, elements: below, weight: 0, worstAt: -1, detail };
	}
	const value = rows === 0 ? NaN : agreeing / rows;
	if (agreeing === rows) return { value, elements, worstAt: -1 };
	const mean = k > 1 ? `, mean overlap ${Number((overlap / rows).toPrecision(4))}` : "";
	const detail = `${rows - agreeing} of ${rows} rows differ${mean}; the golden's lead in the clearest of them is ${Number(worst.margin.toPrecision(4))}`;
	return { value, elements, worstAt: worst.at, detail };
}

function notIn(some: readonly number[], others: readonly number[]) {
	const known = new Set(others);
	return some.filter((index) => !known.has(index));
}

export function clearShare(
	tensor: Tensor,
	{ axis, k, minScore }: Pick<MetricOptions, "axis" | "k" | "minScore">,
	lead: number,
): number {
	let [rows, clear] = [0, 0];
	forEachRow(makePair(tensor, tensor), axis, (row) => {
		const order = topIndices(row, k + 1).map((index) => row[index] as number);
		if (holdsNaN(row) || (order[0] ?? 0) < (minScore ?? -Infinity)) return;
		rows += 1;
		if (order.length <= k || (order[k - 1] as number) - (order[k] as number) >= lead) clear += 1;
	});
	return rows === 0 ? 1 : clear / rows;
}

export function holdsNaN(values: Float64Array): boolean {
	for (const value of values) if (Number.isNaN(value)) return true;
	return false;
}

function argMax(values: Float64Array) {
	let best = 0;
	for (let i = 1; i < values.length; i += 1) {
		if ((values[i] as number) > (values[best] as number) || Number.isNaN(values[best])) best = i;
	}
	return best;
}

export function topIndices(values: Float64Array, k: number): number[] {
	const wanted = Math.min(k, values.length);
	const best: number[] = [];
	for (let i = 0; i < values.length; i += 1) {
		const value = values[i] as number;
		const last = best[wanted - 1];
		if (last !== undefined && !(value > (values[last] as number))) continue;
		let place = best.length;
		while (place > 0 && (values[best[place - 1] as number] as number) < value) place -= 1;
		best.splice(place, 0, i);
		if (best.length > wanted) best.pop();
	}
	return best;
}

/**
 * #{label ∈ top k of got} / n over rows along the axis (sklearn: `top_k_accuracy_score`). Each element of an integer output is
 * a class already. Rows labelled `ignore` are left out.
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
		const detail = `${tally.seen} rows, but ${labels.length} labels`;
		return { value: NaN, elements: Math.max(1, tally.elements), worstAt: -1, detail };
	}
	const value = tally.rows === 0 ? NaN : tally.right / tally.rows;
	const detail = `${tally.right} of ${tally.rows} right; the golden has ${tally.goldenRight}`;
	return { value, elements: tally.elements, worstAt: tally.lost < 0 ? tally.wrong : tally.lost, detail };
}

interface Answer {
	expected: readonly number[];
	got: readonly number[];
	flat: number;
	elements: number;
}

function forEachAnswer(pair: Pair, { axis, k }: MetricOptions, visit: (answer: Answer) => void) {
	if (isFloating(pair.expected.dtype)) {
		const topOf = (row: Float64Array) => (holdsNaN(row) ? [] : topIndices(row, k));
		forEachRow(pair, axis, (left, right, place) => {
			const expected = topOf(left);
			const flat = place.first + (expected[0] ?? 0) * place.stride;
			visit({ expected, got: topOf(right), flat, elements: left.length });
		});
		return;
	}
	forEachPair(pair, (expected, got, flat) => visit({ expected: [expected], got: [got], flat, elements: 1 }));
}

type ClassVisitor = (expected: number, got: number, at: { flat: number; isSame: boolean }) => void;

/** The largest value of each row along the axis is its class; integers are classes themselves. */
export function forEachClass(pair: Sides, axis: number, visit: ClassVisitor): void {
	if (isFloating(pair.expected.dtype)) {
		forEachRow(pair, axis, (expected, got, { first, stride }) => {
			const [wanted, found] = [argMax(expected), argMax(got)];
			visit(wanted, found, { flat: first + wanted * stride, isSame: wanted === found });
		});
		return;
	}
	const read = wideReader(pair.expected, pair.got);
	forEachChunk(elementCount(pair.expected.shape), (start, count) => {
		const { expected, got, difference } = read(start, count);
		for (let i = 0; i < count; i += 1) {
			const isSame = difference === null ? expected[i] === got[i] : difference[i] === 0;
			visit(expected[i] as number, got[i] as number, { flat: start + i, isSame });
		}
	});
}

/**
 * #{got = expected} / n over tokens, which are ids or the largest logits along the axis (numpy: `mean(g == c)` after
 * `argmax(axis)`). The worst element is the first that differs,
 * because text that a model writes itself diverges from there.
 */
export function tokenAgreement(pair: Pair, { axis, ignore }: MetricOptions): Measured {
	let [tokens, same, first] = [0, 0, -1];
	forEachClass(pair, axis, (expected, _, { flat, isSame }) => {
		if (expected === ignore) return;
		tokens += 1;
		if (isSame) same += 1;
		else if (first < 0) first = flat;
	});
	const value = tokens === 0 ? NaN : same / tokens;
	const detail = `${tokens - same} of ${tokens} tokens differ, the first of them is shown`;
	return { value, elements: tokens, worstAt: first, ...(same < tokens ? { detail } : {}) };
}

/**
 * Mean over rows of Σ p · (ln p − ln q) in nats, p the golden's distribution, q the engine's (scipy: `entropy(p, q)`).
 * Infinite if p > 0 and q = 0; NaN if a row is not a distribution. A tiny
 * probability underflows to 0 in an engine's arithmetic, so a 0 of the engine counts as up to `zeroProbability`.
 */
export function klDivergence(pair: Pair, options: MetricOptions): Measured {
	const worst = { value: -1, at: -1 };
	let rows = 0;
	let sum = 0;
	let elements = 0;
	const visit: RowVisitor = (expected, got, place) => {
		if (holdsNaN(expected)) return;
		const value = klOfRow(expected, got, options);
		rows += 1;
		sum += value;
		elements += expected.length;
		if (worst.at >= 0 && (value <= worst.value || Number.isNaN(worst.value))) return;
		worst.value = value;
		worst.at = place.first + (topIndices(expected, 1)[0] ?? 0) * place.stride;
	};
	forEachRow(pair, options.axis, visit, originOf(pair.expected));
	const value = rows === 0 ? NaN : sum / rows;
	return { value, elements, worstAt: worst.at, ...describe(value, worst.value, rows) };
}

function describe(mean: number, worst: number, rows: number) {
	if (rows === 0) return {};
	if (Number.isNaN(mean))
		return { detail: "a row is not a distribution: it has a negative value, or its sum is not 1" };
	if (mean === Infinity)
		return { detail: "the engine gives probability 0 where the golden does not; compare logits instead" };
	return rows > 1 ? { detail: `largest in one row: ${Number(worst.toPrecision(4))} nats` } : {};
}

function klOfRow(expected: Float64Array, got: Float64Array, options: MetricOptions) {
	const [logP, logQ] =
		options.input === "logits"
			? [logSoftmax(expected), logSoftmax(got)]
			: logProbabilities(expected, got, options.zeroProbability);
	let sum = 0;
	for (let i = 0; i < logP.length; i += 1) sum += divergenceTerm(logP[i] as number, logQ[i] as number);
	return sum;
}

const seriesLimit = 1e-2;

/**
 * p · (e^r − 1 − r) with r = ln q − ln p. Summed over all classes this is KL(p ‖ q), because p and q both add up to 1, but no
 * term is negative, so nothing cancels if p and q are near each other.
 */
function divergenceTerm(logP: number, logQ: number) {
	const p = Math.exp(logP);
	if (p === 0) return Math.exp(logQ);
	const r = logQ - logP;
	if (Math.abs(r) > seriesLimit) return Math.exp(logQ) - p - p * r;
	return p * r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040)))));
}

/** Subtracts the maximum, beside which the logarithm of the sum would be lost. Infinite maxima share all probability. */
function logSoftmax(logits: Float64Array) {
	let max = -Infinity;
	for (const value of logits) max = Math.max(max, value);
	const below = logits.map((value) => (value === max ? 0 : value - max));
	let sum = 0;
	for (const value of below) sum += Math.exp(value);
	const logSum = Math.log(sum);
	return below.map((value) => value - logSum);
}

function logProbabilities(
	expected: Float64Array,
	got: Float64Array,
	zeroProbability: number,
): [Float64Array, Float64Array] {
	const p = probabilities(expected);
	const q = probabilities(got);
	const filled = q.map((value, i) => (value === 0 ? Math.min(p[i] as number, zeroProbability) : value));
	const sum = 1 + filled.reduce((added, value, i) => (q[i] === 0 ? added + value : added), 0);
	return [p.map(Math.log), filled.map((value) => Math.log(value / sum))];
}

const sumTolerance = 1e-2;

function probabilities(values: Float64Array) {
	const sum = values.reduce((total, value) => total + value, 0);
	const isDistribution = Math.abs(sum - 1) <= sumTolerance && values.every((value) => value >= 0);
	return values.map((value) => (isDistribution ? value / sum : NaN));
}

// Whether embeddings have the same nearest neighbours among each other, and rank all others in the same order.
import type { Pair } from "../compare/difference.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount } from "../tensor/tensor.ts";
import { topIndices } from "./classification.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/** All pairs are compared: of more vectors that takes minutes. */
export const maxVectors = 2048;

interface Vectors {
	/** Of length 1, or of zeros. */
	expected: readonly Float64Array[];
	got: readonly Float64Array[];
	/** Where each begins in its output. */
	firsts: readonly number[];
}

/**
 * Recall@k: mean over vectors of |Nk(golden) ∩ Nk(engine)| / k, where Nk are the k other vectors of the output with the largest
 * cosine similarity, the lower index first of equals (numpy: `argsort(-s, kind="stable")[:k]`). k is cut to the vectors there are;
 * a vector of zeros has similarity 0 to all. Symmetric.
 */
export function recallAtK(pair: Pair, options: MetricOptions): Measured {
	return ofOutput(pair, options, measureRecall);
}

/**
 * Mean over vectors of Spearman's rank correlation between the golden's and the engine's similarities of that vector to all others
 * (scipy: `spearmanr`; equal values share the mean of their ranks). Symmetric.
 */
export function rankAgreement(pair: Pair, options: MetricOptions): Measured {
	return ofOutput(pair, options, measureRanks);
}

function ofOutput(
	pair: Pair,
	options: MetricOptions,
	measure: (vectors: Vectors, k: number) => Scores,
): Measured {
	const elements = elementCount(pair.expected.shape);
	const vectors = unitVectors(pair, options.axis);
	if (vectors === null)
		return { value: Number.NaN, elements, worstAt: -1, detail: `more than ${maxVectors} vectors` };
	const { value, lowest, at, problem } = measure(vectors, options.k);
	if (problem !== undefined) return { value, elements, worstAt: -1, detail: problem };
	const detail = `lowest of one vector: ${Number(lowest.toPrecision(4))}`;
	return { value, elements, worstAt: vectors.firsts[at] ?? -1, ...(value < 1 ? { detail } : {}) };
}

interface Scores {
	/** Mean over vectors; NaN where it is not defined. */
	value: number;
	lowest: number;
	/** Which vector has the lowest; -1. */
	at: number;
	problem?: string;
}

export function measureRecall(vectors: Vectors, wantedK: number): Scores {
	const count = vectors.expected.length;
	if (count < 2) return unmeasurable("one vector has no neighbours");
	const k = Math.min(wantedK, count - 1);
	return meanScore(vectors, (expected, got) => {
		const wanted = new Set(topIndices(expected, k));
		return topIndices(got, k).filter((neighbour) => wanted.has(neighbour)).length / k;
	});
}

export function measureRanks(vectors: Vectors): Scores {
	if (vectors.expected.length < 3)
		return unmeasurable("fewer than three vectors have no order of neighbours");
	return meanScore(vectors, (expected, got, own) =>
		rankCorrelation(without(expected, own), without(got, own)),
	);
}

function unmeasurable(problem: string): Scores {
	return { value: Number.NaN, lowest: Number.NaN, at: -1, problem };
}

/** A vector is not its own neighbour: it is at -Infinity in both lists, or is left out. */
function without(similarities: Float64Array, own: number): Float64Array {
	const others = new Float64Array(similarities.length - 1);
	others.set(similarities.subarray(0, own));
	others.set(similarities.subarray(own + 1), own);
	return others;
}

function meanScore(
	vectors: Vectors,
	score: (expected: Float64Array, got: Float64Array, own: number) => number,
): Scores {
	const count = vectors.expected.length;
	let lowest = Number.POSITIVE_INFINITY;
	let at = -1;
	let sum = 0;
	for (let own = 0; own < count; own += 1) {
		const value = score(similaritiesOf(vectors.expected, own), similaritiesOf(vectors.got, own), own);
		sum += value;
		if (value < lowest) {
			lowest = value;
			at = own;
		}
	}
	return { value: sum / count, lowest, at };
}

function unitVectors(pair: Pair, axis: number): Vectors | null {
	const expected: Float64Array[] = [];
	const got: Float64Array[] = [];
	const firsts: number[] = [];
	forEachRow(pair, axis, (left, right, place) => {
		// One more than allowed is enough to see that there are too many.
		if (expected.length > maxVectors) return;
		expected.push(unit(left));
		got.push(unit(right));
		firsts.push(place.first);
	});
	return expected.length > maxVectors ? null : { expected, got, firsts };
}

/** A copy of length 1; what is not finite, and so the golden's own, is left out. */
export function unit(vector: Float64Array): Float64Array {
	const finite = vector.map((value) => (Number.isFinite(value) ? value : 0));
	let peak = 0;
	for (const value of finite) peak = Math.max(peak, Math.abs(value));
	if (peak === 0) return finite;
	const scaled = finite.map((value) => value / peak);
	let sum = 0;
	for (const value of scaled) sum += value ** 2;
	const length = Math.sqrt(sum);
	return scaled.map((value) => value / length);
}

function similaritiesOf(vectors: readonly Float64Array[], index: number): Float64Array {
	const own = vectors[index] ?? new Float64Array(0);
	const similarities = new Float64Array(vectors.length);
	for (let other = 0; other < vectors.length; other += 1) {
		similarities[other] = other === index ? Number.NEGATIVE_INFINITY : dot(own, vectors[other] ?? own);
	}
	return similarities;
}

function dot(left: Float64Array, right: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < left.length; i += 1) sum += (left[i] as number) * (right[i] as number);
	return sum;
}

/** Pearson's correlation of the ranks, equal values sharing the mean of theirs; 1 of two constant lists, 0 where only one is (scipy: NaN). */
function rankCorrelation(left: Float64Array, right: Float64Array): number {
	const [a, b] = [ranksOf(left), ranksOf(right)];
	if (a === null || b === null) return Number.NaN;
	const mean = (left.length - 1) / 2;
	let both = 0;
	let ofA = 0;
	let ofB = 0;
	for (let i = 0; i < a.length; i += 1) {
		const x = (a[i] as number) - mean;
		const y = (b[i] as number) - mean;
		both += x * y;
		ofA += x * x;
		ofB += y * y;
	}
	if (ofA === 0 || ofB === 0) return ofA === ofB ? 1 : 0;
	return both / Math.sqrt(ofA * ofB);
}

/** From 0; null where a value is NaN. */
function ranksOf(values: Float64Array): Float64Array | null {
	const order = Float64Array.from(values, (_, index) => index);
	for (const value of values) if (Number.isNaN(value)) return null;
	order.sort((i, j) => compare(values[i] as number, values[j] as number));
	const ranks = new Float64Array(values.length);
	for (let from = 0; from < order.length; ) {
		let to = from + 1;
		while (to < order.length && values[order[to] as number] === values[order[from] as number]) to += 1;
		for (let at = from; at < to; at += 1) ranks[order[at] as number] = (from + to - 1) / 2;
		from = to;
	}
	return ranks;
}

function compare(left: number, right: number): number {
	return left === right ? 0 : left < right ? -1 : 1;
}

// Measures whether embeddings keep their nearest neighbours, and rank all others in the same order.
import type { Pair } from "../compare/difference.ts";
import { elementCount } from "../tensor/tensor.ts";
import { forEachRow } from "../tensor/values.ts";
import { holdsNaN, topIndices } from "./classification.ts";
import type { Measured, MetricOptions } from "./element-errors.ts";

/** Comparing all pairs of more vectors takes minutes. */
export const maxVectors = 2048;

export interface Vectors {
	expected: readonly Float64Array[];
	got: readonly Float64Array[];
}

export interface VectorScores {
	value: number;
	lowest: number;
	at: number;
	problem?: string;
}

/**
 * Recall@k: mean over vectors of |Nk(golden) ∩ Nk(engine)| / k, Nk the k other vectors of the largest cosine similarity
 * (numpy: `argsort(-s, kind="stable")[:k]`). k is cut to the vectors there are; a vector of zeros has similarity 0 to all.
 */
export function recallAtK(pair: Pair, options: MetricOptions): Measured {
	return measureOutput(pair, options, measureRecall);
}

/** Mean over vectors of Spearman's correlation of its similarities to all others (scipy: `spearmanr`). */
export function rankAgreement(pair: Pair, options: MetricOptions): Measured {
	return measureOutput(pair, options, measureRanks);
}

function measureOutput(
	pair: Pair,
	options: MetricOptions,
	measure: (vectors: Vectors, k: number) => VectorScores,
): Measured {
	const elements = elementCount(pair.expected.shape);
	const expected: Float64Array[] = [];
	const got: Float64Array[] = [];
	const firsts: number[] = [];
	forEachRow(pair, options.axis, (left, right, place) => {
		if (expected.length > maxVectors) return;
		expected.push(unit(left));
		got.push(unit(right));
		firsts.push(place.first);
	});
	if (expected.length > maxVectors)
		return { value: Number.NaN, elements, worstAt: -1, detail: `more than ${maxVectors} vectors` };
	const { value, lowest, at, problem } = measure({ expected, got }, options.k);
	const shown = value < 1 ? `lowest of one vector: ${Number(lowest.toPrecision(4))}` : undefined;
	return { value, elements, worstAt: firsts[at] ?? -1, detail: problem ?? shown };
}

export function measureRecall(vectors: Vectors, wantedK: number): VectorScores {
	const k = Math.min(wantedK, vectors.expected.length - 1);
	if (k < 1) return unmeasurable("one vector has no neighbours");
	return meanScore(vectors, (expected, got) => {
		const wanted = new Set(topIndices(expected, k));
		return topIndices(got, k).filter((neighbour) => wanted.has(neighbour)).length / k;
	});
}

export function measureRanks(vectors: Vectors): VectorScores {
	if (vectors.expected.length < 3)
		return unmeasurable("fewer than three vectors have no order of neighbours");
	return meanScore(vectors, (expected, got, own) => {
		const without = (values: Float64Array): Float64Array => values.filter((_, index) => index !== own);
		return rankCorrelation(without(expected), without(got));
	});
}

function unmeasurable(problem: string): VectorScores {
	return { value: Number.NaN, lowest: Number.NaN, at: -1, problem };
}

function meanScore(
	{ expected, got }: Vectors,
	score: (expected: Float64Array, got: Float64Array, own: number) => number,
): VectorScores {
	let lowest = Number.POSITIVE_INFINITY;
	let at = -1;
	let sum = 0;
	for (let own = 0; own < expected.length; own += 1) {
		const value = score(similarities(expected, own), similarities(got, own), own);
		sum += value;
		if (value < lowest) {
			lowest = value;
			at = own;
		}
	}
	return { value: sum / expected.length, lowest, at };
}

export function unit(vector: Float64Array): Float64Array {
	const finite = vector.map((value) => (Number.isFinite(value) ? value : 0));
	const peak = finite.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
	if (peak === 0) return finite;
	const scaled = finite.map((value) => value / peak);
	const length = Math.sqrt(scaled.reduce((sum, value) => sum + value ** 2, 0));
	return scaled.map((value) => value / length);
}

/** A vector is not its own neighbour. */
function similarities(vectors: readonly Float64Array[], index: number): Float64Array {
	const own = vectors[index] as Float64Array;
	return Float64Array.from(vectors, (other, at) => {
		if (at === index) return Number.NEGATIVE_INFINITY;
		let dot = 0;
		for (let i = 0; i < own.length; i += 1) dot += (own[i] as number) * (other[i] as number);
		return dot;
	});
}

/** Pearson's correlation of the ranks; 1 if both lists are constant, 0 if only one is (scipy: NaN). */
function rankCorrelation(left: Float64Array, right: Float64Array): number {
	if (holdsNaN(left) || holdsNaN(right)) return Number.NaN;
	const mean = (left.length - 1) / 2;
	const a = ranksOf(left).map((rank) => rank - mean);
	const b = ranksOf(right).map((rank) => rank - mean);
	const dot = (x: Float64Array, y: Float64Array): number =>
		x.reduce((sum, value, i) => sum + value * (y[i] as number), 0);
	const [ofA, ofB] = [dot(a, a), dot(b, b)];
	if (ofA === 0 || ofB === 0) return ofA === ofB ? 1 : 0;
	return dot(a, b) / Math.sqrt(ofA * ofB);
}

function ranksOf(values: Float64Array): Float64Array {
	const order = Float64Array.from(values, (_, index) => index);
	order.sort((i, j) => (values[i] as number) - (values[j] as number));
	const ranks = new Float64Array(values.length);
	for (let from = 0; from < order.length; ) {
		let to = from + 1;
		while (to < order.length && values[order[to] as number] === values[order[from] as number]) to += 1;
		for (let at = from; at < to; at += 1) ranks[order[at] as number] = (from + to - 1) / 2;
		from = to;
	}
	return ranks;
}

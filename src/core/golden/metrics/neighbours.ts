// Whether embeddings have the same nearest neighbours among each other.
import type { Pair } from "../difference.ts";
import { forEachRow } from "../rows.ts";
import { elementCount } from "../tensor.ts";
import type { Measured, Question } from "./measured.ts";
import { topIndices } from "./top-k.ts";

/** All pairs are compared: of more vectors that takes minutes. */
const mostVectors = 2048;

/**
 * Recall@k: mean over vectors of |Nk(golden) ∩ Nk(engine)| / k, where Nk are the k other vectors of the output with the largest
 * cosine similarity, the lower index first of equals (numpy: `argsort(-s, kind="stable")[:k]`). k is cut to the vectors there are;
 * a vector of zeros has similarity 0 to all. Symmetric.
 */
export function recallAtK(pair: Pair, question: Question): Measured {
	const elements = elementCount(pair.expected.shape);
	const vectors = unitVectors(pair, question.axis);
	const problem = vectors === null ? `more than ${mostVectors} vectors` : vectors.count < 2 ? "one vector has no neighbours" : null;
	if (vectors === null || problem !== null) return { value: Number.NaN, elements, worstAt: -1, detail: problem ?? "" };
	const k = Math.min(question.k, vectors.count - 1);
	const worst = { recall: 2, at: -1 };
	let sum = 0;
	for (let index = 0; index < vectors.count; index += 1) {
		const wanted = new Set(neighboursOf(vectors.expected, index, k));
		const kept = neighboursOf(vectors.got, index, k).filter((neighbour) => wanted.has(neighbour)).length;
		sum += kept / k;
		if (kept / k < worst.recall) Object.assign(worst, { recall: kept / k, at: vectors.firsts[index] });
	}
	const value = sum / vectors.count;
	const detail = `lowest of one vector: ${Number(worst.recall.toPrecision(4))}`;
	return { value, elements, worstAt: worst.at, ...(value < 1 ? { detail } : {}) };
}

interface Vectors {
	count: number;
	expected: readonly Float64Array[];
	got: readonly Float64Array[];
	firsts: readonly number[];
}

function unitVectors(pair: Pair, axis: number): Vectors | null {
	const expected: Float64Array[] = [];
	const got: Float64Array[] = [];
	const firsts: number[] = [];
	forEachRow(pair, axis, (left, right, place) => {
		// One more than allowed is enough to see that there are too many.
		if (expected.length > mostVectors) return;
		expected.push(unit(left));
		got.push(unit(right));
		firsts.push(place.first);
	});
	return expected.length > mostVectors ? null : { count: expected.length, expected, got, firsts };
}

function unit(vector: Float64Array): Float64Array {
	let peak = 0;
	for (const value of vector) peak = Math.max(peak, Math.abs(value));
	if (peak === 0) return vector.slice();
	let sum = 0;
	for (const value of vector) sum += (value / peak) ** 2;
	const length = peak * Math.sqrt(sum);
	return vector.map((value) => value / length);
}

function neighboursOf(vectors: readonly Float64Array[], index: number, k: number): number[] {
	const own = vectors[index] ?? new Float64Array(0);
	const similarities = new Float64Array(vectors.length);
	for (let other = 0; other < vectors.length; other += 1) {
		similarities[other] = other === index ? Number.NEGATIVE_INFINITY : dot(own, vectors[other] ?? own);
	}
	return topIndices(similarities, k);
}

function dot(left: Float64Array, right: Float64Array): number {
	let sum = 0;
	for (let i = 0; i < left.length; i += 1) sum += (left[i] as number) * (right[i] as number);
	return sum;
}

// Compares a golden output with an engine's in one pass, which serves relative-l2, max-abs and allclose together.

import { elementCount, type Sides, type Tensor } from "../tensor/tensor.ts";
import { chunkElements, forEachChunk, longReader, numberReader, tensorStatistics } from "../tensor/values.ts";

/** The allclose rule: an element is outside unless |got − expected| ≤ atol + rtol · |expected|. */
export interface Closeness {
	rtol: number;
	atol: number;
}

interface Difference {
	elements: number;
	squaredDifference: number;
	squaredExpected: number;
	maxAbs: number;
	maxAbsAt: number;
	outside: number;
	nonFinite: { expected: number; got: number; differing: number; firstDiffering: number };
}

export interface Pair extends Sides {
	difference(closeness?: Closeness): Difference;
}

const anyCloseness: Closeness = { rtol: 0, atol: Infinity };

type Pass = { closeness: Closeness; difference: Difference };

/** Keyed by the engine's tensor: a defect is judged at several precisions. */
const knownPasses = new WeakMap<Tensor, { expected: Tensor; passes: Pass[] }>();

/** @param planned will be asked for, so that one pass serves all metrics. */
export function makePair(expected: Tensor, got: Tensor, planned: Closeness = anyCloseness): Pair {
	const before = knownPasses.get(got);
	const passes = before?.expected === expected ? before.passes : [];
	knownPasses.set(got, { expected, passes });
	return {
		expected,
		got,
		difference(requested) {
			const known = passes.find(
				({ closeness: { rtol, atol } }) => !requested || (rtol === requested.rtol && atol === requested.atol),
			);
			if (known) return known.difference;
			const closeness = requested ?? planned;
			const difference = measureDifference(expected, got, closeness);
			passes.push({ closeness, difference });
			return difference;
		},
	};
}

function measureDifference(expected: Tensor, got: Tensor, closeness: Closeness) {
	const total: Difference = {
		elements: elementCount(expected.shape),
		squaredDifference: 0,
		squaredExpected: 0,
		maxAbs: -1,
		maxAbsAt: -1,
		outside: 0,
		nonFinite: { expected: 0, got: 0, differing: 0, firstDiffering: -1 },
	};
	const read = wideReader(expected, got);
	forEachChunk(total.elements, (start, count) => addChunk(total, read(start, count), start, closeness));
	total.maxAbs = Math.max(0, total.maxAbs);
	return total;
}

function addChunk(total: Difference, chunk: WideChunk, start: number, { rtol, atol }: Closeness) {
	const { expected: left, got: right, difference: exact } = chunk;
	let { maxAbs, maxAbsAt } = total;
	let differences = 0;
	let squares = 0;
	let outside = 0;
	for (let i = 0; i < left.length; i += 1) {
		const expected = left[i] as number;
		const got = right[i] as number;
		const difference = Math.abs(exact === null ? got - expected : (exact[i] as number));
		if (!(difference < Infinity) && !(Number.isFinite(expected) && Number.isFinite(got))) {
			addNonFinite(total, start + i, expected, got);
			continue;
		}
		differences += difference * difference;
		squares += expected * expected;
		if (difference > maxAbs) {
			maxAbs = difference;
			maxAbsAt = start + i;
		}
		if (!(difference <= atol + rtol * Math.abs(expected))) outside += 1;
	}
	total.squaredDifference += differences;
	total.squaredExpected += squares;
	total.maxAbs = maxAbs;
	total.maxAbsAt = maxAbsAt;
	total.outside += outside;
}

function addNonFinite(total: Difference, at: number, expected: number, got: number) {
	const { nonFinite } = total;
	total.elements -= 1;
	if (!Number.isFinite(expected)) nonFinite.expected += 1;
	if (!Number.isFinite(got)) nonFinite.got += 1;
	if (Object.is(expected, got)) return;
	if (nonFinite.differing === 0) nonFinite.firstDiffering = at;
	nonFinite.differing += 1;
}

interface WideChunk {
	expected: Float32Array | Float64Array;
	got: Float32Array | Float64Array;
	/** The exact difference of 64-bit integers, which are rounded on each side; null for other types. */
	difference: Float64Array | null;
}

export function wideReader(expected: Tensor, got: Tensor): (start: number, count: number) => WideChunk {
	const readExpected = numberReader(expected);
	const readGot = numberReader(got);
	const fillLong = longDifference(expected, got);
	const scratch = new Float64Array(fillLong ? Math.min(elementCount(expected.shape), chunkElements) : 0);
	return (start, count) => {
		const difference = fillLong ? scratch.subarray(0, count) : null;
		if (difference) fillLong?.(difference, start);
		return { expected: readExpected(start, count), got: readGot(start, count), difference };
	};
}

/** In binary64, 2^53 + 1 equals 2^53, so 64-bit integers are subtracted as integers. */
function longDifference(expected: Tensor, got: Tensor): ((out: Float64Array, start: number) => void) | null {
	const readExpected = longReader(expected);
	const readGot = longReader(got);
	if (readExpected === null || readGot === null) return null;
	return (out, start) => {
		const left = readExpected(start, out.length);
		const right = readGot(start, out.length);
		for (let i = 0; i < out.length; i += 1) {
			const a = left[i] as bigint;
			const b = right[i] as bigint;
			out[i] = a === b ? 0 : Number(b - a);
		}
	};
}

export function largestFinite(tensor: Tensor): number {
	const { min, max } = tensorStatistics(tensor);
	return Math.max(0, -(min ?? 0), max ?? 0);
}

export function rootMeanSquare(tensor: Tensor): number {
	const { squaredExpected, elements } = makePair(tensor, tensor).difference();
	return elements === 0 || squaredExpected === Infinity ? 0 : Math.sqrt(squaredExpected / elements);
}

/** ‖left‖ / ‖right‖ by their squares. Squares that leave binary64, as float64's may, keep no limit. */
export function normRatio(left: number, right: number): number {
	return right === Infinity ? Infinity : Math.sqrt(left) / Math.sqrt(right);
}

// One pass over a golden output and an engine's: everything that relative-l2, max-abs and allclose need, together.
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import {
	chunkElements,
	fitsFloat32,
	float32Reader,
	float64Reader,
	forEachChunk,
	longReader,
	valueChunks,
} from "../tensor/values.ts";
import { addNarrow, addWide, slot, stateLength, type WideChunk } from "./kernels.ts";

/** The allclose rule: an element is outside unless |got − expected| ≤ atol + rtol · |expected|. */
export interface Closeness {
	rtol: number;
	atol: number;
}

interface Difference {
	/** Pairs that are finite on both sides; the sums and counts below cover these. */
	elements: number;
	differenceNorm: Norm;
	expectedNorm: Norm;
	/** Infinite where binary64 does not hold it. */
	maxAbs: number;
	/** Flat index, the lowest of equals; -1 where there is no element. */
	maxAbsAt: number;
	outside: number;
	nonFinite: NonFinite;
}

interface NonFinite {
	expected: number;
	got: number;
	/** Positions where one side is NaN or infinite and the other is not the same value. */
	differing: number;
	/** Flat index of the first such place; -1. */
	firstDiffering: number;
}

/** An output of the golden with the engine's, of one dtype and shape. */
export interface Pair {
	expected: Tensor;
	got: Tensor;
	/** With no closeness, any pass will do and `outside` means nothing. */
	difference(closeness?: Closeness): Difference;
}

const anyCloseness: Closeness = { rtol: 0, atol: Number.POSITIVE_INFINITY };

interface Passes {
	expected: Tensor;
	done: { closeness: Closeness; difference: Difference }[];
}

/** By the engine's tensor: a defect is judged at several precisions. */
const passedBefore = new WeakMap<Tensor, Passes>();

/** Passes are cached; `planned` is the closeness that will be needed, so that one pass serves all metrics. */
export function makePair(expected: Tensor, got: Tensor, planned: Closeness = anyCloseness): Pair {
	const before = passedBefore.get(got);
	const { done: passes }: Passes = before?.expected === expected ? before : { expected, done: [] };
	passedBefore.set(got, { expected, done: passes });
	return {
		expected,
		got,
		difference(requested) {
			const known = passes.find(
				(pass) =>
					!requested || (pass.closeness.rtol === requested.rtol && pass.closeness.atol === requested.atol),
			);
			if (known) return known.difference;
			const closeness = requested ?? planned;
			const difference = measureDifference(expected, got, closeness);
			passes.push({ closeness, difference });
			return difference;
		},
	};
}

interface Scales {
	difference: number;
	expected: number;
}

/** One pass; of binary64 a second one for the sums where their squares left it. */
function measureDifference(expected: Tensor, got: Tensor, closeness: Closeness): Difference {
	const plain = passOver(expected, got, { closeness, scales: { difference: 1, expected: 1 } });
	const { maxAbs, differenceNorm, expectedNorm } = plain;
	const safe = isSafeSum(expectedNorm.sumSquared) && (maxAbs === 0 || isSafeSum(differenceNorm.sumSquared));
	if (expected.dtype !== "float64" || safe) return plain;
	const scales = { difference: scaleFor(maxAbs), expected: scaleFor(largestFinite(expected)) };
	const scaled = passOver(expected, got, { closeness, scales });
	return { ...plain, differenceNorm: scaled.differenceNorm, expectedNorm: scaled.expectedNorm };
}

function passOver(
	expected: Tensor,
	got: Tensor,
	{ closeness, scales }: { closeness: Closeness; scales: Scales },
): Difference {
	const state = new Float64Array(stateLength);
	state[slot.rtol] = closeness.rtol;
	state[slot.atol] = closeness.atol;
	state[slot.differenceScale] = scales.difference;
	state[slot.expectedScale] = scales.expected;
	state[slot.maxAbs] = -1;
	state[slot.maxAbsAt] = -1;
	state[slot.nonFiniteFirst] = -1;
	const add = fitsFloat32(expected.dtype) ? narrowAdder(expected, got) : wideAdder(expected, got);
	const elements = elementCount(expected.shape);
	forEachChunk(elements, (start, count) => {
		state[slot.start] = start;
		add(state, count);
	});
	return fromState(state, elements, scales);
}

function fromState(state: Float64Array, elements: number, scales: Scales): Difference {
	const at = (place: number): number => state[place] as number;
	return {
		elements: elements - at(slot.excluded),
		differenceNorm: { sumSquared: at(slot.sumSquaredDifference), scale: scales.difference },
		expectedNorm: { sumSquared: at(slot.sumSquaredExpected), scale: scales.expected },
		maxAbs: Math.max(0, at(slot.maxAbs)),
		maxAbsAt: at(slot.maxAbsAt),
		outside: at(slot.outside),
		nonFinite: {
			expected: at(slot.nonFiniteExpected),
			got: at(slot.nonFiniteGot),
			differing: at(slot.nonFiniteDiffering),
			firstDiffering: at(slot.nonFiniteFirst),
		},
	};
}

/** Adds `count` elements from the state's start. */
type Adder = (state: Float64Array, count: number) => void;

function narrowAdder(expected: Tensor, got: Tensor): Adder {
	const readExpected = float32Reader(expected);
	const readGot = float32Reader(got);
	const careful = wideAdder(expected, got);
	return (state, count) => {
		const start = state[slot.start] as number;
		if (!addNarrow(readExpected(start, count), readGot(start, count), state)) careful(state, count);
	};
}

function wideAdder(expected: Tensor, got: Tensor): Adder {
	let read: ((start: number, count: number) => WideChunk) | null = null;
	return (state, count) => {
		read ??= wideReader(expected, got);
		addWide(read(state[slot.start] as number, count), state);
	};
}

/** Pairs and their differences in binary64; of 64-bit integers the differences of the integers. Holds until the next call. */
export function wideReader(expected: Tensor, got: Tensor): (start: number, count: number) => WideChunk {
	const readExpected = float64Reader(expected);
	const readGot = float64Reader(got);
	const fillDifference = longDifference(expected, got);
	const scratch = new Float64Array(Math.min(elementCount(expected.shape), chunkElements));
	return (start, count) => {
		const chunk = {
			expected: readExpected(start, count),
			got: readGot(start, count),
			difference: scratch.subarray(0, count),
		};
		if (fillDifference) fillDifference(chunk.difference, start);
		else
			for (let i = 0; i < count; i += 1)
				chunk.difference[i] = (chunk.got[i] as number) - (chunk.expected[i] as number);
		return chunk;
	};
}

/** Differences of 64-bit integers as integers: 2^53 + 1 and 2^53 are one value in binary64. */
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

/** Of the finite values, by size. */
export function largestFinite(tensor: Tensor): number {
	let largest = 0;
	for (const { values } of valueChunks(tensor)) {
		for (let i = 0; i < values.length; i += 1) {
			const size = Math.abs(values[i] as number);
			if (size > largest && size < Number.POSITIVE_INFINITY) largest = size;
		}
	}
	return largest;
}

/** Root mean square of the finite values: the scale that default absolute tolerances are shares of. */
export function rootMeanSquare(tensor: Tensor): number {
	const { expectedNorm, elements } = measureDifference(tensor, tensor, anyCloseness);
	return elements === 0 ? 0 : Math.sqrt(expectedNorm.sumSquared / elements) / expectedNorm.scale;
}

export interface Norm {
	/** Of the values times the scale. */
	sumSquared: number;
	/** A power of two; 1 unless squares would leave binary64. */
	scale: number;
}

export const noNorm: Norm = { sumSquared: 0, scale: 1 };

const maxExponent = 400;

/** What brings values of this size near 1; 1 where their squares are safe. */
export function scaleFor(largest: number): number {
	if (largest === 0) return 1;
	const exponent = Math.floor(Math.log2(largest));
	return Math.abs(exponent) <= maxExponent ? 1 : 2 ** -Math.max(-1000, Math.min(1000, exponent));
}

/** Whether a sum of plain squares lost nothing that counts. */
function isSafeSum(sumSquared: number): boolean {
	return sumSquared >= 2 ** -900 && sumSquared <= 2 ** 1000;
}

export function normRatio(left: Norm, right: Norm): number {
	return (Math.sqrt(left.sumSquared) / Math.sqrt(right.sumSquared)) * (right.scale / left.scale);
}

/** The norm of all values of both. */
export function joinNorms(left: Norm, right: Norm): Norm {
	if (left.sumSquared === 0) return right;
	const scale = Math.min(left.scale, right.scale);
	const at = (norm: Norm): number => norm.sumSquared * (scale / norm.scale) ** 2;
	return { sumSquared: at(left) + at(right), scale };
}

export function longerNorm(left: Norm, right: Norm): Norm {
	return normRatio(left, right) > 1 ? left : right;
}

// Metrics of segmentations, and of the neighbourhood of embeddings.
import type { Pair } from "../compare/difference.ts";
import { elementCount } from "../tensor/tensor.ts";
import { forEachPair, forEachRow } from "../tensor/values.ts";
import { forEachClass, holdsNaN, topIndices } from "./classification.ts";
import type { Measured, MetricOptions } from "./element-errors.ts";

const maxClasses = 65_536;

interface ClassTally {
	both: number[];
	expected: number[];
	got: number[];
	pixels: number;
	differing: number;
	firstDiffering: number;
	stray: number | null;
}

/**
 * Mean over classes of TP / (TP + FP + FN) (sklearn: `jaccard_score(average="macro")`). Classes that neither side has are left
 * out. In a mask by threshold, only the foreground counts, and two empty masks agree fully.
 */
export function meanIou(pair: Pair, options: MetricOptions): Measured {
	return iouOfTally(tallyClasses(pair, options), options);
}

/** Share of pixels whose class differs from the golden's (numpy: `mean(a != b)`). */
export function pixelDisagreement(pair: Pair, options: MetricOptions): Measured {
	const tally = tallyClasses(pair, options);
	return measuredOf(tally, tally.differing / tally.pixels, "");
}

export function iouOfTally(tally: ClassTally, options: MetricOptions): Measured {
	const first = options.threshold === null ? 0 : 1;
	const scores = tally.both.flatMap((both, index) => {
		const either = (tally.expected[index] as number) + (tally.got[index] as number) - both;
		return index < first || either === 0 ? [] : [{ iou: both / either, index }];
	});
	const mean = scores.reduce((sum, { iou }) => sum + iou, 0) / scores.length;
	const worst = scores.reduce((lowest, one) => (one.iou < lowest.iou ? one : lowest), { iou: 2, index: -1 });
	const lowest = `lowest of ${scores.length} classes: ${Number(worst.iou.toPrecision(4))} of class ${worst.index}; `;
	return measuredOf(tally, scores.length === 0 ? 1 : mean, lowest);
}

function measuredOf(tally: ClassTally, value: number, before: string) {
	const { stray, pixels, differing, firstDiffering } = tally;
	if (stray !== null) {
		const detail = `${stray} is not a class from 0 to ${maxClasses - 1}`;
		return { value: NaN, elements: Math.max(1, pixels), worstAt: -1, detail };
	}
	if (pixels === 0) return { value: NaN, elements: 0, worstAt: -1 };
	const detail = differing > 0 ? `${before}${differing} of ${pixels} pixels differ` : undefined;
	return { value, elements: pixels, worstAt: firstDiffering, detail };
}

export function emptyClassTally(): ClassTally {
	return { both: [], expected: [], got: [], pixels: 0, differing: 0, firstDiffering: -1, stray: null };
}

export function tallyClasses(
	pair: Pair,
	{ axis, ignore, threshold }: MetricOptions,
	tally: ClassTally = emptyClassTally(),
): ClassTally {
	const add = (wanted: number, got: number, flat: number) => {
		if (wanted !== ignore) addPixel(tally, wanted, got, flat);
	};
	if (threshold === null) forEachClass(pair, axis, (wanted, got, { flat }) => add(wanted, got, flat));
	else
		forEachPair(pair, (wanted, got, flat) => add(Number(wanted > threshold), Number(got > threshold), flat));
	return tally;
}

function isClass(value: number) {
	return value >= 0 && value < maxClasses && Number.isInteger(value);
}

function addPixel(tally: ClassTally, expected: number, got: number, flat: number) {
	if (!isClass(expected) || !isClass(got)) {
		tally.stray ??= isClass(expected) ? got : expected;
		return;
	}
	const most = Math.max(expected, got);
	while (tally.both.length <= most)
		for (const counts of [tally.both, tally.expected, tally.got]) counts.push(0);
	tally.pixels += 1;
	tally.expected[expected] = (tally.expected[expected] as number) + 1;
	tally.got[got] = (tally.got[got] as number) + 1;
	if (expected === got) tally.both[expected] = (tally.both[expected] as number) + 1;
	else {
		tally.differing += 1;
		if (tally.firstDiffering < 0) tally.firstDiffering = flat;
	}
}

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
 * (numpy: `argsort(-s, kind="stable")[:k]`). k is cut to the vectors there are.
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
) {
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
		return { value: NaN, elements, worstAt: -1, detail: `more than ${maxVectors} vectors` };
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
		const without = (values: Float64Array) => values.filter((_, index) => index !== own);
		return rankCorrelation(without(expected), without(got));
	});
}

function unmeasurable(problem: string) {
	return { value: NaN, lowest: NaN, at: -1, problem };
}

function meanScore(
	{ expected, got }: Vectors,
	score: (expected: Float64Array, got: Float64Array, own: number) => number,
) {
	let lowest = Infinity;
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
function similarities(vectors: readonly Float64Array[], index: number) {
	const own = vectors[index] as Float64Array;
	return Float64Array.from(vectors, (other, at) => {
		if (at === index) return -Infinity;
		let dot = 0;
		for (let i = 0; i < own.length; i += 1) dot += (own[i] as number) * (other[i] as number);
		return dot;
	});
}

/** Pearson's correlation of the ranks; 1 if both lists are constant, 0 if only one is (scipy: NaN). */
function rankCorrelation(left: Float64Array, right: Float64Array) {
	if (holdsNaN(left) || holdsNaN(right)) return NaN;
	const mean = (left.length - 1) / 2;
	const a = ranksOf(left).map((rank) => rank - mean);
	const b = ranksOf(right).map((rank) => rank - mean);
	const dot = (x: Float64Array, y: Float64Array) =>
		x.reduce((sum, value, i) => sum + value * (y[i] as number), 0);
	const [ofA, ofB] = [dot(a, a), dot(b, b)];
	if (ofA === 0 || ofB === 0) return ofA === ofB ? 1 : 0;
	return dot(a, b) / Math.sqrt(ofA * ofB);
}

function ranksOf(values: Float64Array) {
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

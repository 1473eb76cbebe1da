// Metrics of the error of each element: relative L2, largest difference, allclose, PSNR, quantile, ULP.
import { normRatio, type Pair, wideReader } from "../compare/difference.ts";
import { isPacked, nibbleAt } from "../tensor/small-numbers.ts";
import { elementBytes, elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { chunkElements, forEachChunk, pairChunks } from "../tensor/values.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/**
 * ‖got − expected‖ / ‖expected‖ (Frobenius norms; numpy: `norm(c - g) / norm(g)`), sums in binary64.
 * A golden of zeros: 0 where the engine gives zeros too, else infinite. Free of scale and size.
 */
export function relativeL2(pair: Pair): Measured {
	const { differenceNorm, expectedNorm, elements, maxAbs, maxAbsAt } = pair.difference();
	return { value: maxAbs === 0 ? 0 : normRatio(differenceNorm, expectedNorm), elements, worstAt: maxAbsAt };
}

/** max |got − expected| (L∞), with the flat index where it stands, the lowest of equals (numpy: `argmax(abs(c - g))`). */
export function maxAbs(pair: Pair): Measured {
	const difference = pair.difference();
	return { value: difference.maxAbs, elements: difference.elements, worstAt: difference.maxAbsAt };
}

/**
 * #{not (|got − expected| ≤ atol + rtol · |expected|)} / n: the rule of numpy.isclose(got, expected), which is not
 * symmetric. 64-bit integers are subtracted as integers.
 */
export function allclose(pair: Pair, options: MetricOptions): Measured {
	const { outside, elements, maxAbsAt } = pair.difference(options);
	const detail = outside === 0 ? undefined : `${outside} of ${elements} elements are out of tolerance`;
	return { value: outside / elements, elements, worstAt: maxAbsAt, ...(detail ? { detail } : {}) };
}

/**
 * 10 · log10(R² / MSE) in dB, R the range of the data (skimage: `peak_signal_noise_ratio(g, c, data_range=R)`).
 * Infinite where nothing differs. Pairs that are not finite are left out.
 */
export function psnr(pair: Pair, options: MetricOptions): Measured {
	const { differenceNorm, elements, maxAbs, maxAbsAt } = pair.difference();
	// Logarithms are subtracted, because the ratio may leave binary64.
	const logOfError = Math.log10(differenceNorm.sumSquared / elements) / 2 - Math.log10(differenceNorm.scale);
	const value = elements === 0 ? Number.NaN : 20 * (Math.log10(options.dataRange) - logOfError);
	const same = maxAbs === 0 && elements > 0;
	const detail = `data range ${Number(options.dataRange.toPrecision(6))}`;
	return { value: same ? Number.POSITIVE_INFINITY : value, elements, worstAt: maxAbsAt, detail };
}

/**
 * The smallest e such that a share of at least `quantile` of the elements has |got − expected| ≤ e
 * (numpy: `quantile(abs(c - g), q, method="inverted_cdf")`). Exact, in memory that does not grow with the output.
 */
export function errorQuantile(pair: Pair, options: MetricOptions): Measured {
	const { elements, maxAbs, maxAbsAt } = pair.difference();
	const rank = Math.max(1, Math.ceil(options.quantile * elements - rankSlack * elements));
	const value = elements === 0 ? Number.NaN : selectRank(pair, rank);
	return {
		value,
		elements,
		worstAt: maxAbsAt,
		detail: `the largest error is ${Number(maxAbs.toPrecision(4))}`,
	};
}

/** 0.9 × 10 is 9 and not the next above, whatever binary64 makes of the product. */
const rankSlack = 2 ** -50;
/** Each pass distinguishes values by this many bits. */
const bitsPerPass = 16;

/**
 * The value of a rank (from 1) among the absolute errors. Positive binary64 numbers are in the order of their bit patterns,
 * so four passes that each count 16 bits find the pattern.
 */
function selectRank(pair: Pair, rank: number): number {
	const found = new Uint16Array(4);
	let remaining = rank;
	for (let level = 3; level >= 0; level -= 1) {
		const counts = countLevel(pair, found, level);
		let bucket = 0;
		while (bucket < counts.length - 1 && remaining > (counts[bucket] as number)) {
			remaining -= counts[bucket] as number;
			bucket += 1;
		}
		found[level] = bucket;
	}
	return new Float64Array(found.buffer)[0] as number;
}

/** How many errors that agree with `found` above the level have each pattern in it. Words lie little-endian. */
function countLevel(pair: Pair, found: Uint16Array, level: number): Float64Array {
	const counts = new Float64Array(2 ** bitsPerPass);
	const read = wideReader(pair.expected, pair.got);
	const errors = new Float64Array(Math.min(chunkElements, elementCount(pair.expected.shape)));
	const words = new Uint16Array(errors.buffer);
	forEachChunk(elementCount(pair.expected.shape), (start, count) => {
		const { expected, got, difference } = read(start, count);
		for (let i = 0; i < count; i += 1) errors[i] = Math.abs(difference[i] as number);
		for (let i = 0; i < count; i += 1) {
			if (Number.isFinite(expected[i]) && Number.isFinite(got[i]) && agrees(words, i * 4, { found, level })) {
				const word = words[i * 4 + level] as number;
				counts[word] = (counts[word] as number) + 1;
			}
		}
	});
	return counts;
}

function agrees(
	words: Uint16Array,
	at: number,
	{ found, level }: { found: Uint16Array; level: number },
): boolean {
	for (let above = 3; above > level; above -= 1) if (words[at + above] !== found[above]) return false;
	return true;
}

/**
 * max |order(got) − order(expected)|, where order numbers the values of the output's own dtype from the most negative up
 * (numpy: the integer views of both, negative ones mirrored); −0 and 0 are one value. Of integers: the largest difference.
 * Near zero the values lie dense, so that a tiny error there is many of them. Pairs that are not finite are left out.
 */
export function ulpDistance(pair: Pair): Measured {
	const difference = pair.difference();
	if (!isFloating(pair.expected.dtype))
		return { value: difference.maxAbs, elements: difference.elements, worstAt: difference.maxAbsAt };
	const distance = distanceOf(pair.expected, pair.got);
	let value = 0;
	let worstAt = difference.elements === 0 ? -1 : difference.maxAbsAt;
	for (const { start, expected, got } of pairChunks(pair)) {
		for (let i = 0; i < expected.length; i += 1) {
			if (expected[i] === got[i] || !Number.isFinite((expected[i] as number) + (got[i] as number) * 0))
				continue;
			const here = distance(start + i);
			if (here <= value) continue;
			value = here;
			worstAt = start + i;
		}
	}
	return { value, elements: difference.elements, worstAt };
}

function distanceOf(expected: Tensor, got: Tensor): (flat: number) => number {
	if (elementBytes[expected.dtype] === 8) {
		const left = longOrder(expected);
		const right = longOrder(got);
		return (flat) => Math.abs(Number(right(flat) - left(flat)));
	}
	const left = orderOf(expected);
	const right = orderOf(got);
	return (flat) => Math.abs(right(flat) - left(flat));
}

/** Bit patterns of floats are sign and magnitude; the magnitude grows with the pattern. */
function orderOf(tensor: Tensor): (flat: number) => number {
	const bits = bitsOf(tensor);
	const sign = 2 ** (elementBytes[tensor.dtype] * 8 - 1);
	return (flat) => {
		const pattern = bits(flat);
		return pattern >= sign ? sign - pattern : pattern;
	};
}

function bitsOf({ dtype, data }: Tensor): (flat: number) => number {
	const view = new DataView(data.buffer, data.byteOffset, data.length);
	if (isPacked(dtype)) return (flat) => nibbleAt(data, flat);
	if (elementBytes[dtype] === 1) return (flat) => view.getUint8(flat);
	if (elementBytes[dtype] === 2) return (flat) => view.getUint16(flat * 2, true);
	return (flat) => view.getUint32(flat * 4, true);
}

function longOrder({ data }: Tensor): (flat: number) => bigint {
	const view = new DataView(data.buffer, data.byteOffset, data.length);
	return (flat) => {
		const bits = view.getBigInt64(flat * 8, true);
		return bits < 0n ? -(bits & 0x7fffffffffffffffn) : bits;
	};
}

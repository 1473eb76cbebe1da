// Largest distance in units in the last place.
import type { Pair } from "../compare/difference.ts";
import { isPacked, nibbleAt } from "../tensor/small-numbers.ts";
import { elementBytes, elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk } from "../tensor/values.ts";
import type { Measured } from "./measured.ts";

/**
 * max |order(got) − order(expected)|, where order numbers the values of the output's own dtype from the most negative up
 * (numpy: the integer views of both, negative ones mirrored); −0 and 0 are one value. Of integers: the largest difference.
 * Near zero the values lie dense, so that a tiny error there is many of them. Pairs that are not finite are left out.
 */
export function ulpDistance(pair: Pair): Measured {
	const difference = pair.difference();
	if (!isFloating(pair.expected.dtype)) return { value: difference.maxAbs, elements: difference.elements, worstAt: difference.maxAbsAt };
	const distance = distanceOf(pair.expected, pair.got);
	const readExpected = float64Reader(pair.expected);
	const readGot = float64Reader(pair.got);
	let value = 0;
	let worstAt = difference.elements === 0 ? -1 : difference.maxAbsAt;
	forEachChunk(elementCount(pair.expected.shape), (start, count) => {
		const expected = readExpected(start, count);
		const got = readGot(start, count);
		for (let i = 0; i < count; i += 1) {
			if (expected[i] === got[i] || !Number.isFinite((expected[i] as number) + (got[i] as number) * 0)) continue;
			const here = distance(start + i);
			if (here <= value) continue;
			value = here;
			worstAt = start + i;
		}
	});
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

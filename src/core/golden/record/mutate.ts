// Changes one weight tensor by a little, in the bytes that hold it: every value times 1 plus or minus a share.

import { decodeBrainFloat, decodeHalf } from "../tensor/small-numbers.ts";
import { brainFloatBits, halfBits } from "./generators/encode.ts";
import { splitMix64 } from "./generators/split-mix.ts";

export type WeightDType = "float32" | "float64" | "float16" | "bfloat16";

/** A float weight tensor as it lies in a file. */
export interface WeightLocation {
	name: string;
	dtype: WeightDType;
	elements: number;
	/** Location of the external data; null: the model's own file. */
	file: string | null;
	/** Of the first value, in bytes. */
	offset: number;
	bytes: number;
}

export const weightBytes: Readonly<Record<WeightDType, number>> = { float32: 4, float64: 8, float16: 2, bfloat16: 2 };

export interface MutationRule {
	/** 0.01 is 1 %: also the relative L2 size of the change. */
	relative: number;
	seed: number;
	/** Place of the tensor among the model's; streams of tensors differ. */
	index: number;
}

/**
 * A copy with the signs drawn at random, so that no layer that is blind to scale hides the change; rounded to nearest. `changed` is
 * false where no byte differs: zeros stay zeros.
 */
export function mutateWeights(bytes: Uint8Array, dtype: WeightDType, rule: MutationRule): { bytes: Uint8Array; changed: boolean } {
	const random = splitMix64(rule.seed, [rule.index]);
	const copy = Uint8Array.from(bytes);
	const view = new DataView(copy.buffer);
	const size = weightBytes[dtype];
	const access = accessors[dtype];
	let changed = false;
	let signs = 0;
	for (let index = 0; index * size + size <= copy.length; index += 1) {
		if (index % 32 === 0) signs = random.next().low;
		const before = access.get(view, index * size);
		const factor = 1 + ((signs >>> (index % 32)) & 1 ? rule.relative : -rule.relative);
		const after = before * factor;
		if (before === 0 || !Number.isFinite(after)) continue;
		access.set(view, index * size, after);
		changed = true;
	}
	return { bytes: copy, changed };
}

interface Access {
	get(view: DataView, at: number): number;
	set(view: DataView, at: number, value: number): void;
}

const bits = new Uint16Array(1);
const value = new Float32Array(1);

function decoded(decode: (bits: Uint16Array, out: Float32Array) => void, pattern: number): number {
	bits[0] = pattern;
	decode(bits, value);
	return value[0] ?? Number.NaN;
}

const accessors: Readonly<Record<WeightDType, Access>> = {
	float32: { get: (view, at) => view.getFloat32(at, true), set: (view, at, number) => view.setFloat32(at, number, true) },
	float64: { get: (view, at) => view.getFloat64(at, true), set: (view, at, number) => view.setFloat64(at, number, true) },
	float16: {
		get: (view, at) => decoded(decodeHalf, view.getUint16(at, true)),
		set: (view, at, number) => view.setUint16(at, halfBits(number), true),
	},
	bfloat16: {
		get: (view, at) => decoded(decodeBrainFloat, view.getUint16(at, true)),
		set: (view, at, number) => view.setUint16(at, brainFloatBits(number), true),
	},
};

/**
 * Which tensors to change where there is no time for all: the order is drawn from the seed, so that a cut anywhere leaves a fair sample.
 * Fisher-Yates.
 */
export function mutationOrder(tensors: number, seed: number): number[] {
	const random = splitMix64(seed, [tensors]);
	const order = Array.from({ length: tensors }, (_, index) => index);
	for (let last = tensors - 1; last > 0; last -= 1) {
		const other = random.below(last + 1);
		const swapped = order[last] as number;
		order[last] = order[other] as number;
		order[other] = swapped;
	}
	return order;
}

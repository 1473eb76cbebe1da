// Plans defects of weight tensors and makes them in the bytes that hold the tensor.

import { elementBytes, elementCount } from "../../tensor/tensor.ts";
import { forEachValue, valuesOf } from "../../tensor/values.ts";
import { splitMix64, writers } from "../generators/encode.ts";

export const weightDTypes = ["float32", "float64", "float16", "bfloat16", "int8", "uint8"] as const;
export type WeightDType = (typeof weightDTypes)[number];

export interface WeightLocation {
	name: string;
	dtype: WeightDType;
	dims: readonly number[];
	file: string | null;
	offset: number;
	bytes: number;
}

type Change = (value: number, index: number) => number;

export const weightDefects = {
	"tensor-scale": { label: "scaled by 1.5", change: () => (value) => value * 1.5 },
	"tensor-noise": { label: "changed by 1 %", change: (defect) => noise(defect, 0.01) },
	"row-zero": { label: "one row or channel zeroed", change: () => () => 0 },
	"rows-permuted": { label: "rows or channels permuted", change: null },
} as const satisfies Readonly<
	Record<string, { label: string; change: ((defect: WeightDefect) => Change) | null }>
>;

export type WeightDefectKind = keyof typeof weightDefects;

export const weightDefectKinds = Object.keys(weightDefects) as WeightDefectKind[];

export interface WeightDefect {
	/** Place of the tensor among the model's; each has its own random stream. */
	index: number;
	kind: WeightDefectKind;
	axis: number;
	row: number;
	seed: number;
}

/** A copy; `changed` is false if no byte differs: zeros stay zeros. */
export function damageWeights(
	bytes: Uint8Array,
	{ dtype, dims }: Pick<WeightLocation, "dtype" | "dims">,
	defect: WeightDefect,
): { bytes: Uint8Array; changed: boolean } {
	const copy = Uint8Array.from(bytes);
	const size = elementBytes[dtype];
	const rows = dims[defect.axis] ?? 1;
	const inner = elementCount(dims.slice(defect.axis + 1));
	const change = weightDefects[defect.kind].change?.(defect);
	if (change === undefined) rotateRows(copy, bytes, inner * size, rows);
	else {
		const write = writers[dtype];
		const view = new DataView(copy.buffer);
		const centre = centreOf(bytes, dtype);
		const isRow = defect.kind.startsWith("row-");
		forEachValue({ dtype, shape: [Math.floor(bytes.length / size)], data: bytes }, (before, index) => {
			if (isRow && Math.floor(index / inner) % rows !== defect.row) return;
			const after = centre + change(before - centre, index);
			if (!Number.isFinite(after) || after === before) return;
			write(view, index * size, storable(after, dtype));
		});
	}
	return { bytes: copy, changed: copy.some((byte, at) => byte !== bytes[at]) };
}

function rotateRows(copy: Uint8Array, bytes: Uint8Array, row: number, count: number) {
	const block = row * count;
	for (let at = 0; block > 0 && at + block <= bytes.length; at += block) {
		copy.set(bytes.subarray(at + row, at + block), at);
		copy.set(bytes.subarray(at, at + row), at + block - row);
	}
}

function storable(value: number, dtype: WeightDType) {
	if (dtype === "int8") return Math.min(127, Math.max(-128, Math.round(value)));
	return dtype === "uint8" ? Math.min(255, Math.max(0, Math.round(value))) : value;
}

/** The mean stands for the zero point of quantised weights, which is stored elsewhere. */
function centreOf(bytes: Uint8Array, dtype: WeightDType) {
	if (dtype !== "int8" && dtype !== "uint8") return 0;
	const values = valuesOf({ dtype, shape: [bytes.length], data: bytes });
	const sum = values.reduce((total, value) => total + value, 0);
	return Math.round(sum / Math.max(1, values.length));
}

/** Signs are drawn at random, so that a layer that ignores scale cannot hide the change. */
function noise({ seed, index }: WeightDefect, share: number): Change {
	const random = splitMix64(seed, [index]);
	let signs = 0;
	return (value, at) => {
		if (at % 32 === 0) signs = random.next().low;
		return value * (1 + ((signs >>> (at % 32)) & 1 ? share : -share));
	};
}

export function planDefects(places: readonly WeightLocation[], seed: number): WeightDefect[] {
	const order = shuffledOrder(places.length, seed);
	return weightDefectKinds.flatMap((_, round) =>
		order.flatMap((index, turn) => {
			const dims = places[index]?.dims ?? [];
			const kind = weightDefectKinds[(round + turn) % weightDefectKinds.length];
			const axis = dims.findIndex((size) => size > 1);
			if (kind === undefined || (kind.startsWith("row") && axis < 0)) return [];
			const row = splitMix64(seed, [index, 1]).below(dims[axis] ?? 1);
			return [{ index, kind, axis: Math.max(0, axis), row, seed }];
		}),
	);
}

function shuffledOrder(count: number, seed: number) {
	const random = splitMix64(seed, [count]);
	const order = Array.from({ length: count }, (_, index) => index);
	for (let last = count - 1; last > 0; last -= 1) {
		const other = random.below(last + 1);
		[order[last], order[other]] = [order[other] as number, order[last] as number];
	}
	return order;
}

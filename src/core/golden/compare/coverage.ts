// What a comparator covers of an output: a slice of it, without the elements that are noise on both sides.
import type { GoldenCase } from "../../../../generated/golden.ts";
import { cutSlice } from "../tensor/slice.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import { elementBytes, isFloating, type Tensor, tensorBytes } from "../tensor/tensor.ts";
import { pairChunks } from "../tensor/values.ts";
import type { Comparator } from "./comparators.ts";

interface Sides {
	expected: Tensor;
	got: Tensor;
}

type Covered = Pick<Comparator, "slice" | "floor">;

/** By the engine's tensor: a defect is judged at several precisions, whose comparators cover the same. */
const coveredBefore = new WeakMap<Tensor, { expected: Tensor; sides: Map<string, Sides> }>();

/** Both sides cut to the slice. Where both are below the floor, the engine's value is the golden's. */
export function coveredSides(whole: Sides, { slice, floor }: Covered): Sides {
	const before = coveredBefore.get(whole.got);
	const known =
		before?.expected === whole.expected
			? before
			: { expected: whole.expected, sides: new Map<string, Sides>() };
	coveredBefore.set(whole.got, known);
	const key = JSON.stringify([slice ?? null, floor]);
	const sides = known.sides.get(key) ?? cover(whole, { slice, floor });
	known.sides.set(key, sides);
	return sides;
}

function cover(whole: Sides, { slice, floor }: Covered): Sides {
	const sides = { expected: cutSlice(whole.expected, slice), got: cutSlice(whole.got, slice) };
	return floor > 0 && isFloating(sides.expected.dtype) && !isPacked(sides.expected.dtype)
		? { ...sides, got: withoutNoise(sides, floor) }
		: sides;
}

/** A copy only where something is below the floor; noise in a row is copied at once. */
function withoutNoise({ expected, got }: Sides, floor: number): Tensor {
	const bytes = elementBytes[got.dtype];
	let data: Uint8Array | null = null;
	for (const { start, expected: left, got: right } of pairChunks({ expected, got })) {
		let from = -1;
		for (let i = 0; i <= left.length; i += 1) {
			const wanted = left[i] as number;
			const found = right[i] as number;
			const isNoise = i < left.length && Math.abs(wanted) < floor && Math.abs(found) < floor;
			if (isNoise && from < 0 && wanted !== found) from = i;
			if (isNoise || from < 0) continue;
			data ??= got.data.slice();
			data.set(expected.data.subarray((start + from) * bytes, (start + i) * bytes), (start + from) * bytes);
			from = -1;
		}
	}
	return data === null ? got : { ...got, data };
}

// Cuts the cases of a golden into batches that fit into memory together.

export interface BatchLimits {
	/** Of the tensors of a batch as the manifest has them, inputs and outputs. */
	bytes: number;
	cases: number;
}

/** Each engine's outputs come to about as much again as the golden's; a process is started for each batch, so it should not be small. */
export const defaultBatchLimits: BatchLimits = { bytes: 64 * 1024 * 1024, cases: 2048 };

/** Each batch has at least one case; a case above the limit gets a batch of its own. */
export function* cutBatches(
	cases: readonly GoldenCase[],
	limits: BatchLimits,
): Generator<readonly GoldenCase[]> {
	let start = 0;
	let bytes = 0;
	for (const [index, golden] of cases.entries()) {
		const more = caseBytes(golden);
		if (index > start && (bytes + more > limits.bytes || index - start >= limits.cases)) {
			yield cases.slice(start, index);
			start = index;
			bytes = 0;
		}
		bytes += more;
	}
	if (start < cases.length) yield cases.slice(start);
}

function caseBytes({ inputs, outputs }: GoldenCase): number {
	return [...Object.values(inputs), ...Object.values(outputs)].reduce(
		(sum, file) => sum + tensorBytes(file),
		0,
	);
}

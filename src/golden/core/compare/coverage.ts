// Cuts out what a comparator covers of an output (its slice, without noise), and splits cases into batches that fit into memory.
import type { GoldenCase } from "../../../../generated/golden.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import { cutSlice, elementBytes, isFloating, type Tensor, tensorBytes } from "../tensor/tensor.ts";
import { pairChunks } from "../tensor/values.ts";
import type { Comparator } from "./comparators.ts";

interface Sides {
	expected: Tensor;
	got: Tensor;
}

/** Keyed by the engine's tensor, because a defect is judged at several precisions whose comparators cover the same. */
const knownSides = new WeakMap<Tensor, { expected: Tensor; sides: Map<string, Sides> }>();

/** Both sides cut to the slice. Where both are below the floor, the engine's value becomes the golden's. */
export function coveredSides(whole: Sides, { slice, floor }: Pick<Comparator, "slice" | "floor">): Sides {
	const before = knownSides.get(whole.got);
	const known =
		before?.expected === whole.expected
			? before
			: { expected: whole.expected, sides: new Map<string, Sides>() };
	knownSides.set(whole.got, known);
	const key = JSON.stringify([slice ?? null, floor]);
	let sides = known.sides.get(key);
	if (sides === undefined) {
		const cut = { expected: cutSlice(whole.expected, slice), got: cutSlice(whole.got, slice) };
		sides = floor > 0 ? { ...cut, got: withoutNoise(cut, floor) } : cut;
		known.sides.set(key, sides);
	}
	return sides;
}

/** Copies the tensor only if something is below the floor, and runs of noise at once. */
function withoutNoise({ expected, got }: Sides, floor: number): Tensor {
	if (!isFloating(got.dtype) || isPacked(got.dtype)) return got;
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

export interface BatchLimits {
	bytes: number;
	cases: number;
}

/** Engines' outputs take as much again; a process is started for each batch, so batches should not be small. */
export const defaultBatchLimits: BatchLimits = { bytes: 64 * 1024 * 1024, cases: 2048 };

export function* cutBatches(
	cases: readonly GoldenCase[],
	limits: BatchLimits,
): Generator<readonly GoldenCase[]> {
	let start = 0;
	let bytes = 0;
	for (const [index, { inputs, outputs }] of cases.entries()) {
		const files = [...Object.values(inputs), ...Object.values(outputs)];
		const more = files.reduce((sum, file) => sum + tensorBytes(file), 0);
		if (index > start && (bytes + more > limits.bytes || index - start >= limits.cases)) {
			yield cases.slice(start, index);
			start = index;
			bytes = 0;
		}
		bytes += more;
	}
	if (start < cases.length) yield cases.slice(start);
}

// Finds cases whose outputs are noise: they do not show whether an engine is right.

import type { OutputSlice } from "../../../../generated/golden.ts";
import { quoteName } from "../../../core/onnx/quote.ts";
import { twoDigits } from "../../../core/text/units.ts";
import { largestFinite } from "../compare/difference.ts";
import { cutSlice } from "../tensor/slice.ts";
import { elementCount, isFloating } from "../tensor/tensor.ts";
import { distance, type LabelledRun, type OutputParts, type RunOutputs, signalFloor } from "./noise-floor.ts";
import { proposeDetections } from "./propose-detections.ts";

/** Runs of one model that differ by more than this share show noise. */
const mostScatter = 0.01;

/** @returns the reason by the case's index. Integers are never noise, nor are boxes, whose order may vary. */
export function findNoiseCases(
	reference: RunOutputs,
	runs: readonly LabelledRun[],
	parts: OutputParts,
): ReadonlyMap<number, string> {
	const boxes = proposeDetections(reference, {})?.outputs ?? [];
	const names = new Set(reference.flatMap((outputs) => Object.keys(outputs)));
	const judged = [...names].filter((name) => !boxes.includes(name));
	const byPart = judged.flatMap((name) => {
		const slices = Object.hasOwn(parts, name) && parts[name]?.length ? parts[name] : [undefined];
		return slices
			.map((slice) => noiseOfCases(name, slice, { reference, runs }))
			.filter((one) => one !== null);
	});
	const found = new Map<number, string>();
	for (const index of reference.keys()) {
		const reasons = byPart.map((reasonOf) => reasonOf[index] ?? null);
		const [first] = reasons;
		if (first && !reasons.includes(null)) found.set(index, first);
	}
	return found;
}

/** By case: why this part of an output is noise; null if it is not. No list if no case has elements. */
function noiseOfCases(
	name: string,
	slice: OutputSlice | undefined,
	{ reference, runs }: { reference: RunOutputs; runs: readonly LabelledRun[] },
): (string | null)[] | null {
	const tensors = reference.map((outputs) => outputs[name]);
	const filled = tensors.filter((tensor) => tensor !== undefined && elementCount(tensor.shape) > 0);
	if (filled.length === 0) return null;
	if (!filled.every((tensor) => isFloating(tensor?.dtype ?? "bool"))) return tensors.map(() => null);
	const largest = tensors.map((tensor) => (tensor ? largestFinite(cutSlice(tensor, slice)) : 0));
	const scatter = tensors.map((expected, index) =>
		runs.flatMap(({ outputs }) => {
			const got = outputs[index]?.[name];
			return (expected && got && distance(expected, got, { slice })) || [];
		}),
	);
	const widest = (sizes: readonly number[]) => Math.max(0, ...sizes.filter(Number.isFinite));
	const peak = widest(largest);
	const floor = signalFloor(peak, widest(scatter.flat().map(({ maxAbs }) => maxAbs)));
	return largest.map((size, index) => {
		if (size < floor)
			return `the largest value of output ${quoteName(name)} is ${twoDigits(size)}, where other cases reach ${twoDigits(peak)}`;
		const share = widest((scatter[index] ?? []).map(({ relativeL2 }) => relativeL2));
		return share > mostScatter
			? `two runs of the same model differ by ${twoDigits(100 * share)} % in output ${quoteName(name)} (relative L2)`
			: null;
	});
}

// The floor below which elements of an output are noise and do not count.
import type { OutputSlice, Spread } from "../../../../generated/golden.ts";
import { largestFinite } from "../compare/difference.ts";
import { cutSlice } from "../tensor/slice.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { forEachValue } from "../tensor/values.ts";
import { noiseOfPart, signalFloor } from "./noise-floor.ts";

/** The floor of noise, where it leaves out most of what some case holds. null: it would change nothing that counts. */
export function noiseMask(
	tensors: readonly Tensor[],
	noise: Spread | undefined,
	slice: OutputSlice | undefined,
): number | null {
	const parts = tensors.map((tensor) => cutSlice(tensor, slice));
	const floor = signalFloor(Math.max(0, ...parts.map(largestFinite)), noiseOfPart(noise, slice)?.maxAbs ?? 0);
	return floor > 0 && parts.some((part) => isMostlyBelow(part, floor)) ? Number(floor.toPrecision(2)) : null;
}

/** Zeros are exact, so they say nothing of noise, unless there is nothing else. */
function isMostlyBelow(tensor: Tensor, floor: number): boolean {
	let [below, above] = [0, 0];
	forEachValue(tensor, (value) => {
		const size = Math.abs(value);
		if (size >= floor) above += 1;
		else if (size > 0) below += 1;
	});
	return above === 0 || below > above;
}

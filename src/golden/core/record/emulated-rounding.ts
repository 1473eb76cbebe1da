// Finds the error that rounding to a precision explains: emulated while the golden was recorded, else the usual one.
import type { GoldenManifest, OutputSlice, Precision } from "../../../../generated/golden.ts";
import { leastErrorFloor, noiseOfPart } from "./noise-floor.ts";

interface RoundedPart {
	output: string;
	slice: OutputSlice | undefined;
	precision: Precision;
}

export function emulatedRounding(
	rounding: GoldenManifest["rounding"],
	{ output, slice, precision }: RoundedPart,
): number | undefined {
	if (precision !== "fp16" && precision !== "tf32" && precision !== "bf16") return undefined;
	const outputs = rounding?.[precision]?.outputs ?? {};
	const measured = Object.hasOwn(outputs, output) ? outputs[output] : undefined;
	return noiseOfPart(measured, slice)?.relativeL2;
}

/** Rounding of an engine's values to the precision, as relative L2: no engine of that precision must keep less. */
export const usualRoundings: Readonly<Record<Precision, number>> = {
	fp64: 1e-15,
	fp32: leastErrorFloor,
	tf32: 3e-4,
	fp16: 3e-4,
	bf16: 2.5e-3,
	int8: 1e-2,
	fp8: 4e-2,
	int4: 1e-1,
	fp4: 1e-1,
};

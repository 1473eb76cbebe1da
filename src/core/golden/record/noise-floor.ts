// The noise floor: how far outputs of one model on the same inputs scatter. Smaller differences are not errors.
import type { DType, NoiseFloor, Precision, Spread } from "../../schema/golden.ts";
import { makePair } from "../compare/difference.ts";
import { relativeL2 } from "../metrics/element-errors.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";

/** Outputs of one run, case by case. */
export type RunOutputs = readonly Readonly<Record<string, Tensor>>[];

export interface LabelledRun {
	/** E.g. `wasm, all, 2 threads`. */
	label: string;
	outputs: RunOutputs;
}

/** The largest distance of any run from the reference, by output; whole tensors, worst case. */
export function measureNoise(reference: RunOutputs, runs: readonly LabelledRun[]): NoiseFloor | null {
	const [first, ...others] = runs;
	if (first === undefined) return null;
	const outputs: Record<string, Spread> = Object.create(null);
	for (const run of runs) {
		for (const [index, expected] of reference.entries()) {
			for (const [name, tensor] of Object.entries(expected)) {
				const got = run.outputs[index]?.[name];
				outputs[name] = wider(outputs[name] ?? { relativeL2: 0, maxAbs: 0 }, got === undefined ? null : distance(tensor, got));
			}
		}
	}
	return { runs: [first.label, ...others.map((run) => run.label)], outputs };
}

function wider(known: Spread, found: Spread | null): Spread {
	if (found === null) return known;
	return { relativeL2: Math.max(known.relativeL2, found.relativeL2), maxAbs: Math.max(known.maxAbs, found.maxAbs) };
}

/** How far apart two outputs are; null where they cannot be compared (other shape or type). Infinite where one is not finite and the other is. */
export function distance(expected: Tensor, got: Tensor): Spread | null {
	const same = expected.dtype === got.dtype && expected.shape.length === got.shape.length;
	if (!same || expected.shape.some((size, axis) => size !== got.shape[axis])) return null;
	const pair = makePair(expected, got);
	const { nonFinite, maxAbs } = pair.difference();
	if (nonFinite.differing > 0) return { relativeL2: Number.POSITIVE_INFINITY, maxAbs: Number.POSITIVE_INFINITY };
	return { relativeL2: relativeL2(pair).value, maxAbs };
}

/** Rounding of the output itself, as relative L2, even if all runs agree to the bit. A third of the unit roundoff, uniformly spread. */
const roundings: Partial<Record<DType, number>> = { float64: 1e-15, float32: 1e-7, float16: 3e-4, bfloat16: 2.5e-3 };

/** The effective floor: the measured one, but at least the dtype's own rounding. */
export function floorOf(measured: Spread | undefined, dtype: DType): number {
	return Math.max(measured?.relativeL2 ?? 0, isFloating(dtype) ? (roundings[dtype] ?? 1e-7) : 0);
}

/** Smaller differences between an engine and its base are not errors: fp32 loses this much in a network of some dozen layers. */
export const leastErrorFloor = 1e-5;

/** The precision at which the reference judges itself. */
export const referencePrecision: Precision = "fp32";

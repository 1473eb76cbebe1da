// How far apart two answers of one engine to one question may be.
import type { DType, Precision } from "../../schema/golden.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { floorOf } from "../record/noise-floor.ts";
import { isFloating } from "../tensor/tensor.ts";

export interface AllowanceRule {
	precision: Precision;
	/** Largest relative L2 to an fp32 golden at this precision: `gates.golden.relative-l2`. */
	cap: number;
}

/**
 * Two answers by the same kernels owe each other the same bits: what is allowed is only what sums in varying order (atomic additions)
 * make, and that is a part of what the precision costs. A tenth of the cap: fp32 in TF32 1e-4, fp16 5e-4, half an ulp of fp16.
 */
const sameShare = 0.1;

/** A difference of two runs is one draw; another draw of the same spread is hardly ever three times as large. */
const noiseFactor = 3;

/** Two roundings of the output itself. */
const roundings = 2;

/**
 * The most that may lie between two answers:
 *   same kernels:  max(cap / 10, 2 · rounding of the output's dtype, 3 · r)
 *   other kernels: max(cap,      2 · rounding of the output's dtype, 3 · r)
 * where cap is what the precision may differ from fp32 (`gates.golden.relative-l2`; its reasons stand in config/defaults.ts: about
 * five times the measured rounding of a nine-layer network, so that two right answers lie well within one cap of each other), and r is
 * what two runs of the same input on this engine differed by. Of integers: 0, or by other kernels the share that top-k may lose
 * (tolerances.ts), because nearly equal scores may change places.
 * r of the determinism probe itself is 0: noise does not excuse noise.
 */
export function allowance(rule: AllowanceRule, of: { arithmetic: "same" | "other"; dtype: DType; noise: number }): number {
	if (!isFloating(of.dtype)) return of.arithmetic === "same" ? 0 : 1 - defaultTolerances[rule.precision].topK;
	const share = of.arithmetic === "same" ? rule.cap * sameShare : rule.cap;
	return Math.max(share, roundings * floorOf(undefined, of.dtype), noiseFactor * of.noise);
}

// Relative L2 error of an output.
import type { Pair } from "../compare/difference.ts";
import { normRatio } from "../norm.ts";
import type { Measured } from "./measured.ts";

/**
 * ‖got − expected‖ / ‖expected‖ (Frobenius norms; numpy: `norm(c - g) / norm(g)`), sums in binary64.
 * A golden of zeros: 0 where the engine gives zeros too, else infinite. Free of scale and size.
 */
export function relativeL2(pair: Pair): Measured {
	const { differenceNorm, expectedNorm, elements, maxAbs, maxAbsAt } = pair.difference();
	return { value: maxAbs === 0 ? 0 : normRatio(differenceNorm, expectedNorm), elements, worstAt: maxAbsAt };
}

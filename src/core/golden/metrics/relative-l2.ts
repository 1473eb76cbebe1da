// Relative L2 error of an output.
import type { Pair } from "../difference.ts";
import type { Measured } from "./measured.ts";

/**
 * ‖got − expected‖ / ‖expected‖ (Frobenius norms; numpy: `norm(c - g) / norm(g)`), sums in binary64.
 * A golden of zeros: 0 where the engine gives zeros too, else infinite. Free of scale and size.
 */
export function relativeL2(pair: Pair): Measured {
	const { sumSquaredDifference, sumSquaredExpected, elements, maxAbsAt } = pair.difference();
	const value = sumSquaredDifference === 0 ? 0 : Math.sqrt(sumSquaredDifference) / Math.sqrt(sumSquaredExpected);
	return { value, elements, worstAt: maxAbsAt };
}

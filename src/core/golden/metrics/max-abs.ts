// Largest absolute difference of an output.
import type { Pair } from "../compare/difference.ts";
import type { Measured } from "./measured.ts";

/** max |got − expected| (L∞), with the flat index where it stands, the lowest of equals (numpy: `argmax(abs(c - g))`). */
export function maxAbs(pair: Pair): Measured {
	const difference = pair.difference();
	return { value: difference.maxAbs, elements: difference.elements, worstAt: difference.maxAbsAt };
}

// Sums of noise.
import { expect, it } from "vitest";
import { halfWidthOfSum } from "../../../src/core/engine/noise.ts";

it("halfWidthOfSum adds what scatters alone in quadrature, what is shared in full, and takes more changes than a call takes arguments", () => {
	const one = { ms: 1, halfWidthMs: 0.3, sharedMs: 0.2, isSignificant: true };
	expect(halfWidthOfSum([one])).toBeCloseTo(0.3);
	expect(halfWidthOfSum([one, one])).toBeCloseTo(Math.hypot(0.3, 0.3, 0.4));
	expect(halfWidthOfSum(Array.from({ length: 300_000 }, () => ({ ...one, sharedMs: 0 })))).toBeCloseTo(0.3 * Math.sqrt(300_000));
});

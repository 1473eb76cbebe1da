import { expect, it } from "vitest";
import { halfWidthOfSum, judgeDeltas } from "../../../src/engine/core/noise.ts";

it("halfWidthOfSum adds independent scatter in quadrature and shared scatter in full, even for more changes than a call can have arguments", () => {
	const one = { ms: 1, halfWidthMs: 0.3, sharedMs: 0.2, isSignificant: true };
	expect(halfWidthOfSum([one])).toBeCloseTo(0.3);
	expect(halfWidthOfSum([one, one])).toBeCloseTo(Math.hypot(0.3, 0.3, 0.4));
	expect(halfWidthOfSum(Array.from({ length: 300_000 }, () => ({ ...one, sharedMs: 0 })))).toBeCloseTo(
		0.3 * Math.sqrt(300_000),
	);
});

it("judgeDeltas tells nothing of an unchanged component whose profiles are apart only by the factor that all share", () => {
	const part = (...eachMs: number[]) => {
		const ms = eachMs.reduce((sum, one) => sum + one, 0) / eachMs.length;
		return { ms, eachMs, withoutMs: eachMs.map(() => ms), launches: 1 };
	};
	const steady = { base: part(1, 1), head: part(1.1, 1.1), isUnchanged: true };
	const judged = (...headMs: number[]) =>
		judgeDeltas([
			...Array.from({ length: 11 }, () => steady),
			{ base: part(1, 1.2), head: part(...headMs), isUnchanged: true },
		]);
	expect(judged(1.25, 1.4).commonFactor).toBeCloseTo(1.1);
	expect([judged(1.25, 1.4), judged(1.35, 1.5)].map(({ deltas }) => deltas.at(-1)?.isSignificant)).toEqual([
		false,
		true,
	]);
});

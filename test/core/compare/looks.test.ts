// The error is spent over the looks, the workloads and both figures, never more than there is.
import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultAlpha, defaultLooks, errorShare, nominalP } from "../../../src/core/compare/pairs.ts";

test("each look spends in proportion to the pairs that it adds", () => {
	expect(defaultLooks.map((look) => nominalP(defaultLooks, look, 0.16))).toEqual([0.05, 0.03, 0.04, 0.04]);
});

test("between looks the last look's p holds, before the first there is none", () => {
	const at = (pairs: number) => nominalP(defaultLooks, pairs, defaultAlpha);
	expect([at(0), at(4)]).toEqual([null, null]);
	expect([at(7), at(11), at(15), at(40)]).toEqual([at(5), at(8), at(12), at(16)]);
});

test("all looks of latency and P99 of all workloads together spend alpha, whatever the looks", () => {
	const looks = fc.uniqueArray(fc.integer({ min: 2, max: 200 }), { minLength: 1, maxLength: 8 });
	fc.assert(
		fc.property(
			looks,
			fc.double({ min: 1e-4, max: 0.2, noNaN: true }),
			fc.integer({ min: 1, max: 500 }),
			(list, alpha, family) => {
				const shares = [errorShare("latency", family), errorShare("p99", family)];
				const ps = shares.flatMap((share) =>
					list.map((look) => nominalP(list, look, alpha * share) ?? Number.NaN),
				);
				const sum = ps.reduce((total, p) => total + p, 0);
				return ps.every((p) => p > 0) && Math.abs(sum * family - alpha) < 1e-12;
			},
		),
	);
});

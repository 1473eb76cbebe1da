// The error is spent over the looks and over the family, never more than there is.
import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultLooks, nextLook, nominalP } from "../../../src/core/compare/looks.ts";
import { tCritical } from "../../../src/core/stats/student-t.ts";

const alone = { alpha: 0.01, family: 1 };

test("the default looks have the calibrated critical values", () => {
	const criticals = defaultLooks.map((look) => tCritical(nominalP(defaultLooks, look, alone) ?? 1, look - 1));
	expect(criticals.map((critical) => critical.toFixed(3))).toEqual(["5.823", "4.610", "3.856", "3.589"]);
});

test("between looks the last look's p holds, before the first there is none", () => {
	const at = (pairs: number) => nominalP(defaultLooks, pairs, alone);
	expect([at(0), at(4)]).toEqual([null, null]);
	expect([at(7), at(11), at(15), at(40)]).toEqual([at(5), at(8), at(12), at(16)]);
});

test("a single look spends everything", () => {
	expect(nominalP([10], 10, alone)).toBeCloseTo(0.01, 15);
});

test("looks of any kind spend no more than alpha over the family", () => {
	const looks = fc.uniqueArray(fc.integer({ min: 2, max: 200 }), { minLength: 1, maxLength: 8 });
	fc.assert(
		fc.property(looks, fc.double({ min: 1e-4, max: 0.2, noNaN: true }), fc.integer({ min: 1, max: 500 }), (list, alpha, family) => {
			const ps = list.map((look) => nominalP(list, look, { alpha, family }) ?? Number.NaN);
			const sum = ps.reduce((total, p) => total + p, 0);
			return ps.every((p) => p > 0) && Math.abs(sum * family - alpha) < 1e-12;
		}),
	);
});

test("the calibration is kept to the one error it was made for; a family gets the union bound", () => {
	const sum = (family: number) =>
		defaultLooks.reduce((total, look) => total + (nominalP(defaultLooks, look, { alpha: 0.01, family }) ?? 0), 0);
	expect(sum(1)).toBeGreaterThan(0.012);
	expect(sum(4)).toBeCloseTo(0.0025, 12);
});

test("the next look is the smallest one ahead", () => {
	expect([0, 5, 6, 16].map((pairs) => nextLook(defaultLooks, pairs))).toEqual([5, 8, 8, null]);
	expect(nextLook([], 3)).toBeNull();
});

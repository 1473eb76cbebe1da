// Facts without noise are compared as facts.
import { expect, test } from "vitest";
import { compareExact, observedMemory } from "../../../src/core/compare/compare.ts";

const size = { what: "engine size" };
const mib = 2 ** 20;

test.each([
	[1000, 1000, "unchanged", 0],
	[1000, 1001, "regressed", 0.001],
	[1000, 900, "improved", -0.1],
	[0, 0, "unchanged", 0],
] as const)("%d bytes to %d bytes are %s", (...[base, head, verdict, estimate]) => {
	expect(compareExact(base, head, size)).toEqual({
		verdict,
		estimate,
		interval: [estimate, estimate],
		pairs: 0,
		excluded: Math.abs(estimate),
		minimalEffect: 0,
		level: 1,
	});
});

test.each([
	[100, 102, "unchanged"],
	[100, 102.01, "regressed"],
	[100, 97.9, "improved"],
	[10_000, 10_050, "unchanged"],
	[10_000, 10_051, "regressed"],
] as const)(
	"observed memory of %d MiB to %d MiB is %s: 2 MiB or 0.5 %% are nothing",
	(base, head, verdict) => {
		expect(compareExact(base * mib, head * mib, observedMemory).verdict).toBe(verdict);
	},
);

test.each([
	[null, null, "missing", "Neither base nor head"],
	[null, 1, "missing", "nothing to compare with"],
	[1, null, "not-comparable", "the head does not"],
	[0, 1, "not-comparable", "no ratio"],
	[Number.NaN, 1, "not-comparable", "The base's engine size is NaN"],
	[1, Number.POSITIVE_INFINITY, "not-comparable", "The head's engine size is Infinity"],
	[1, -1, "not-comparable", "The head's engine size is -1"],
] as const)("%s against %s is %s", (...[base, head, verdict, reason]) => {
	const got = compareExact(base, head, size);
	expect(got).toMatchObject({ verdict, estimate: null, interval: null, excluded: null });
	expect(got.reason).toContain(reason);
});

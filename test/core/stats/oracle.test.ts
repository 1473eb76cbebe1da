import { describe, expect, test } from "vitest";
import {
	harrellDavis,
	logGamma,
	median,
	quantile,
	regularisedBeta,
	sampleMean,
	tCritical,
	theilSen,
} from "../../../src/core/stats/quantile.ts";
import oracle from "../../oracles/statistics.json" with { type: "json" };

function expectClose(got: number, expected: number, tolerance = 1e-9) {
	if (got === expected) return;
	expect(Math.abs(got - expected), `${got} against ${expected}`).toBeLessThanOrEqual(
		tolerance * Math.abs(expected),
	);
}

test("ln gamma agrees with scipy", () => {
	for (const [x = 0, expected = 0] of oracle.logGamma) expectClose(logGamma(x), expected);
});

test("the incomplete beta function agrees with scipy up to parameters of 100 000", () => {
	for (const [a = 0, b = 0, x = 0, expected = 0] of oracle.regularisedBeta)
		expectClose(regularisedBeta(a, b, { x, y: 1 - x }), expected);
});

test("t quantiles agree with scipy down to a p of 1e-12", () => {
	for (const [p = 0, df = 0, expected = 0] of oracle.tQuantile)
		expectClose(Math.sign(expected) * tCritical(2 * Math.min(p, 1 - p), df), expected);
});

test("critical values of t are exact at their edges", () => {
	expect(tCritical(1, 4)).toBe(0);
	expectClose(tCritical(2e-100, 1), 1 / (Math.PI * 1e-100));
	expectClose(tCritical(2e-300, 1e7), 37.0471, 1e-4);
});

describe.each(Object.entries(oracle.samples))("the sample %s", (_, sample) => {
	const sorted = Float64Array.from(sample.values).sort();

	test("a sample has numpy's quantiles to the bit", () => {
		for (const [p = 0, expected] of sample.quantiles) expect(quantile(sorted, p)).toBe(expected);
	});

	test("has scipy's Harrell-Davis quantiles", () => {
		for (const [p = 0, expected = 0] of sample.harrellDavis) expectClose(harrellDavis(sorted, p), expected);
	});
});

test("a Harrell-Davis P99 of 100 000 samples is scipy's, though most weights are left out", () => {
	const { n, golden, harrellDavis: quantiles } = oracle.large;
	const sorted = Float64Array.from({ length: n }, (_, k) => 1 + (((k + 1) * golden) % 1) ** 4).sort();
	for (const [p = 0, expected = 0] of quantiles) expectClose(harrellDavis(sorted, p), expected);
});

test("quantiles of nothing are not a number, and of one value that value", () => {
	const [none, one] = [new Float64Array(), Float64Array.of(3)];
	for (const value of [quantile(none, 0.5), harrellDavis(none, 0.5), median([])]) expect(value).toBeNaN();
	for (const p of [0, 0.99, 1]) expect(harrellDavis(one, p)).toBe(3);
	expect(median([3])).toBe(3);
});

test.each(oracle.slopes)(
	"the slope of $values and its interval agree with scipy",
	({ values, ...expected }) => {
		const { slope, low, high } = theilSen(values);
		for (const [got, wanted] of [
			[slope, expected.slope],
			[low, expected.interval[0]],
			[high, expected.interval[1]],
		])
			expect(got).toBeCloseTo(wanted ?? Number.NaN, 9);
	},
);

test("means and their errors agree with scipy", () => {
	for (const row of oracle.means) {
		const got = sampleMean(row.values);
		expect(got?.df).toBe(row.df);
		expectClose(got?.mean ?? Number.NaN, row.mean);
		expectClose(got?.sd ?? Number.NaN, row.sd);
		expectClose((got?.sd ?? Number.NaN) / Math.sqrt(row.values.length), row.standardError);
	}
});

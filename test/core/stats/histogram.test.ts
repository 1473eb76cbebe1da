import { expect, test } from "vitest";
import { histogram } from "../../../src/core/stats/histogram.ts";

test("both sides share bins between the 0.5th and the 99.5th percentile of all samples", () => {
	const base = Float64Array.from({ length: 1000 }, (_, index) => 1 + index / 1000);
	const head = Float64Array.from({ length: 1000 }, (_, index) => 2 + index / 1000);
	const drawn = histogram([base], [head.slice(0, 500), head.slice(500)], 10);
	expect(drawn?.fromMs).toBeCloseTo(1.01, 3);
	expect(drawn?.toMs).toBeCloseTo(2.989, 3);
	expect(drawn?.base.slice(6)).toEqual([0, 0, 0, 0]);
	expect(drawn?.head.slice(0, 4)).toEqual([0, 0, 0, 0]);
	expect([...(drawn?.base ?? []), ...(drawn?.head ?? [])].reduce((sum, count) => sum + count, 0)).toBe(1980);
});

test("a spike is left out instead of flattening the picture", () => {
	const samples = Float64Array.from({ length: 1000 }, (_, index) => (index === 0 ? 500 : 1 + index / 1e5));
	expect(histogram([samples], [], 20)?.toMs).toBeLessThan(1.02);
});

test.each([
	[[], 10],
	[[Number.NaN], 10],
	[[1, Number.NEGATIVE_INFINITY], 10],
	[[1], 0],
	[[1], 2.5],
	[[1], 1e9],
])("samples %j in %d bins are not drawn", (values, bins) => {
	expect(histogram([Float64Array.from(values)], [], bins)).toBeNull();
});

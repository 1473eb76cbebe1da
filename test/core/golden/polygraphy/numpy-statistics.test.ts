// Sums, means, medians and quantiles against numpy's own (test/oracles/golden-numpy.py): the verdict may hang on the last bit.
import { describe, expect, it } from "vitest";
import { castUp, type NumpyArray } from "../../../../src/core/golden/polygraphy/numpy.ts";
import { largest, mean, median, quantile, sum } from "../../../../src/core/golden/polygraphy/numpy-statistics.ts";
import type { DType } from "../../../../src/core/schema/golden.ts";
import oracle from "../../../oracles/golden-numpy.json" with { type: "json" };

/** The numbers that the oracle makes too. */
function made(dtype: string, length: number): NumpyArray {
	const numbers: number[] = [];
	for (let i = 0, x = 1; i < length; i += 1) {
		x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
		numbers.push(x);
	}
	if (dtype === "f8") return { kind: "f64", values: Float64Array.from(numbers, (x) => x / 2 ** 32 - 0.5) };
	if (dtype === "f4") return { kind: "f32", values: Float64Array.from(numbers, (x) => Math.fround(x / 2 ** 32 - 0.5)) };
	return { kind: dtype === "i4" ? "i32" : "i64", values: BigInt64Array.from(numbers, (x) => BigInt(x - 2 ** 31)) };
}

interface Statistics {
	sum: string;
	mean32: string;
	mean64: string;
	median?: string;
	first?: string;
	last?: string;
	quantiles?: (number | string)[][];
}

/** Zeros without a sign: no limit tells them apart. */
function number(text: unknown): number {
	return Number(String(text).replace("inf", "Infinity")) + 0;
}

function expectSame(array: NumpyArray, numpy: Statistics): void {
	const expectOne = (name: string, got: number, wanted: unknown): void => expect(got + 0, name).toEqual(number(wanted));
	expectOne("sum", sum(array), numpy.sum);
	expectOne("mean in binary32", mean(array, "binary32"), numpy.mean32);
	expectOne("mean in binary64", mean(array, "binary64"), numpy.mean64);
	if (numpy.median === undefined) return;
	expectOne("median", median(array), numpy.median);
	for (const [share, value] of numpy.quantiles ?? []) expectOne(`quantile ${share}`, quantile(array, Number(share)), value);
	expectOne("first", quantile(array, "first"), numpy.first);
	expectOne("last", quantile(array, "last"), numpy.last);
}

describe("numpy's statistics", () => {
	it.each(oracle.long)("are the same to the last bit: $length of $dtype", ({ dtype, length, ...numpy }) => {
		expectSame(made(dtype, length), numpy);
	});

	it.each(oracle.short)("are the same to the last bit: $name", ({ dtype, bytes, length, ...numpy }) => {
		expectSame(castUp({ dtype: dtype as DType, shape: [length], data: Uint8Array.from(Buffer.from(bytes, "hex")) }), numpy);
	});

	it("of nothing are Polygraphy's own", () => {
		const nothing = made("f4", 0);
		expect([largest(nothing), median(nothing), quantile(nothing, 0.5), quantile(nothing, "last")]).toEqual([0, 0, Infinity, Infinity]);
	});

	it("hand NaN on as the largest value", () => {
		expect(largest({ kind: "f32", values: Float64Array.of(1, Number.NaN, 3) })).toBeNaN();
		expect(largest({ kind: "i64", values: BigInt64Array.of(-5n, -7n) })).toBe(-5);
	});
});

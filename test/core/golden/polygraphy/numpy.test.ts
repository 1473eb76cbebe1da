// Arithmetic in numpy's types against numpy's own (test/oracles/golden-numpy.py).

import { describe, expect, it } from "vitest";
import {
	absolute,
	castUp,
	divide,
	largest,
	mean,
	median,
	multiply,
	type NumpyArray,
	quantile,
	square,
	subtract,
	subtractWraps,
	sum,
} from "../../../../src/core/golden/polygraphy/numpy.ts";
import { elementBytes, type Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import type { DType } from "../../../../src/core/schema/golden.ts";
import oracle from "../../../oracles/golden-numpy.json" with { type: "json" };

const operations: Readonly<Record<string, (left: NumpyArray, right: NumpyArray) => NumpyArray>> = {
	subtract,
	multiply,
	divide,
	square: (left) => square(left),
	absolute: (left) => absolute(left),
};

function arrayOf([dtype, hex]: string[]): NumpyArray {
	const data = Uint8Array.from(Buffer.from(hex ?? "", "hex"));
	const tensor: Tensor = { dtype: dtype as DType, shape: [data.length / elementBytes[dtype as DType]], data };
	return castUp(tensor);
}

/** As numpy writes them, but for zeros without a sign. */
function texts({ values }: NumpyArray): unknown[] {
	return [...values].map((value) => (typeof value === "bigint" ? value : value + 0));
}

describe("arithmetic in numpy's types", () => {
	it.each(oracle.elementwise.map((one) => ({ ...one, sides: `${one.left[0]} ${one.right[0]}` })))(
		"gives $operation of $sides as $kind, to the last bit",
		({ operation, left, right, kind, values }) => {
			const result = operations[operation]?.(arrayOf(left), arrayOf(right));
			const isNumber = kind.startsWith("f") || kind === "bool";
			const read = (text: string): unknown => (isNumber ? Number(text.replace("inf", "Infinity")) + 0 : BigInt(text));
			expect(result?.kind).toBe(kind);
			expect(texts(result as NumpyArray)).toEqual(values.map(read));
		},
	);

	it.each<[string, string[], string[], boolean]>([
		["int32 across the whole range", ["int32", "ffffff7f"], ["int32", "00000080"], true],
		["int32 against int64, which is computed in int64", ["int32", "ffffff7f"], ["int64", "00000080ffffffff"], false],
		["uint64 below zero", ["uint64", "0100000000000000"], ["uint64", "0200000000000000"], true],
		["uint64 above zero", ["uint64", "0200000000000000"], ["uint64", "0100000000000000"], false],
		["floats, which do not wrap", ["float32", "e6b1617f"], ["float32", "e6b161ff"], false],
	])("knows whether a difference wraps: %s", (_, left, right, wraps) => {
		expect(subtractWraps(arrayOf(left), arrayOf(right))).toBe(wraps);
	});
});

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

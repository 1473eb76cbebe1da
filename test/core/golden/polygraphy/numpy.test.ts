// Arithmetic in numpy's types against numpy's own (test/oracles/golden-numpy.py).
import { describe, expect, it } from "vitest";
import {
	absolute,
	castUp,
	divide,
	multiply,
	type NumpyArray,
	square,
	subtract,
	subtractWraps,
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

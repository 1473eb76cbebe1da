import { expect, it } from "vitest";
import type { DType } from "../../generated/golden.ts";
import { type FilledInput, fillInput } from "../../src/core/fill.ts";
import { uniformSource } from "../../src/core/stats/random.ts";
import oracle from "../oracles/ort_fill.json" with { type: "json" };

const input = (dtype: DType, fill: FilledInput["fill"], count = 5): FilledInput => ({
	dtype,
	shape: [count],
	fill,
});

function halfValue(bits: number) {
	const exponent = (bits >> 10) & 31;
	const size = exponent === 0 ? (bits & 1023) * 2 ** -24 : (1 + (bits & 1023) / 1024) * 2 ** (exponent - 15);
	return bits & 0x8000 ? -size : size;
}

function values(dtype: DType, bytes: Uint8Array) {
	const { buffer } = bytes;
	if (dtype === "float32") return [...new Float32Array(buffer)];
	if (dtype === "float64") return [...new Float64Array(buffer)];
	if (dtype === "float16") return [...new Uint16Array(buffer)].map(halfValue);
	return [...new BigInt64Array(buffer)].map(Number);
}

it.each(oracle)("fillInput makes the $fill $dtype values of seed $seed, input $index", (row) => {
	const dtype = row.dtype as DType;
	const got = values(dtype, fillInput(input(dtype, row.fill as FilledInput["fill"]), row.seed, row.index));
	// Halves are rounded toward zero here, to nearest there: one unit in the last of 11 places.
	const tolerance = dtype === "float16" ? 2 ** -10 : 1e-12;
	for (const [index, value] of got.entries()) {
		const expected = row.values[index] ?? Number.NaN;
		expect(Math.abs(value - expected)).toBeLessThanOrEqual(tolerance * Math.abs(expected));
	}
	expect(got).toHaveLength(row.values.length);
});

it("fillInput draws normal numbers of mean 0 and deviation 1, uniform ones of mean 1/2", () => {
	const normal = [...new Float32Array(fillInput(input("float32", "normal", 20_000), 1, 0).buffer)];
	const mean = normal.reduce((sum, value) => sum + value, 0) / normal.length;
	const variance = normal.reduce((sum, value) => sum + (value - mean) ** 2, 0) / normal.length;
	// Five standard errors of 20,000 draws.
	expect(Math.abs(mean)).toBeLessThan(0.036);
	expect(Math.abs(variance - 1)).toBeLessThan(0.05);
	const uniform = uniformSource(1);
	const half = Array.from({ length: 20_000 }, uniform).reduce((sum, value) => sum + value, 0) / 20_000;
	expect(Math.abs(half - 0.5)).toBeLessThan(0.011);
});

it.each([
	["float32", [0, 0, 0x80, 0x3f]],
	["float16", [0, 0x3c]],
	["bfloat16", [0x80, 0x3f]],
	["int32", [1, 0, 0, 0]],
	["bool", [1]],
] as const)("fillInput fills %s with ones, and with zeros", (dtype, one) => {
	expect([...fillInput(input(dtype, "ones", 1), 1, 0)]).toEqual(one);
	expect([...fillInput(input(dtype, "zeros", 1), 1, 0)]).toEqual(one.map(() => 0));
});

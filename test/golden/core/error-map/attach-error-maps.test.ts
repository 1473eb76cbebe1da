// Failed checks carry a coarse map of their errors; those that pass carry none.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/result-validator.js";
import { type CaseInput, judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import {
	attachErrorMaps,
	errorMap,
	planeOf,
} from "../../../../src/golden/core/error-map/attach-error-maps.ts";
import { elementCount, type Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { buildResult } from "../../../support/build-result.ts";
import { caseInput, float32 } from "../../../support/golden-tensors.ts";

const bytes = (cells: string): number[] => [...atob(cells)].map((letter) => letter.charCodeAt(0));

/** Zeros but for the errors, by flat index. */
function withErrors(shape: readonly number[], errors: Readonly<Record<number, number>> = {}): Tensor {
	return float32(
		Array.from({ length: elementCount(shape) }, (_, at) => errors[at] ?? 0),
		shape,
	);
}

const sidesOf = (shape: readonly number[], errors: Readonly<Record<number, number>>) => ({
	expected: withErrors(shape),
	got: withErrors(shape, errors),
});
const attach = (input: CaseInput, most = 50) => attachErrorMaps(judgeCase(input), input, most);
const shape = [2, 3, 16, 16];
const y = withErrors(shape);
/** In the second sample, second channel, row 5, column 9. */
const wrong = withErrors(shape, { [768 + 256 + 16 * 5 + 9]: 4 });

it.each<[string, GoldenOutput]>([
	["that was judged", { batchAxis: 0 }],
	["of the worst element where the whole was judged", {}],
])("attachErrorMaps shows the sample %s", (_, output) => {
	const { verdict, drawn } = attach(caseInput({ y }, { y: wrong }, { specs: { y: output } }));
	const map = verdict.checks[0]?.errorMap;
	expect(drawn).toBe(1);
	expect(map).toMatchObject({ sample: 1, axes: [2, 3], largest: 4 });
	expect(bytes(map?.cells ?? "").indexOf(254)).toBe(5 * 16 + 9);
	expect(validate(buildResult({ golden: [verdict] })), JSON.stringify(validate.errors)).toBe(true);
});

it("attachErrorMaps covers the slice of the check", () => {
	const comparators: GoldenOutput["comparators"] = [
		{ kind: "max-abs", tolerance: 1, slice: { axis: 2, from: 4, to: 16 } },
	];
	const { verdict } = attach(caseInput({ y }, { y: wrong }, { specs: { y: { comparators } } }));
	const map = verdict.checks[0]?.errorMap;
	expect(map).toMatchObject({ height: 12, width: 16 });
	expect(bytes(map?.cells ?? "").indexOf(254)).toBe(1 * 16 + 9);
});

it("attachErrorMaps draws one map for each output", () => {
	const comparators: GoldenOutput["comparators"] = [{ kind: "relative-l2" }, { kind: "max-abs" }];
	const { verdict, drawn } = attach(caseInput({ y }, { y: wrong }, { specs: { y: { comparators } } }));
	expect(drawn).toBe(1);
	expect(verdict.checks.map(({ errorMap: map }) => map !== undefined)).toEqual([true, false]);
});

it.each<[string, Record<string, Tensor>]>([
	["passes", { y }],
	["is missing", {}],
	["has another shape", { y: withErrors([2, 3]) }],
])("attachErrorMaps draws nothing if an output %s", (_, got) => {
	expect(attach(caseInput({ y }, got)).drawn).toBe(0);
});

it("attachErrorMaps keeps to the number that is left", () => {
	const expected = { a: y, b: y, c: y };
	expect(attach(caseInput(expected, { a: wrong, b: wrong, c: wrong }), 2).drawn).toBe(2);
});

it.each<[number[], ReturnType<typeof planeOf>]>([
	[
		[2, 3, 32, 40],
		[2, 3],
	],
	[
		[1, 32, 40, 3],
		[1, 2],
	],
	[
		[8, 64, 768],
		[1, 2],
	],
	[
		[32, 1000],
		[0, 1],
	],
	[[1, 1000], null],
	[[1000], null],
	[[], null],
	[[1, 3, 4, 4], null],
])("planeOf %j is %j", (of, plane) => expect(planeOf(of)).toEqual(plane));

it("errorMap puts the largest difference of all channels into its cell, of 254 steps", () => {
	const map = errorMap(sidesOf([1, 2, 8, 8], { [64 + 8 * 3 + 5]: 2, [8 * 3 + 5]: -1, 7: 1 }), [2, 3]);
	expect(map).toMatchObject({ rows: 8, columns: 8, height: 8, width: 8, largest: 2 });
	const differing = bytes(map.cells).flatMap((cell, at) => (cell > 0 ? [[at, cell]] : []));
	expect(differing).toEqual([
		[7, 127],
		[29, 254],
	]);
});

it("errorMap marks what is not finite by a value of its own, and shows the smallest difference", () => {
	const map = errorMap(sidesOf([8, 8], { 0: Number.NaN, 1: 1, 2: 1e-9 }), [0, 1]);
	expect(bytes(map.cells).slice(0, 4)).toEqual([255, 254, 1, 0]);
	expect(map.largest).toBe(1);
});

it("errorMap takes large planes together into at most 48 by 48 cells, none of them lost", () => {
	const side = fc.integer({ min: 8, max: 130 });
	fc.assert(
		fc.property(side, side, fc.nat(), (height, width, seed) => {
			const at = seed % (height * width);
			const map = errorMap(sidesOf([height, width], { [at]: 3 }), [0, 1]);
			expect([map.rows, map.columns]).toEqual([Math.min(48, height), Math.min(48, width)]);
			const cells = bytes(map.cells);
			expect(cells.length).toBe(map.rows * map.columns);
			const row = (Math.floor(cells.indexOf(254) / map.columns) + 0.5) / map.rows;
			expect(Math.abs(row - Math.floor(at / width) / height)).toBeLessThan(0.15);
			expect(cells.filter((cell) => cell > 0).length).toBe(1);
		}),
	);
});

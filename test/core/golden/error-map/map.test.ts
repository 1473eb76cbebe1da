// Error maps show where an output differs, coarsely and in bounds.
import fc from "fast-check";
import { expect, it } from "vitest";
import { errorMap, planeOf } from "../../../../src/core/golden/error-map/map.ts";
import { elementCount } from "../../../../src/core/golden/tensor/tensor.ts";
import { float32 } from "../../../support/golden-tensors.ts";

const bytes = (cells: string): number[] => [...atob(cells)].map((letter) => letter.charCodeAt(0));

function withErrors(shape: readonly number[], errors: Readonly<Record<number, number>>) {
	const values = new Array<number>(elementCount(shape)).fill(0);
	for (const [at, error] of Object.entries(errors)) values[Number(at)] = error;
	return { expected: float32(new Array<number>(values.length).fill(0), shape), got: float32(values, shape) };
}

it.each<{ shape: number[]; image?: boolean; plane: ReturnType<typeof planeOf> }>([
	{ shape: [2, 3, 32, 40], plane: { axes: [2, 3], image: true } },
	{ shape: [1, 32, 40, 3], plane: { axes: [1, 2], image: true } },
	{ shape: [8, 64, 768], plane: { axes: [1, 2], image: false } },
	{ shape: [1, 64, 64], image: true, plane: { axes: [1, 2], image: true } },
	{ shape: [32, 1000], plane: { axes: [0, 1], image: false } },
	{ shape: [1, 1000], plane: null },
	{ shape: [1000], plane: null },
	{ shape: [], plane: null },
	{ shape: [1, 3, 4, 4], plane: null },
])("planeOf of $shape is $plane", ({ shape, image, plane }) =>
	expect(planeOf(shape, image ?? false)).toEqual(plane),
);

it("errorMap puts the largest difference of all channels into its cell, of 254 steps", () => {
	const sides = withErrors([1, 2, 8, 8], { [64 + 8 * 3 + 5]: 2, [8 * 3 + 5]: -1, 7: 1 });
	const map = errorMap(sides, { axes: [2, 3], image: true });
	const cells = bytes(map.cells);
	expect({ ...map, cells: cells.length }).toMatchObject({
		rows: 8,
		columns: 8,
		height: 8,
		width: 8,
		largest: 2,
		cells: 64,
	});
	expect(cells.flatMap((cell, at) => (cell > 0 ? [[at, cell]] : []))).toEqual([
		[7, 127],
		[29, 254],
	]);
});

it("errorMap marks what is not finite by a value of its own, and shows the smallest difference", () => {
	const map = errorMap(withErrors([8, 8], { 0: Number.NaN, 1: 1, 2: 1e-9 }), { axes: [0, 1], image: false });
	expect(bytes(map.cells).slice(0, 4)).toEqual([255, 254, 1, 0]);
	expect(map.largest).toBe(1);
});

it("errorMap takes large planes together into at most 48 by 48 cells, none of them lost", () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 8, max: 130 }),
			fc.integer({ min: 8, max: 130 }),
			fc.nat(),
			(height, width, seed) => {
				const at = seed % (height * width);
				const map = errorMap(withErrors([height, width], { [at]: 3 }), { axes: [0, 1], image: false });
				expect(map.rows).toBe(Math.min(48, height));
				expect(map.columns).toBe(Math.min(48, width));
				const cells = bytes(map.cells);
				expect(cells.length).toBe(map.rows * map.columns);
				const place = cells.indexOf(254);
				expect(
					Math.abs((Math.floor(place / map.columns) + 0.5) / map.rows - Math.floor(at / width) / height),
				).toBeLessThan(0.15);
				expect(cells.filter((cell) => cell > 0).length).toBe(1);
			},
		),
	);
});

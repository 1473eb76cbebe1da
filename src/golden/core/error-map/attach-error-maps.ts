// Entry of error-map/: adds to one failed check of each output a coarse map of where the engine differs.

import type { ErrorMap, GoldenCheck, GoldenVerdict } from "../../../../generated/result.ts";
import { layoutCheck, toNumeric } from "../compare/checks.ts";
import { wideReader } from "../compare/difference.ts";
import type { CaseInput } from "../compare/judge.ts";
import { cutSlice, elementCount, own, type Sides, sliceTensor, type Tensor } from "../tensor/tensor.ts";
import { forEachChunk } from "../tensor/values.ts";

/** Each map takes some kilobytes and a pass over the output. */
export function attachErrorMaps(
	verdict: GoldenVerdict,
	input: CaseInput,
	most: number,
): { verdict: GoldenVerdict; drawn: number } {
	const drawn = new Set<string>();
	const checks = verdict.checks.map((check) => {
		if (check.pass || drawn.has(check.output) || drawn.size >= most) return check;
		const errorMap = mapOf(check, input);
		if (errorMap === null) return check;
		drawn.add(check.output);
		return { ...check, errorMap };
	});
	return { verdict: { ...verdict, checks }, drawn: drawn.size };
}

function mapOf({ output, slice, sample, worst }: GoldenCheck, input: CaseInput) {
	const expected = own(input.expected, output);
	const got = own(input.got, output);
	if (expected === undefined || got === undefined || layoutCheck(output, expected, got) !== null) return null;
	const sides = { expected: cutSlice(expected, slice), got: cutSlice(got, slice) };
	const { shape } = sides.expected;
	const axes = planeOf(shape);
	if (axes === null || elementCount(shape) === 0) return null;
	const axis = own(input.manifest.outputs, output)?.batchAxis ?? (shape.length >= 4 ? 0 : -1);
	const size = shape[axis] ?? 1;
	if (size < 2 || size !== expected.shape[axis] || axes.includes(axis)) return errorMap(sides, axes);
	const shown = sample ?? worst?.index[axis] ?? 0;
	const cut = (tensor: Tensor) => sliceTensor(tensor, axis, shown);
	return { ...errorMap({ expected: cut(sides.expected), got: cut(sides.got) }, axes), sample: shown };
}

const maxCells = 48;
const minSide = 8;

export function planeOf(shape: readonly number[]): [number, number] | null {
	const channelsLast = shape.length >= 3 && (shape.at(-1) ?? 0) < minSide;
	const height = shape.length - (channelsLast ? 3 : 2);
	const isWide = (axis: number) => (shape[axis] ?? 0) >= minSide;
	return isWide(height) && isWide(height + 1) ? [height, height + 1] : null;
}

export function errorMap({ expected, got }: Sides, axes: [number, number]): ErrorMap {
	const { shape } = expected;
	const [height, width] = axes.map((axis) => shape[axis] ?? 1) as [number, number];
	const [rowStep, columnStep] = axes.map((axis) => elementCount(shape.slice(axis + 1))) as [number, number];
	const rows = Math.min(maxCells, height);
	const columns = Math.min(maxCells, width);
	const cells = new Float64Array(rows * columns);
	const read = wideReader(expected, got);
	forEachChunk(elementCount(shape), (start, count) => {
		const chunk = read(start, count);
		for (let i = 0; i < count; i += 1) {
			const size = differenceAt(chunk, i);
			const y = Math.floor((start + i) / rowStep) % height;
			const x = Math.floor((start + i) / columnStep) % width;
			const cell = Math.floor((y * rows) / height) * columns + Math.floor((x * columns) / width);
			if (size > (cells[cell] as number)) cells[cell] = size;
		}
	});
	const largest = cells.reduce((most, value) => (Number.isFinite(value) && value > most ? value : most), 0);
	const bytes = Array.from(cells, (value) => {
		if (value === Infinity) return 255;
		return value === 0 || largest === 0 ? 0 : Math.max(1, Math.round((value / largest) * 254));
	});
	const encoded = btoa(String.fromCharCode(...bytes));
	return { rows, columns, height, width, axes, largest: toNumeric(largest), cells: encoded };
}

function differenceAt({ expected, got, difference }: ReturnType<ReturnType<typeof wideReader>>, i: number) {
	const size = Math.abs(
		difference === null ? (got[i] as number) - (expected[i] as number) : (difference[i] as number),
	);
	if (Number.isFinite(size)) return size;
	return Object.is(expected[i], got[i]) ? 0 : Infinity;
}

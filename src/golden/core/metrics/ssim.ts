// Mean structural similarity of images.
import type { Pair } from "../compare/difference.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { chunkElements, offsetReader, originOf } from "../tensor/values.ts";
import type { Measured, MetricOptions } from "./element-errors.ts";

/**
 * Mean over all planes and all pixels whose window lies inside the image of
 * (2 μx μy + C1)(2 σxy + C2) / ((μx² + μy² + C1)(σx² + σy² + C2)), C1 = (0.01 R)², C2 = (0.03 R)²
 * (Wang, Bovik, Sheikh, Simoncelli 2004, equation 13). window gaussian: 11 × 11, σ 1.5, as in the paper
 * (skimage: `structural_similarity(g, c, data_range=R, gaussian_weights=True, sigma=1.5, use_sample_covariance=False)`);
 * uniform: 7 × 7 with sample covariance (skimage's default).
 */
export function ssim(pair: Pair, options: MetricOptions): Measured {
	const elements = elementCount(pair.expected.shape);
	const grid = gridOf(pair.expected.shape, options.channels);
	const filter = filterOf(options.window);
	const size = filter.weights.length;
	if (grid === null || grid.height < size || grid.width < size) {
		const detail = `an image of at least ${size} × ${size} is needed`;
		return { value: NaN, elements, worstAt: -1, detail };
	}
	const sums = { total: 0, windows: 0, worst: Infinity, worstAt: -1 };
	const task = { grid, filter, ...planeReaders(pair, grid, options.dataRange) };
	for (let plane = 0; plane < grid.planes; plane += 1) addPlane(sums, plane, task);
	const detail = `lowest in one window: ${Number(sums.worst.toPrecision(4))}`;
	return { value: sums.total / sums.windows, elements, worstAt: sums.worstAt, detail };
}

interface Grid {
	planes: number;
	height: number;
	width: number;
	step: number;
}

function gridOf(shape: readonly number[], channels: "first" | "last"): Grid | null {
	const axes = channels === "first" ? shape : shape.slice(0, -1);
	const step = channels === "first" ? 1 : (shape.at(-1) ?? 1);
	const [height, width] = [axes.at(-2), axes.at(-1)];
	if (height === undefined || width === undefined) return null;
	return { planes: elementCount(axes.slice(0, -2)) * step, height, width, step };
}

function rowStart(grid: Grid, plane: number, row: number) {
	const image = Math.floor(plane / grid.step);
	return (image * grid.height + row) * grid.width * grid.step + (plane % grid.step);
}

interface Filter {
	weights: Float64Array;
	covariance: number;
}

function filterOf(window: MetricOptions["window"]): Filter {
	if (window === "uniform") return { weights: new Float64Array(7).fill(1 / 7), covariance: 49 / 48 };
	const raw = Float64Array.from({ length: 11 }, (_, i) => Math.exp(-0.5 * ((i - 5) / 1.5) ** 2));
	const sum = raw.reduce((total, weight) => total + weight, 0);
	return { weights: raw.map((weight) => weight / sum), covariance: 1 };
}

type RowReader = (plane: number, row: number, out: Float64Array) => void;

function planeReaders({ expected, got }: Pair, grid: Grid, dataRange: number) {
	const origin = originOf(expected);
	return {
		rows: { expected: gridReader(expected, grid, origin), got: gridReader(got, grid, origin) },
		c1: (0.01 * dataRange) ** 2,
		c2: (0.03 * dataRange) ** 2,
		origin: Number(origin),
	};
}

function gridReader(tensor: Tensor, grid: Grid, origin: bigint): RowReader {
	const read = offsetReader(tensor, origin);
	const perChunk = Math.max(1, Math.floor(chunkElements / grid.step));
	return (plane, row, out) => {
		const first = rowStart(grid, plane, row);
		for (let at = 0; at < out.length; at += perChunk) {
			const count = Math.min(perChunk, out.length - at);
			const values = read(first + at * grid.step, (count - 1) * grid.step + 1);
			for (let i = 0; i < count; i += 1) out[at + i] = values[i * grid.step] as number;
		}
	};
}

type Sums = Record<"total" | "windows" | "worst" | "worstAt", number>;

interface PlaneTask {
	grid: Grid;
	filter: Filter;
	rows: { expected: RowReader; got: RowReader };
	c1: number;
	c2: number;
	origin: number;
}

const maps = 5;

/** Keeps as many filtered rows as a window has. Subtracts the first value so that variances do not cancel. */
function addPlane(sums: Sums, plane: number, task: PlaneTask) {
	const { grid, filter, rows } = task;
	const size = filter.weights.length;
	const valid = grid.width - size + 1;
	const ring = new Float64Array(size * maps * valid);
	const x = new Float64Array(grid.width);
	const y = new Float64Array(grid.width);
	let shift = 0;
	for (let row = 0; row < grid.height; row += 1) {
		rows.expected(plane, row, x);
		rows.got(plane, row, y);
		if (row === 0) shift = Number.isFinite(x[0]) ? (x[0] as number) : 0;
		const slot = (row % size) * maps * valid;
		filterRow(ring.subarray(slot, slot + maps * valid), { x, y, weights: filter.weights, shift });
		if (row >= size - 1) addWindows(sums, { ring, valid, row, plane, shift }, task);
	}
}

function filterRow(
	out: Float64Array,
	{ x, y, weights, shift }: { x: Float64Array; y: Float64Array; weights: Float64Array; shift: number },
) {
	const valid = out.length / maps;
	out.fill(0);
	for (let k = 0; k < weights.length; k += 1) {
		const weight = weights[k] as number;
		for (let i = 0; i < valid; i += 1) {
			const a = (x[i + k] as number) - shift;
			const b = (y[i + k] as number) - shift;
			out[i] = (out[i] as number) + weight * a;
			out[valid + i] = (out[valid + i] as number) + weight * b;
			out[2 * valid + i] = (out[2 * valid + i] as number) + weight * a * a;
			out[3 * valid + i] = (out[3 * valid + i] as number) + weight * b * b;
			out[4 * valid + i] = (out[4 * valid + i] as number) + weight * a * b;
		}
	}
}

function addWindows(
	sums: Sums,
	{
		ring,
		valid,
		row,
		plane,
		shift,
	}: { ring: Float64Array } & Record<"valid" | "row" | "plane" | "shift", number>,
	{ grid, filter, c1, c2, origin }: PlaneTask,
) {
	const { weights, covariance } = filter;
	const size = weights.length;
	const columns = new Float64Array(maps * valid);
	for (let k = 0; k < size; k += 1) {
		const from = ((row - size + 1 + k) % size) * maps * valid;
		const weight = weights[k] as number;
		for (let i = 0; i < columns.length; i += 1)
			columns[i] = (columns[i] as number) + weight * (ring[from + i] as number);
	}
	const mean = (map: number, i: number) => columns[map * valid + i] as number;
	const half = (size - 1) / 2;
	for (let i = 0; i < valid; i += 1) {
		const [mx, my] = [mean(0, i), mean(1, i)];
		// Values that are not finite come from the golden; their windows are skipped.
		if (!Number.isFinite(mx)) continue;
		const vx = covariance * (mean(2, i) - mx * mx);
		const vy = covariance * (mean(3, i) - my * my);
		const vxy = covariance * (mean(4, i) - mx * my);
		const [ux, uy] = [mx + shift + origin, my + shift + origin];
		const value = ratio(2 * ux * uy + c1, ux * ux + uy * uy + c1) * ratio(2 * vxy + c2, vx + vy + c2);
		sums.total += value;
		sums.windows += 1;
		if (value >= sums.worst || Number.isNaN(sums.worst)) continue;
		sums.worst = value;
		sums.worstAt = rowStart(grid, plane, row - half) + (i + half) * grid.step;
	}
}

function ratio(part: number, whole: number) {
	return part === whole && part < Infinity ? 1 : part / whole;
}

// Mean structural similarity of images.
import type { Pair } from "../compare/difference.ts";
import { elementCount } from "../tensor/tensor.ts";
import { forEachRow, originOf, type RowVisitor } from "../tensor/values.ts";
import type { Measured, MetricOptions } from "./element-errors.ts";

/**
 * Mean over all planes and all pixels whose window lies inside the image of
 * (2 μx μy + C1)(2 σxy + C2) / ((μx² + μy² + C1)(σx² + σy² + C2)), C1 = (0.01 R)², C2 = (0.03 R)²
 * (Wang, Bovik, Sheikh, Simoncelli 2004, equation 13). window gaussian: 11 × 11, σ 1.5, as in the paper
 * (skimage: `structural_similarity(g, c, data_range=R, gaussian_weights=True, sigma=1.5, use_sample_covariance=False)`);
 * uniform: 7 × 7 with sample covariance (skimage's default).
 */
export function ssim(pair: Pair, { channels, window, dataRange }: MetricOptions): Measured {
	const { shape } = pair.expected;
	const elements = elementCount(shape);
	const filter = filterOf(window);
	const size = filter.weights.length;
	const axis = shape.length - (channels === "last" ? 2 : 1);
	const [height = 0, width = 0] = [shape[axis - 1], shape[axis]];
	if (height < size || width < size) {
		const detail = `an image of at least ${size} × ${size} is needed`;
		return { value: NaN, elements, worstAt: -1, detail };
	}
	const sums = { total: 0, windows: 0, worst: Infinity, worstAt: -1 };
	const scale = { ...filter, c1: (0.01 * dataRange) ** 2, c2: (0.03 * dataRange) ** 2 };
	const origin = originOf(pair.expected);
	const half = (size - 1) / 2;
	// By their first elements. With the channels last, rows of several planes come by turns.
	const planes = new Map<number, Plane>();
	const visit: RowVisitor = (expected, got, { first, stride }) => {
		const inPlanes = first % (height * width * stride);
		const start = first - inPlanes + (inPlanes % stride);
		// Subtracts the first value so that variances do not cancel.
		const shift = Number.isFinite(expected[0]) ? (expected[0] as number) : 0;
		const plane = planes.get(start) ?? { rows: [], shift, offset: shift + Number(origin) };
		planes.set(start, plane);
		plane.rows.push(filterRow(expected, got, filter.weights, plane.shift));
		if (plane.rows.length === size) {
			addWindows(sums, plane, scale, (column) => first + (column + half - half * width) * stride);
			plane.rows.shift();
		}
		if (inPlanes >= (height - 1) * width * stride) planes.delete(start);
	};
	forEachRow(pair, axis, visit, origin);
	const detail = `lowest in one window: ${Number(sums.worst.toPrecision(4))}`;
	return { value: sums.total / sums.windows, elements, worstAt: sums.worstAt, detail };
}

function filterOf(window: MetricOptions["window"]) {
	if (window === "uniform") return { weights: new Float64Array(7).fill(1 / 7), covariance: 49 / 48 };
	const raw = Float64Array.from({ length: 11 }, (_, i) => Math.exp(-0.5 * ((i - 5) / 1.5) ** 2));
	const sum = raw.reduce((total, weight) => total + weight, 0);
	return { weights: raw.map((weight) => weight / sum), covariance: 1 };
}

interface Plane {
	/** Filtered: the newest, fewer than a window has. */
	rows: Float64Array[];
	shift: number;
	offset: number;
}

const maps = 5;

function filterRow(x: Float64Array, y: Float64Array, weights: Float64Array, shift: number) {
	const valid = x.length - weights.length + 1;
	const out = new Float64Array(maps * valid);
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
	return out;
}

function addWindows(
	sums: Record<"total" | "windows" | "worst" | "worstAt", number>,
	{ rows, offset }: Plane,
	{ weights, covariance, c1, c2 }: ReturnType<typeof filterOf> & Record<"c1" | "c2", number>,
	placeOf: (column: number) => number,
) {
	const columns = new Float64Array(rows[0]?.length ?? 0);
	for (const [k, row] of rows.entries()) {
		const weight = weights[k] as number;
		for (let i = 0; i < columns.length; i += 1)
			columns[i] = (columns[i] as number) + weight * (row[i] as number);
	}
	const valid = columns.length / maps;
	const mean = (map: number, i: number) => columns[map * valid + i] as number;
	for (let i = 0; i < valid; i += 1) {
		const [mx, my] = [mean(0, i), mean(1, i)];
		// Values that are not finite come from the golden; their windows are skipped.
		if (!Number.isFinite(mx)) continue;
		const vx = covariance * (mean(2, i) - mx * mx);
		const vy = covariance * (mean(3, i) - my * my);
		const vxy = covariance * (mean(4, i) - mx * my);
		const [ux, uy] = [mx + offset, my + offset];
		const value = ratio(2 * ux * uy + c1, ux * ux + uy * uy + c1) * ratio(2 * vxy + c2, vx + vy + c2);
		sums.total += value;
		sums.windows += 1;
		if (value >= sums.worst || Number.isNaN(sums.worst)) continue;
		sums.worst = value;
		sums.worstAt = placeOf(i);
	}
}

function ratio(part: number, whole: number) {
	return part === whole && part < Infinity ? 1 : part / whole;
}

// Default tolerances by precision: what a correct engine of that precision keeps, with some margin.
import type { Precision, Tolerance } from "../../../../generated/golden.ts";

// Columns: fp32, TF32, fp16, bf16, int8, fp8, fp4. Three to five times the rounding noise measured on a nine-layer network
// (relative L2: fp32 6e-7, TF32 8e-4, fp16 9e-4, bf16 7e-3, int8 3.5e-2, fp8 0.1). TensorRT uses TF32 in fp32 engines by
// default, so fp32 leaves room for it.
const outputs = {
	relativeL2: [1e-3, 5e-3, 5e-3, 2e-2, 5e-2, 0.1, 0.2],
	maxAbsPerRms: [1e-2, 5e-2, 5e-2, 0.2, 0.5, 1, 2],
	/** allclose: rtol, atol as a share of the root mean square, and the share of elements that may lie outside. */
	rtol: [5e-3, 1e-2, 1e-2, 5e-2, 0.1, 0.2, 0.4],
	atolPerRms: [5e-3, 1e-2, 1e-2, 5e-2, 0.1, 0.2, 0.4],
	outside: [1e-4, 1e-4, 1e-4, 1e-3, 1e-2, 1e-2, 1e-2],
	cosine: [0.99999, 0.9999, 0.9999, 0.999, 0.99, 0.99, 0.98],
	topK: [0.99, 0.99, 0.99, 0.98, 0.95, 0.95, 0.9],
	kl: [1e-5, 1e-4, 1e-4, 5e-4, 5e-3, 2e-2, 5e-2],
	ssim: [0.999, 0.995, 0.995, 0.99, 0.95, 0.9, 0.85],
	/** The smallest probability that the arithmetic holds; layers between quantised ones run in binary16. */
	minProbability: [2 ** -126, 2 ** -126, 2 ** -24, 2 ** -126, 2 ** -24, 2 ** -24, 2 ** -24],
};

// A few times the relative error of the precision; a box of 100 pixels that moves by one keeps an overlap of 0.98.
const boxes = {
	score: [0.01, 0.02, 0.02, 0.05, 0.1, 0.1, 0.2],
	iou: [0.98, 0.95, 0.95, 0.9, 0.8, 0.8, 0.7],
	f1: [1, 1, 1, 0.98, 0.95, 0.95, 0.9],
	map: [0.99, 0.98, 0.98, 0.95, 0.9, 0.9, 0.8],
};

export type DefaultTolerances = Readonly<Record<keyof typeof outputs, number>>;
export type BoxTolerances = Readonly<Record<keyof typeof boxes, number>>;

const columns: Readonly<Record<Precision, number>> = {
	fp64: 0,
	fp32: 0,
	tf32: 1,
	fp16: 2,
	bf16: 3,
	int8: 4,
	fp8: 5,
	int4: 6,
	fp4: 6,
};

function byPrecision<Key extends string>(table: Readonly<Record<Key, readonly number[]>>) {
	const rows = Object.entries<readonly number[]>(table);
	return Object.fromEntries(
		Object.entries(columns).map(([precision, column]) => [
			precision,
			Object.fromEntries(rows.map(([key, row]) => [key, row[column]])),
		]),
	) as Readonly<Record<Precision, Readonly<Record<Key, number>>>>;
}

export const defaultTolerances = byPrecision(outputs);
export const boxTolerances = byPrecision(boxes);

export function withLimits<Spec extends { tolerance?: Tolerance }>(
	spec: Spec,
	limits: Readonly<Partial<Record<Precision, number>>>,
): Spec {
	if (Object.keys(limits).length === 0) return spec;
	const { tolerance } = spec;
	const before =
		typeof tolerance === "number"
			? Object.fromEntries(Object.keys(columns).map((precision) => [precision, tolerance]))
			: tolerance;
	return { ...spec, tolerance: { ...before, ...limits } };
}

export function toleranceAt(tolerance: Tolerance | undefined, precision: Precision): number | undefined {
	if (typeof tolerance === "number" || tolerance === undefined) return tolerance;
	return tolerance[precision];
}

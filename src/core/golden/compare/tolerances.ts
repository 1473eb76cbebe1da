// Default tolerances by precision: what a correct engine of that precision keeps, with some margin.
import type { Precision, Tolerance } from "../../../../generated/golden.ts";

export interface DefaultTolerances {
	relativeL2: number;
	/** Share of the golden output's root mean square. */
	maxAbsPerRms: number;
	/** allclose: rtol, atol as a share of the root mean square, and the share of elements that may lie outside. */
	rtol: number;
	atolPerRms: number;
	outside: number;
	cosine: number;
	topK: number;
	/** Mean over rows, in nats. */
	kl: number;
	ssim: number;
	/** The smallest probability that the arithmetic can hold; smaller ones underflow to 0. */
	minProbability: number;
}

// Three to five times the rounding noise measured on a nine-layer network (relative L2: fp32 6e-7, TF32 8e-4, fp16 9e-4,
// bf16 7e-3, int8 3.5e-2, fp8 0.1). TensorRT uses TF32 in fp32 engines by default, so fp32 leaves room for it.
const single: DefaultTolerances = {
	relativeL2: 1e-3,
	maxAbsPerRms: 1e-2,
	rtol: 5e-3,
	atolPerRms: 5e-3,
	outside: 1e-4,
	cosine: 0.99999,
	topK: 0.99,
	kl: 1e-5,
	ssim: 0.999,
	// The smallest normal binary32; GPUs may flush subnormals.
	minProbability: 2 ** -126,
};
const half: DefaultTolerances = {
	relativeL2: 5e-3,
	maxAbsPerRms: 5e-2,
	rtol: 1e-2,
	atolPerRms: 1e-2,
	outside: 1e-4,
	cosine: 0.9999,
	topK: 0.99,
	kl: 1e-4,
	ssim: 0.995,
	// The smallest binary16.
	minProbability: 2 ** -24,
};
const brain: DefaultTolerances = {
	relativeL2: 2e-2,
	maxAbsPerRms: 0.2,
	rtol: 5e-2,
	atolPerRms: 5e-2,
	outside: 1e-3,
	cosine: 0.999,
	topK: 0.98,
	kl: 5e-4,
	ssim: 0.99,
	minProbability: 2 ** -126,
};
const integer: DefaultTolerances = {
	relativeL2: 5e-2,
	maxAbsPerRms: 0.5,
	rtol: 0.1,
	atolPerRms: 0.1,
	outside: 1e-2,
	cosine: 0.99,
	topK: 0.95,
	kl: 5e-3,
	ssim: 0.95,
	// Layers between the quantised ones run in binary16.
	minProbability: 2 ** -24,
};
const eight: DefaultTolerances = {
	...integer,
	relativeL2: 0.1,
	maxAbsPerRms: 1,
	rtol: 0.2,
	atolPerRms: 0.2,
	kl: 2e-2,
	ssim: 0.9,
};
const four: DefaultTolerances = {
	...eight,
	relativeL2: 0.2,
	maxAbsPerRms: 2,
	rtol: 0.4,
	atolPerRms: 0.4,
	cosine: 0.98,
	topK: 0.9,
	kl: 5e-2,
	ssim: 0.85,
};

export const defaultTolerances: Readonly<Record<Precision, DefaultTolerances>> = {
	fp64: single,
	fp32: single,
	tf32: { ...half, minProbability: single.minProbability },
	fp16: half,
	bf16: brain,
	int8: integer,
	fp8: eight,
	int4: four,
	fp4: four,
};

export function toleranceAt(tolerance: Tolerance | undefined, precision: Precision): number | undefined {
	if (typeof tolerance === "number" || tolerance === undefined) return tolerance;
	return Object.hasOwn(tolerance, precision) ? tolerance[precision] : undefined;
}

export interface BoxTolerances {
	/** Largest score difference, of scores from 0 to 1. */
	score: number;
	/** Smallest overlap of a pair. */
	iou: number;
	f1: number;
	map: number;
}

// A few times the relative error of the precision; a box of 100 pixels that moves by one keeps an overlap of 0.98.
const singleBoxes: BoxTolerances = { score: 0.01, iou: 0.98, f1: 1, map: 0.99 };
const halfBoxes: BoxTolerances = { score: 0.02, iou: 0.95, f1: 1, map: 0.98 };
const brainBoxes: BoxTolerances = { score: 0.05, iou: 0.9, f1: 0.98, map: 0.95 };
const integerBoxes: BoxTolerances = { score: 0.1, iou: 0.8, f1: 0.95, map: 0.9 };
const fourBoxes: BoxTolerances = { score: 0.2, iou: 0.7, f1: 0.9, map: 0.8 };

export const boxTolerances: Readonly<Record<Precision, BoxTolerances>> = {
	fp64: singleBoxes,
	fp32: singleBoxes,
	tf32: halfBoxes,
	fp16: halfBoxes,
	bf16: brainBoxes,
	int8: integerBoxes,
	fp8: integerBoxes,
	int4: fourBoxes,
	fp4: fourBoxes,
};

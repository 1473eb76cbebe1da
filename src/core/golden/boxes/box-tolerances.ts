// Default limits of detections by precision.
import type { Precision } from "../../schema/golden.ts";

export interface BoxTolerances {
	/** Largest score difference, of scores from 0 to 1. */
	score: number;
	/** Smallest overlap of two boxes that are one. */
	iou: number;
	f1: number;
	map: number;
}

// Scores and corners carry the rounding of the layers before them (tolerances.ts): a few times the relative error of the precision,
// and a box of 100 pixels that moves by one keeps an overlap of 0.98.
const single: BoxTolerances = { score: 0.01, iou: 0.98, f1: 1, map: 0.99 };
const half: BoxTolerances = { score: 0.02, iou: 0.95, f1: 1, map: 0.98 };
const brain: BoxTolerances = { score: 0.05, iou: 0.9, f1: 0.98, map: 0.95 };
const integer: BoxTolerances = { score: 0.1, iou: 0.8, f1: 0.95, map: 0.9 };
const four: BoxTolerances = { score: 0.2, iou: 0.7, f1: 0.9, map: 0.8 };

export const boxTolerances: Readonly<Record<Precision, BoxTolerances>> = {
	fp64: single,
	fp32: single,
	tf32: half,
	fp16: half,
	bf16: brain,
	int8: integer,
	fp8: integer,
	int4: four,
	fp4: four,
};

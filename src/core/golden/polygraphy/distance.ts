// Polygraphy's comparators by one number: L2 distance, cosine similarity, PSNR and SNR.
import { elementCount } from "../tensor/tensor.ts";
import { castUp, multiply, type NumpyArray, square, subtract } from "./numpy.ts";
import { largest, mean, sum } from "./numpy-statistics.ts";
import { type Limit, measure, type Outcome, type Sides, stopped } from "./outcome.ts";
import type { OutputSettings } from "./settings.ts";

interface Arrays {
	candidate: NumpyArray;
	golden: NumpyArray;
}

function arraysOf({ candidate, golden }: Sides): Arrays {
	return { candidate: castUp(candidate), golden: castUp(golden) };
}

/** numpy subtracts no bools. */
function noDifference({ candidate, golden }: Arrays): Outcome | null {
	return candidate.kind === "bool" && golden.kind === "bool" ? stopped("numpy makes no difference of bools") : null;
}

function plain(name: string, value: number, limit: Limit): Outcome {
	const only = measure(name, value, limit);
	return { pass: only.pass, measures: [only], cautions: [] };
}

export function compareL2(sides: Sides, { l2 }: OutputSettings): Outcome {
	const arrays = arraysOf(sides);
	const distance = (): number => Math.sqrt(sum(square(subtract(arrays.candidate, arrays.golden))));
	return noDifference(arrays) ?? plain("L2 distance", distance(), { allowed: l2, bound: "at-most" });
}

export function compareCosine(sides: Sides, { cosine }: OutputSettings): Outcome {
	const arrays = arraysOf(sides);
	const { value, overflows } = cosineOf(arrays);
	const outcome = plain("cosine similarity", value, { allowed: cosine, bound: "at-least" });
	return outcome.pass && overflows
		? { ...outcome, cautions: ["its products overflow, so that its cosine similarity says nothing"] }
		: outcome;
}

function cosineOf({ candidate, golden }: Arrays): { value: number; overflows: boolean } {
	const product = sum(multiply(candidate, golden));
	const [left, right] = [Math.sqrt(sum(square(candidate))), Math.sqrt(sum(square(golden)))];
	if (left === 0 && right === 0) return { value: 1, overflows: false };
	if (left === 0 || right === 0) return { value: 0, overflows: false };
	const value = product / (left * right);
	const overflows = !Number.isFinite(product) && Number.isFinite(left) && Number.isFinite(right);
	return { value: Number.isNaN(value) ? value : Math.max(-1, Math.min(1, value)), overflows };
}

export function comparePsnr(sides: Sides, { psnr }: OutputSettings): Outcome {
	return compareByFirst(sides, { name: "PSNR (dB)", takes: "peak", ratio: psnrOf, allowed: psnr });
}

export function compareSnr(sides: Sides, { snr }: OutputSettings): Outcome {
	return compareByFirst(sides, { name: "SNR (dB)", takes: "power", ratio: snrOf, allowed: snr });
}

interface Ratio {
	name: string;
	takes: string;
	ratio(arrays: Arrays): number;
	allowed: number;
}

/** Both take their measure from the first runner, which is the candidate: what is too large there looks good. */
function compareByFirst(sides: Sides, { name, takes, ratio, allowed }: Ratio): Outcome {
	const arrays = arraysOf(sides);
	const stop = noDifference(arrays);
	if (stop !== null) return stop;
	const limit = { allowed, bound: "at-least" } as const;
	const outcome = plain(name, ratio(arrays), limit);
	if (!outcome.pass || elementCount(sides.golden.shape) === 0) return outcome;
	const byGolden = measure(name, ratio({ candidate: arrays.golden, golden: arrays.candidate }), limit);
	if (byGolden.pass) return outcome;
	const value = typeof byGolden.value === "number" ? Number(byGolden.value.toPrecision(3)) : byGolden.value;
	return { ...outcome, cautions: [`its ${takes} is taken from the first runner; by the second's own it is ${value} dB and fails`] };
}

function psnrOf({ candidate, golden }: Arrays): number {
	const noise = mean(square(subtract(candidate, golden)), "binary64");
	if (noise === 0) return Number.POSITIVE_INFINITY;
	const peak = largest(candidate);
	return 20 * Math.log10(peak <= 0 ? 1 : peak) - 10 * Math.log10(noise);
}

function snrOf({ candidate, golden }: Arrays): number {
	const noise = mean(square(subtract(candidate, golden)), "binary64");
	const signal = mean(square(candidate), "binary64");
	if (noise === 0) return Number.POSITIVE_INFINITY;
	return signal === 0 ? Number.NEGATIVE_INFINITY : 10 * Math.log10(signal / noise);
}

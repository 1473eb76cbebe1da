// Derives limits from the deviation of correct outputs, and measures each comparator on such outputs.
import type {
	DType,
	GoldenManifest,
	GoldenOutput,
	OutputSlice,
	Precision,
} from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import { isQuantised, type OnnxModel } from "../../../core/onnx/model.ts";
import { scopesOf } from "../../../core/onnx/walk.ts";
import { checkBoxes } from "../boxes/check-boxes.ts";
import { checkOutput } from "../compare/check-output.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import type { Tensor, Tensors } from "../tensor/tensor.ts";
import { forEachValue } from "../tensor/values.ts";
import { judgeSet, type SetRef } from "../whole-set/judge-set.ts";
import { floorOf, type RunOutputs, usualRoundings } from "./noise-floor.ts";

const emulated = { fp16: 2 ** -11, tf32: 2 ** -11, bf16: 2 ** -8 } as const;
type Emulated = keyof typeof emulated;
export const emulatedPrecisions = Object.keys(emulated) as Emulated[];
const unitOfFp32 = 2 ** -24;
export type Rounded = Emulated | "fp32";
export const roundedPrecisions: readonly Rounded[] = [...emulatedPrecisions, "fp32"];
/** Nothing is emulated for them. An engine of these rounds more than one of fp32, so it is allowed at least as much. */
const coarsePrecisions = ["int8", "fp8", "int4", "fp4"] as const;

export const rules = {
	/**
	 * A limit is this many times what correct outputs deviate by. Emulated fp16 lies within 40 % of an H200's on the recorded
	 * engines; the rest is for other cases, other kernels and sums in fp16.
	 */
	room: 3,
	/** Each kernel adds up in its own order: TensorRT's fp32 engines deviate three times as much as one rounding for each node. */
	sumsAt: 3,
	/**
	 * ONNX Runtime adds up the rows of an instance normalisation one by one: over 16,384 elements its fp32 errors are 1/130 to 1/250
	 * of emulated fp16's.
	 */
	instanceSumsAt: 64,
	/**
	 * The runs of the noise floor are few. The scores of a YOLOv8n differ by 1e-5 between levels of ONNX Runtime on WebAssembly, and
	 * by 3.2e-5 from its native build.
	 */
	othersAt: 3,
	/** Two correct fp32 builds of a real network may differ by this much (relative L2). */
	usualFp32: 2e-5,
	/**
	 * The same with quantised layers, where a value near a boundary becomes one integer or its neighbour: ONNX Runtime's builds differ
	 * by 2e-4, 5e-3 and 2e-2 in three public models.
	 */
	usualQuantised: 3e-2,
	/** Error of sigmoid, exp and long sums, as a share of the largest value. */
	absolute: 1e-7,
	/** An output that rounding alone moves this far tells little. */
	mostStray: 0.25,
	/** Above this limit, zeros would pass, so the room shrinks, but not below `minRoom`. */
	mostLimit: 0.9,
	minRoom: 1.2,
	mostChanged: 0.5,
} as const;

export interface NetworkTraits {
	isQuantised: boolean;
	normalisesInstances: boolean;
}

export function networkTraits(model: OnnxModel): NetworkTraits {
	const normalisesInstances = scopesOf(model).some(({ nodes }) =>
		nodes.some(({ op }) => op === "InstanceNormalization"),
	);
	return { isQuantised: isQuantised(model.graph), normalisesInstances };
}

interface Strayed extends NetworkTraits {
	dtype: DType;
	noise: number;
	rounding: Readonly<Partial<Record<Rounded, number>>>;
	peakRatio: number;
}

export interface StrayAt {
	stray: number;
	limit: number;
}

/**
 * The error of fp32, from that of the emulated precisions: it is proportional to the rounding. In quantised layers the number of
 * integers that change is, so that relative L2 grows with its root.
 */
function amplifiedRounding({ rounding, isQuantised, normalisesInstances }: Strayed) {
	const sumsAt = normalisesInstances && !isQuantised ? rules.instanceSumsAt : rules.sumsAt;
	const estimates = emulatedPrecisions.map((precision) => {
		const error = rounding[precision] ?? 0;
		const share = unitOfFp32 / emulated[precision];
		// A completely wrong output does not show how errors grow, except that quantised layers magnify small ones.
		if (error > rules.mostStray) return isQuantised && Number.isFinite(error) ? error : 0;
		return sumsAt * error * (isQuantised ? Math.sqrt(share) : share);
	});
	return Math.max(...estimates);
}

export function relativeL2Limits(strayed: Strayed): Partial<Record<Precision, StrayAt>> {
	const { dtype, noise, peakRatio, rounding } = strayed;
	const { fp32: ofOther = 0 } = rounding;
	const single = Math.max(
		rules.othersAt * noise,
		Number.isFinite(ofOther) ? ofOther : 0,
		floorOf(undefined, dtype),
		rules.absolute * peakRatio,
		amplifiedRounding(strayed),
		(strayed.isQuantised ? rules.usualQuantised : rules.usualFp32) / rules.room,
	);
	const fp32 = { stray: single, limit: withRoom(single) };
	const limits: Partial<Record<Precision, StrayAt>> = { fp32 };
	for (const precision of emulatedPrecisions) {
		const error = rounding[precision];
		if (error === undefined || !Number.isFinite(error)) continue;
		const stray = Math.max(error, usualRoundings[precision], single);
		limits[precision] = { stray, limit: Math.max(withRoom(stray), fp32.limit) };
	}
	for (const precision of coarsePrecisions)
		if (defaultTolerances[precision].relativeL2 < fp32.limit) limits[precision] = fp32;
	return limits;
}

/** Two digits, rounded down, so that a deviation beyond the room is beyond the limit. */
function withRoom(stray: number) {
	const most = Math.max(rules.mostLimit, rules.minRoom * stray);
	return rules.room * stray < most ? roundedDown(rules.room * stray) : roundedUp(most);
}

type Growth = "linear" | "square" | "decibels" | "share" | "count";
const growths: Readonly<Record<string, Growth>> = {
	"relative-l2": "linear",
	"max-abs": "linear",
	cosine: "square",
	kl: "square",
	ssim: "square",
	psnr: "decibels",
	"box-missing": "count",
	"box-extra": "count",
};

export function growthOf(kind: string): Growth {
	return growths[kind] ?? "share";
}

/**
 * The smallest distance from its best value that a metric of two fp32 outputs can be held to. SSIM divides by 1e-4 of the squared
 * range where an image is flat, so an error of 1e-5 of the range, which fp32 may have, counts 1e-6.
 */
const finest: Readonly<Record<string, number>> = { ssim: 1e-6, cosine: 1e-7, kl: 1e-7 };

export function scaledLimit(
	kind: string,
	bound: "at-most" | "at-least",
	{ value, times }: { value: number; times: number },
): number | null {
	const growth = growthOf(kind);
	if (growth === "decibels")
		return Number.isFinite(value) ? Math.floor(10 * (value - 20 * Math.log10(times))) / 10 : null;
	const measured = bound === "at-most" ? value : 1 - value;
	const scaled = measured * (growth === "square" ? times ** 2 : times);
	if (!(scaled > 0) || !Number.isFinite(scaled)) return null;
	const away = Math.max(scaled, finest[kind] ?? 0);
	if (growth === "count") return Math.ceil(away);
	const limit = roundedUp(growth === "share" ? Math.min(away, rules.mostChanged) : away);
	if (bound === "at-most") return limit;
	return limit < 1 ? Number((1 - limit).toPrecision(12)) : null;
}

export function roundedUp(value: number): number {
	const step = 10 ** (Math.floor(Math.log10(value)) - 1);
	return Number((Math.ceil(value / step - 1e-9) * step).toPrecision(2));
}

function roundedDown(value: number) {
	const step = 10 ** (Math.floor(Math.log10(value) + 1e-12) - 1);
	return Number((Math.floor(value / step + 1e-9) * step).toPrecision(2));
}

/** At least 1. Numbers from 0 to 1 are treated as results of a sigmoid, whose peak is 1. */
export function peakToRms(tensors: readonly Tensor[], floor = 0): number {
	let [min, max, smallest] = [0, 0, Infinity];
	for (const tensor of tensors) {
		let [squares, count] = [0, 0];
		forEachValue(tensor, (value) => {
			if (!Number.isFinite(value) || Math.abs(value) < floor) return;
			min = Math.min(min, value);
			max = Math.max(max, value);
			squares += value * value;
			count += 1;
		});
		if (squares > 0) smallest = Math.min(smallest, Math.sqrt(squares / count));
	}
	return Math.max(1, (min >= 0 && max <= 1 ? 1 : Math.max(-min, max)) / smallest);
}

export interface RoundedRun {
	precision: Precision;
	outputs: RunOutputs;
}

export type ComparatorErrors = ReadonlyMap<string, number>;

export function comparatorKey(
	output: string,
	kind: string,
	slice: OutputSlice | undefined,
	place = 0,
): string {
	return JSON.stringify([output, kind, slice ?? null, place]);
}

export function byRelativeL2(manifest: GoldenManifest): GoldenManifest {
	const outputs = Object.entries(manifest.outputs).map(([name, output]): [string, GoldenOutput] => {
		const [first, ...others] = (output.comparators ?? []).filter(({ kind }) => kind === "relative-l2");
		return [name, first === undefined ? output : { ...output, comparators: [first, ...others] }];
	});
	return { ...manifest, outputs: Object.fromEntries(outputs) };
}

export function anyEngine(
	{ manifest, relativeL2 }: Pick<SetRef, "manifest" | "relativeL2">,
	precision: Precision,
) {
	return { manifest, relativeL2, model: "", engine: "", precision, modelSha256: manifest.model.sha256 };
}

export function* measureErrors(
	manifest: GoldenManifest,
	reference: RunOutputs,
	runs: readonly (RoundedRun & { label?: string })[],
): Generator<string, ComparatorErrors> {
	const worst = new Map<string, number>();
	for (const run of runs) {
		for (const [index, got] of run.outputs.entries()) {
			yield `${run.label ?? run.precision}, case ${index + 1} of ${run.outputs.length}`;
			const expected = reference[index];
			if (expected !== undefined) keepWorst(worst, checksOfCase(manifest, { expected, got }, run.precision));
		}
		keepWorst(worst, checksOfSet(manifest, reference, run));
	}
	return worst;
}

function checksOfCase(
	manifest: GoldenManifest,
	{ expected, got }: Record<"expected" | "got", Tensors>,
	precision: Precision,
) {
	const outputs = Object.entries(manifest.outputs).flatMap(([name, spec]) => {
		const [wanted, found] = [expected[name], got[name]];
		if (wanted === undefined || found === undefined || spec.comparators === undefined) return [];
		const sides = { name, expected: wanted, got: found, base: undefined };
		return checkOutput(sides, { spec, precision, relativeL2: {} }).checks;
	});
	const boxes = (manifest.detections ?? []).flatMap(
		(spec) => checkBoxes(spec, { expected, got }, precision).checks,
	);
	return [...outputs, ...boxes];
}

function checksOfSet(manifest: GoldenManifest, reference: RunOutputs, run: RoundedRun) {
	const seen = manifest.cases.flatMap((golden, index) => {
		const [expected, got] = [reference[index], run.outputs[index]];
		return expected === undefined || got === undefined ? [] : [{ golden, sides: { expected, got } }];
	});
	return judgeSet(anyEngine({ manifest, relativeL2: {} }, run.precision), seen)?.checks ?? [];
}

function keepWorst(worst: Map<string, number>, checks: readonly GoldenCheck[]) {
	const places = new Map<string, number>();
	for (const { output, metric, slice, bound, got } of checks) {
		const kind = comparatorKey(output, metric, slice);
		const place = places.get(kind) ?? 0;
		places.set(kind, place + 1);
		const value = got === null ? NaN : Number(got);
		if (Number.isNaN(value)) continue;
		const key = comparatorKey(output, metric, slice, place);
		const worse = bound === "at-most" ? Math.max : Math.min;
		worst.set(key, worse(value, worst.get(key) ?? value));
	}
}

// Checks of an output that come before any metric, its parts that a comparator covers, and batches of cases.

import type { GoldenCase, OutputSlice } from "../../../../generated/golden.ts";
import type { Bound, GoldenCheck, Numeric } from "../../../../generated/result.ts";
import type { Measured } from "../metrics/element-errors.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import {
	cutSlice,
	elementBytes,
	formatShape,
	isFloating,
	type PlacedSlice,
	placeSlice,
	positionInWhole,
	type Sides,
	sliceTensor,
	type Tensor,
	tensorBytes,
	unravel,
} from "../tensor/tensor.ts";
import { forEachPair, valueAt } from "../tensor/values.ts";
import type { Pair } from "./difference.ts";

export function toNumeric(value: number): Numeric {
	if (Number.isFinite(value)) return value;
	if (Number.isNaN(value)) return "NaN";
	return value > 0 ? "Infinity" : "-Infinity";
}

export function structuralCheck(output: string, metric: string, detail: string): GoldenCheck {
	const failed = { got: null, allowed: null, bound: "at-most", pass: false, severity: "fail" } as const;
	return { output, metric, ...failed, elements: 0, detail };
}

export function markExisting(check: GoldenCheck, baseFails: boolean): GoldenCheck {
	return check.pass || !baseFails ? check : { ...check, existing: true };
}

export function mismatchState(checks: readonly GoldenCheck[]): "mismatch" | "existing" | null {
	const failing = checks.filter(({ pass, severity }) => !pass && severity === "fail");
	if (failing.length === 0) return null;
	return failing.every(({ existing }) => existing === true) ? "existing" : "mismatch";
}

export function layoutCheck(output: string, expected: Tensor, got: Tensor): GoldenCheck | null {
	if (got.dtype !== expected.dtype)
		return structuralCheck(output, "dtype", `expected ${expected.dtype}, got ${got.dtype}`);
	const [shape, gotShape] = [formatShape(expected.shape), formatShape(got.shape)];
	if (shape !== gotShape) return structuralCheck(output, "shape", `expected ${shape}, got ${gotShape}`);
	const bytes = tensorBytes(expected);
	if (got.data.length === bytes) return null;
	const detail = `${shape} of ${got.dtype} takes ${bytes} bytes, got ${got.data.length}`;
	return structuralCheck(output, "shape", detail);
}

export function nonFiniteCheck(
	output: string,
	parts: readonly OutputPart[],
	options: { mustMatch: boolean; batchAxis: number | null },
): GoldenCheck | null {
	const sum = { expected: 0, got: 0, differing: 0 };
	let first: { part: OutputPart; at: number } | undefined;
	for (const part of parts) {
		const { nonFinite } = part.difference();
		sum.expected += nonFinite.expected;
		sum.got += nonFinite.got;
		sum.differing += nonFinite.differing;
		if (nonFinite.differing > 0) first ??= { part, at: nonFinite.firstDiffering };
	}
	if (sum.expected === 0 && sum.got === 0) return null;
	const pass = sum.differing === 0 && options.mustMatch;
	let where = "but none are allowed: record it again, or set nonFinite: must-match";
	if (options.mustMatch) where = "at the same positions";
	if (sum.differing > 0) where = `${sum.differing} of them at other positions`;
	return {
		output,
		metric: "non-finite",
		sample: first?.part.sample ?? undefined,
		got: pass || sum.differing > 0 ? sum.differing : sum.got,
		allowed: 0,
		bound: "at-most",
		pass,
		severity: "fail",
		elements: sum.expected + sum.got,
		worst: first && worstOf(first.part, first.at, options.batchAxis),
		detail: `${sum.got} NaN or infinite in the engine's output, ${sum.expected} in the golden, ${where}`,
	};
}

export function worstOf(
	part: OutputPart,
	flat: number,
	batchAxis: number | null,
): NonNullable<GoldenCheck["worst"]> {
	const { expected, got } = part;
	const index = unravel(flat, expected.shape);
	if (part.sample !== null && batchAxis !== null) index[batchAxis] = part.sample;
	return {
		index: positionInWhole(index, part.slice),
		got: toNumeric(valueAt(got, flat)),
		expected: toNumeric(valueAt(expected, flat)),
	};
}

interface CoveredPart extends Sides {
	sample: number | null;
	slice: PlacedSlice | null;
}

export type OutputPart = CoveredPart & Pair;

export function findWorst(
	parts: readonly OutputPart[],
	bound: Bound,
	measure: (pair: Pair) => Measured,
): { part: OutputPart; measured: Measured; elements: number } | null {
	let worst: { part: OutputPart; measured: Measured } | null = null;
	let elements = 0;
	for (const part of parts) {
		const measured = measure(part);
		if (measured.elements === 0) continue;
		elements += measured.elements;
		if (worst === null || isWorse(measured.value, worst.measured.value, bound)) worst = { part, measured };
	}
	return worst && { ...worst, elements };
}

function isWorse(value: number, than: number, bound: Bound) {
	if (Number.isNaN(than)) return false;
	return bound === "at-most" ? !(value <= than) : !(value >= than);
}

/** Keyed by the engine's tensor: a defect is judged at several precisions. */
const knownParts = new WeakMap<Tensor, { expected: Tensor; parts: Map<string, readonly CoveredPart[]> }>();

export interface Coverage {
	slice?: OutputSlice;
	/** Where both sides are below it, the engine's value becomes the golden's. */
	floor?: number;
}

/** @param axis its samples are parts of their own; null: one part. */
export function coveredParts(
	whole: Sides,
	{ slice, floor = 0 }: Coverage,
	axis: number | null = null,
): readonly CoveredPart[] {
	let known = knownParts.get(whole.got);
	if (known?.expected !== whole.expected) known = { expected: whole.expected, parts: new Map() };
	knownParts.set(whole.got, known);
	const key = JSON.stringify([slice, floor, axis]);
	const parts = known.parts.get(key) ?? cutParts(whole, { slice, floor }, axis);
	known.parts.set(key, parts);
	return parts;
}

function cutParts(whole: Sides, { slice, floor = 0 }: Coverage, axis: number | null) {
	if (axis === null) {
		const cut = { expected: cutSlice(whole.expected, slice), got: cutSlice(whole.got, slice) };
		if (floor > 0) cut.got = withoutNoise(cut, floor);
		return [{ ...cut, sample: null, slice: placeSlice(slice, whole.expected.shape) }];
	}
	return coveredParts(whole, { slice, floor }).flatMap(({ expected, got, slice: placed }) =>
		Array.from({ length: expected.shape[axis] ?? 0 }, (_, sample) => {
			const cut = (tensor: Tensor) => sliceTensor(tensor, axis, sample);
			return { expected: cut(expected), got: cut(got), sample, slice: placed };
		}),
	);
}

function withoutNoise({ expected, got }: Sides, floor: number) {
	if (!isFloating(got.dtype) || isPacked(got.dtype)) return got;
	const bytes = elementBytes[got.dtype];
	let data: Uint8Array | null = null;
	forEachPair({ expected, got }, (wanted, found, at) => {
		if (wanted === found || !(Math.abs(wanted) < floor && Math.abs(found) < floor)) return;
		data ??= got.data.slice();
		for (let byte = at * bytes; byte < (at + 1) * bytes; byte += 1)
			data[byte] = expected.data[byte] as number;
	});
	return data === null ? got : { ...got, data };
}

export interface BatchLimits {
	bytes: number;
	cases: number;
}

/** Engines' outputs take as much again, and each batch starts a process. */
export const defaultBatchLimits: BatchLimits = { bytes: 64 * 1024 * 1024, cases: 2048 };

export function* cutBatches(
	cases: readonly GoldenCase[],
	limits: BatchLimits,
): Generator<readonly GoldenCase[]> {
	let start = 0;
	let bytes = 0;
	for (const [index, { inputs, outputs }] of cases.entries()) {
		const files = [...Object.values(inputs), ...Object.values(outputs)];
		const more = files.reduce((sum, file) => sum + tensorBytes(file), 0);
		if (index > start && (bytes + more > limits.bytes || index - start >= limits.cases)) {
			yield cases.slice(start, index);
			start = index;
			bytes = 0;
		}
		bytes += more;
	}
	if (start < cases.length) yield cases.slice(start);
}

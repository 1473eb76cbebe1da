// Checks of an output that come before any metric, and its parts: the whole output, or samples along the batch axis.

import type { Bound, GoldenCheck, Numeric } from "../../../../generated/result.ts";
import type { Measured } from "../metrics/element-errors.ts";
import {
	formatShape,
	type PlacedSlice,
	positionInWhole,
	sliceTensor,
	type Tensor,
	tensorBytes,
	unravel,
} from "../tensor/tensor.ts";
import { valueAt } from "../tensor/values.ts";
import { type Closeness, makePair, type Pair } from "./difference.ts";

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

/** null: no check fails. existing: the base fails every check that the head fails. */
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

/** null if neither side has NaN or infinities. */
export function nonFiniteCheck(
	output: string,
	parts: readonly OutputPart[],
	options: { mustMatch: boolean; batchAxis: number | null },
): GoldenCheck | null {
	const sum = { expected: 0, got: 0, differing: 0 };
	let first: { part: OutputPart; at: number } | undefined;
	for (const part of parts) {
		const { nonFinite } = part.pair.difference();
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

/** The worst element, in the coordinates of the whole output. */
export function worstOf(
	part: OutputPart,
	flat: number,
	batchAxis: number | null,
): NonNullable<GoldenCheck["worst"]> {
	const { expected, got } = part.pair;
	const index = unravel(flat, expected.shape);
	if (part.sample !== null && batchAxis !== null) index[batchAxis] = part.sample;
	return {
		index: positionInWhole(index, part.slice),
		got: toNumeric(valueAt(got, flat)),
		expected: toNumeric(valueAt(expected, flat)),
	};
}

export interface OutputPart {
	pair: Pair;
	sample: number | null;
	/** Position of both sides in the whole output; null if they are all of it. */
	slice: PlacedSlice | null;
}

/**
 * @param sides cut to the slice already.
 * @param axis its samples are parts of their own; null: one part.
 */
export function splitParts(
	sides: { expected: Tensor; got: Tensor },
	axis: number | null,
	slice: PlacedSlice | null,
	planned: Closeness | undefined,
): OutputPart[] {
	const { expected, got } = sides;
	if (axis === null) return [{ pair: makePair(expected, got, planned), sample: null, slice }];
	return Array.from({ length: expected.shape[axis] ?? 0 }, (_, sample) => {
		const cut = (tensor: Tensor): Tensor => sliceTensor(tensor, axis, sample);
		return { pair: makePair(cut(expected), cut(got), planned), sample, slice };
	});
}

export interface Worst {
	part: OutputPart;
	measured: Measured;
	elements: number;
}

/** The part that is furthest on the wrong side, NaN before any number; null if no part holds a finite element. */
export function findWorst(
	parts: readonly OutputPart[],
	bound: Bound,
	measure: (pair: Pair) => Measured,
): Worst | null {
	let worst: Worst | null = null;
	let elements = 0;
	for (const part of parts) {
		const measured = measure(part.pair);
		if (measured.elements === 0) continue;
		elements += measured.elements;
		if (worst === null || isWorse(measured.value, worst.measured.value, bound))
			worst = { part, measured, elements };
	}
	return worst && { ...worst, elements };
}

function isWorse(value: number, than: number, bound: Bound): boolean {
	if (Number.isNaN(than)) return false;
	return bound === "at-most" ? !(value <= than) : !(value >= than);
}

// Measures each comparator of a golden on other outputs of the same model.

import type { GoldenManifest, GoldenOutput, OutputSlice, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import { checkBoxes } from "../boxes/check-boxes.ts";
import { checkOutput } from "../compare/check-output.ts";
import { tensorMap } from "../tensor/tensor.ts";
import { judgeSet, type SetRef } from "../whole-set/judge-set.ts";
import type { RunOutputs } from "./noise-floor.ts";

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

type Outputs = RunOutputs[number];

function checksOfCase(
	manifest: GoldenManifest,
	{ expected, got }: { expected: Outputs; got: Outputs },
	precision: Precision,
): GoldenCheck[] {
	const outputs = Object.entries(manifest.outputs).flatMap(([name, spec]) => {
		const [wanted, found] = [expected[name], got[name]];
		if (wanted === undefined || found === undefined || spec.comparators === undefined) return [];
		const sides = { name, expected: wanted, got: found, base: undefined };
		return checkOutput(sides, { spec, precision, relativeL2: {} }).checks;
	});
	const sides = { expected: tensorMap(expected), got: tensorMap(got), base: undefined };
	const boxes = (manifest.detections ?? []).flatMap((spec) => checkBoxes(spec, sides, precision).checks);
	return [...outputs, ...boxes];
}

function checksOfSet(manifest: GoldenManifest, reference: RunOutputs, run: RoundedRun): GoldenCheck[] {
	const seen = manifest.cases.flatMap((golden, index) => {
		const [expected, got] = [reference[index], run.outputs[index]];
		return expected === undefined || got === undefined ? [] : [{ golden, sides: { expected, got } }];
	});
	return judgeSet(anyEngine({ manifest, relativeL2: {} }, run.precision), seen)?.checks ?? [];
}

function keepWorst(worst: Map<string, number>, checks: readonly GoldenCheck[]): void {
	const places = new Map<string, number>();
	for (const { output, metric, slice, bound, got } of checks) {
		const kind = comparatorKey(output, metric, slice);
		const place = places.get(kind) ?? 0;
		places.set(kind, place + 1);
		const value = got === null ? Number.NaN : Number(got);
		if (Number.isNaN(value)) continue;
		const key = comparatorKey(output, metric, slice, place);
		const worse = bound === "at-most" ? Math.max : Math.min;
		worst.set(key, worse(value, worst.get(key) ?? value));
	}
}

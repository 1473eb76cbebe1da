// The timed sizes of an engine: batches composed of golden cases, judged as cases, and what no case checks.

import type { GoldenCase, GoldenManifest } from "../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { listNames, present } from "../../core/text/labels.ts";
import type { BuiltEngine } from "../../ports/backend.ts";
import { isSameCase } from "../core/manifest/draft.ts";
import { stepShapes } from "../core/sequence/sequence.ts";
import type { Tensors } from "../core/tensor/tensor.ts";
import {
	type ComposedBatch,
	composeBatches,
	describeUnchecked,
	fillBatch,
	inputAxes,
	sizesOf,
} from "../core/timed/compose.ts";
import type { GoldenSet } from "./load-goldens.ts";

export function composedOf({ spec, model }: BuiltEngine, { manifest }: GoldenSet): ComposedBatch[] {
	// A sequence is one case, whatever its rows.
	return manifest.sequence === undefined ? composeBatches({ spec, onnx: model.onnx }, manifest) : [];
}

export type ReadCase = (
	golden: GoldenCase,
	side: "inputs" | "outputs",
) => Promise<Record<string, Tensors[string]>>;

export function asCase(composed: ComposedBatch, { set, read }: { set: GoldenSet; read: ReadCase }) {
	const { golden, outputs, cases, batch } = composed;
	const manifest: GoldenManifest = { ...set.manifest, outputs, cases: [golden] };
	const isOfBase = cases.every((one) => isSameCase(one, set.ofBase));
	const readBatch: ReadCase = async (_, side) => {
		const stored: Tensors[] = [];
		for (const one of cases) stored.push(await read(one, side));
		return fillBatch(batch, composed.axes[side], stored);
	};
	const ofSet = { ...set, manifest, ofBase: isOfBase ? manifest : undefined };
	return { set: ofSet, batches: [[golden]], read: readBatch, whole: null };
}

const hint =
	"If the rows of this model depend on each other, record a case of this size: `trtgate golden record --sizes config`.";

export function describeComposed<Judged extends { verdict: GoldenVerdict }>(judged: Judged): Judged[] {
	const { state, checks, message } = judged.verdict;
	if (state !== "error" && checks.length === 0) return [];
	const isWrong = state === "mismatch" || state === "error";
	const text = isWrong ? present([message, hint]).join(" ") : message;
	return [{ ...judged, verdict: { ...judged.verdict, scope: "batch", message: text } }];
}

export function uncheckedNotes(
	engines: readonly BuiltEngine[],
	goldens: ReadonlyMap<string, GoldenSet>,
): string[] {
	const found = engines.flatMap((engine) => {
		const { spec, arm, model } = engine;
		const set = goldens.get(spec.id);
		if (arm !== "head" || set === undefined) return [];
		const inputs = inputAxes(model.onnx, spec.model.inputs);
		const { cases, sequence } = set.manifest;
		const stored = cases
			.flatMap((one) => (sequence === undefined ? [one.inputs] : stepShapes(sequence, one.inputs)))
			.map((shapes) => sizesOf(inputs, shapes));
		const composed = composedOf(engine, set).map(({ sizes }) => sizes);
		return describeUnchecked(spec, [...stored, ...composed]) ?? [];
	});
	if (found.length === 0) return [];
	const fix = 'trtgate golden record --model NAME --sizes config --reason "…"';
	return [`Goldens do not check every size: ${listNames(found, 3)}. To add cases: ${fix}`];
}

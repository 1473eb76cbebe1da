// The timed sizes of an engine: batches composed of golden cases, their verdicts, and what no case checks.

import type { GoldenVerdict } from "../../../generated/result.ts";
import { listNames } from "../../core/text/labels.ts";
import type { BuiltEngine, InferredCase } from "../../ports/backend.ts";
import type { Ports } from "../../ports/ports.ts";
import { type CaseInput, judgeCase, judgeUnanswered } from "../core/compare/judge.ts";
import type { Tensors } from "../core/probes/context.ts";
import {
	type ComposedBatch,
	composeBatches,
	composedCase,
	describeComposed,
	fillBatch,
	withRows,
} from "../core/timed/compose.ts";
import { describeUnchecked, inputAxes, sizesOf } from "../core/timed/sizes.ts";
import { type GoldenSet, readTensors } from "./load-goldens.ts";

export function composedOf({ spec, model }: BuiltEngine, { manifest }: GoldenSet): ComposedBatch[] {
	return composeBatches({ spec, onnx: model.onnx }, manifest);
}

export async function readBatch(
	composed: ComposedBatch,
	side: "inputs" | "outputs",
	{ set, ports }: { set: GoldenSet; ports: Pick<Ports, "files" | "tensors"> },
): Promise<Tensors> {
	const stored: Tensors[] = [];
	for (const one of composed.cases) stored.push(await readTensors(one[side], set.folder, ports));
	return fillBatch(composed.batch, composed[side], stored);
}

interface Answered {
	got: InferredCase | undefined;
	base: InferredCase | undefined;
	expected: Tensors;
}

/** `verdict` is null if nothing was compared. */
export function judgeComposed(
	composed: ComposedBatch,
	ref: Omit<CaseInput, "caseId" | "golden" | keyof Answered>,
	{ got, base, expected }: Answered,
): { verdict: GoldenVerdict | null; sides: CaseInput } {
	const outputsOf = (one: InferredCase | undefined) =>
		one?.state === "done" ? withRows(composed, one.outputs) : undefined;
	const sides = {
		...ref,
		...composedCase(composed, ref.manifest),
		caseId: composed.id,
		expected: withRows(composed, expected),
		got: outputsOf(got) ?? {},
		base: outputsOf(base),
	};
	if (got?.state === "done") return { verdict: describeComposed(judgeCase(sides)), sides };
	const why = got?.message ?? "the engine returned nothing for this batch";
	return { verdict: describeComposed(judgeUnanswered(sides, why)), sides };
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
		const stored = set.manifest.cases.map((one) => sizesOf(inputs, one.inputs));
		const composed = composedOf(engine, set).map(({ sizes }) => sizes);
		return describeUnchecked(spec, [...stored, ...composed]) ?? [];
	});
	if (found.length === 0) return [];
	const fix = 'trtgate golden record --model NAME --sizes config --reason "…"';
	return [`Goldens do not check every size: ${listNames(found, 3)}. To add cases: ${fix}`];
}

// Emulates other precisions, to measure how far correct engines of those precisions deviate.

import type { GoldenManifest, Precision, RoundingRecord } from "../../../generated/golden.ts";
import { inParallel } from "../../core/in-parallel.ts";
import type { OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { counted, listNames } from "../../core/text/labels.ts";
import type { EmulationResult } from "../../ports/reference.ts";
import { nextTurn } from "../../stages/follow.ts";
import { coveredParts, partKey, type RoundingTable } from "../core/record/defects/judge.ts";
import type { RoundedRun } from "../core/record/limits.ts";
import {
	type Emulated,
	emulatedPrecisions,
	networkTraits,
	peakToRms,
	relativeL2Limits,
	rules,
} from "../core/record/limits.ts";
import { measuredCases, measureNoise, noiseOfPart, type RunOutputs } from "../core/record/noise-floor.ts";
import { cutSlice } from "../core/tensor/tensor.ts";
import { type Answers, fedCases, partsOfOutputs } from "./record-runs.ts";
import type { RecordJob, RecordPorts } from "./record-sensitivity.ts";

interface RoundingMeasured {
	rounded: RoundedRun[];
	/** null if nothing was emulated. */
	rounding: RoundingRecord | null;
}

/** By the size, not by the clock, so that the limits are the same on every machine. */
const mostBytes = 128 * 1024 ** 2;
const mostCases = 16;
/** One case of a YOLOv8n deviates four times as much as the two before it. */
const minCases = 4;

export async function measureRounding(
	{ cases: all, outputs, variant }: Answers,
	job: RecordJob,
	{ progress, reference }: Omit<RecordPorts, "clock">,
): Promise<RoundingMeasured> {
	const { model, notes } = job;
	const largest = measuredCases(outputs);
	const count = Math.max(minCases, Math.min(mostCases, Math.floor(mostBytes / model.onnx.bytes)));
	const cases = fedCases(all.slice(0, Math.min(largest, count)));
	const measured: RoundingMeasured = { rounded: [], rounding: null };
	progress.stage("rounding", emulatedPrecisions.length);
	const results = await inParallel(emulatedPrecisions, reference.parallelRuns(model), (precision) => {
		progress.item(`${precision}, emulated`);
		const logPath = `${job.scratchFolder}/rounding-${precision}.log`;
		return reference.emulate({ ...job, cases, variant, precision, logPath });
	});
	const failed = new Map<string, Emulated[]>();
	for (const [index, precision] of emulatedPrecisions.entries()) {
		await nextTurn();
		const result = results[index] as EmulationResult;
		const why = whyAbsent(result);
		if (why !== null) failed.set(why, [...(failed.get(why) ?? []), precision]);
		else keep(measured, result, precision, { outputs, notes });
	}
	progress.done(`${measured.rounded.length} of ${emulatedPrecisions.length} precisions`);
	for (const [why, precisions] of failed)
		notes.push(`Rounding at ${precisions.join(", ")} was not emulated: ${why}. Its limits are the defaults.`);
	if (measured.rounded.length > 0 && cases.length < Math.min(largest, all.length))
		notes.push(
			`Rounding was emulated on the first ${cases.length} of ${counted(all.length, "case")}, to save time.`,
		);
	return measured;
}

function whyAbsent(result: EmulationResult): string | null {
	if (result.state === "absent") return result.sentence;
	if (result.state === "failed") return result.failure.message.replace(/\.$/, "");
	const failed = result.cases.find((item) => item.state === "failed");
	return failed?.message.replace(/\.$/, "") ?? null;
}

const mostRecorded = 100;
const mostShown = 3;

function keep(
	measured: RoundingMeasured,
	result: EmulationResult,
	precision: Emulated,
	{ outputs: reference, notes }: { outputs: RunOutputs; notes: string[] },
): void {
	if (result.state !== "done") return;
	const { cases, tensors, beyondRange } = result;
	const outputs = cases.flatMap((item) => (item.state === "done" ? [item.outputs] : []));
	const runs = [{ label: precision, outputs }];
	const spreads = measureNoise(reference, runs, partsOfOutputs(reference))?.outputs ?? {};
	const finite = Object.entries(spreads).filter(
		([, spread]) => Number.isFinite(spread.relativeL2) && Number.isFinite(spread.maxAbs),
	);
	measured.rounded.push({ precision, outputs });
	const beyond = beyondRange.slice(0, mostRecorded) as [string, ...string[]];
	measured.rounding = {
		...measured.rounding,
		[precision]: {
			cases: outputs.length,
			tensors,
			...(beyond.length === 0 ? {} : { beyondRange: beyond }),
			outputs: Object.fromEntries(finite),
		},
	};
	if (beyond.length === 0) return;
	const names = beyondRange.map((name) => quoteName(name));
	notes.push(
		`${counted(beyondRange.length, "tensor")} would overflow at ${precision} and stayed in fp32 in the emulation (${listNames(names, mostShown)}); an engine has to keep their layers in fp32 too.`,
	);
}

/** The relative L2 by which correct outputs, and the parts that comparators cover, deviate at each precision. */
export function roundingTable(
	{ outputs, noiseFloor, rounding = {} }: GoldenManifest,
	model: OnnxModel,
	reference: RunOutputs,
): RoundingTable {
	const network = networkTraits(model);
	const table: Partial<Record<Precision, Record<string, number>>> = {};
	for (const [name, spec] of Object.entries(outputs))
		for (const { slice, floor } of coveredParts(spec)) {
			const tensors = reference
				.flatMap((named) => named[name] ?? [])
				.map((tensor) => cutSlice(tensor, slice));
			const emulated = emulatedPrecisions.flatMap((precision) => {
				const spread = noiseOfPart(rounding[precision]?.outputs[name], slice);
				return spread === undefined ? [] : [[precision, spread.relativeL2] as const];
			});
			const limits = relativeL2Limits({
				dtype: "float32",
				noise: noiseOfPart(noiseFloor?.outputs[name], slice)?.relativeL2 ?? 0,
				peakRatio: peakToRms(tensors, floor),
				rounding: Object.fromEntries(emulated),
				...network,
			});
			for (const [precision, { stray, limit }] of Object.entries(limits))
				table[precision as Precision] = {
					...table[precision as Precision],
					// The smallest limits leave room for more than was measured.
					[partKey(name, slice)]: Math.max(stray, limit / rules.room),
				};
		}
	return table;
}

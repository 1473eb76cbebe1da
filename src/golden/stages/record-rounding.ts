// Emulates other precisions, to measure how far correct engines of those precisions deviate.
import type { GoldenManifest, Precision, RoundingRecord } from "../../../generated/golden.ts";
import { inParallel } from "../../core/in-parallel.ts";
import type { OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/text/escape.ts";
import { counted, listNames } from "../../core/text/labels.ts";
import type { EmulationResult, OtherBuild, Reference, ReferenceJob } from "../../ports/reference.ts";
import { nextTurn } from "../../stages/follow.ts";
import { coveredParts, partKey, type RoundingTable } from "../core/record/defects/judge.ts";
import {
	emulatedPrecisions,
	networkTraits,
	peakToRms,
	type Rounded,
	type RoundedRun,
	relativeL2Limits,
	roundedPrecisions,
	rules,
} from "../core/record/limits.ts";
import {
	emulatedRounding,
	measuredCases,
	measureNoise,
	noiseOfPart,
	type RunOutputs,
} from "../core/record/noise-floor.ts";
import { cutSlice } from "../core/tensor/tensor.ts";
import { type Answers, isLate, partsOfOutputs, runOf } from "./record-runs.ts";
import type { RecordJob, RecordPorts } from "./record-sensitivity.ts";

interface RoundingMeasured {
	rounded: RoundedRun[];
	rounding: RoundingRecord | null;
}

/** By the size, not by the clock, so that the limits are the same on every machine. */
const mostBytes = 128 * 1024 ** 2;
const mostCases = 16;
/** One case of a YOLOv8n deviates four times as much as the two before it. */
const minCases = 4;

const roundingShare = 0.6;

/** @param other of a quantised model: the other build of ONNX Runtime, or why it cannot run. */
export async function measureRounding(
	{ cases: all, outputs, variant }: Answers,
	other: Promise<OtherBuild> | null,
	job: RecordJob,
	{ progress, reference }: Omit<RecordPorts, "clock">,
): Promise<RoundingMeasured> {
	const { model, notes, unfinished } = job;
	const largest = measuredCases(outputs);
	const count = Math.max(minCases, Math.min(mostCases, Math.floor(mostBytes / model.onnx.bytes)));
	const measurable = all.slice(0, largest);
	const cases = measurable.slice(0, count);
	const measured: RoundingMeasured = { rounded: [], rounding: null };
	const precisions = other === null ? emulatedPrecisions : roundedPrecisions;
	progress.stage("rounding", precisions.length);
	const budget = job.budget.evidence.part(roundingShare);
	const lanes = reference.parallelRuns(model);
	const logPathOf = (precision: Rounded) => `${job.scratchFolder}/rounding-${precision}.log`;
	// Beside the others, because it may have to wait for its installation.
	const otherRun =
		other &&
		runOther(
			other,
			() => ({
				...runOf(job, { soft: budget, hard: budget }),
				variant,
				logPath: logPathOf("fp32"),
				cases: measurable,
			}),
			reference,
		);
	const results: RoundingResult[] = await inParallel(emulatedPrecisions, lanes, (precision, index) => {
		progress.item(describeRun(precision));
		const soft = budget.turn(index, emulatedPrecisions.length, lanes);
		return reference.emulate({
			...runOf(job, { soft, hard: budget }),
			variant,
			logPath: logPathOf(precision),
			cases,
			precision,
		});
	});
	if (otherRun !== null) results.push(await otherRun);
	const failed = new Map<string, Rounded[]>();
	for (const [index, precision] of precisions.entries()) {
		await nextTurn();
		const result = results[index] as RoundingResult;
		const wanted = precision === "fp32" ? measurable.length : cases.length;
		const { why, done } = readRun(result, wanted);
		if (done < wanted)
			unfinished.push(`${describeRun(precision)}: ${wanted - done} of ${counted(wanted, "case")}`);
		if (why === null) keep(measured, result, precision, { outputs, notes });
		else failed.set(why, [...(failed.get(why) ?? []), precision]);
	}
	progress.done(`${measured.rounded.length} of ${counted(precisions.length, "precision")}`);
	for (const [why, precisions] of failed) noteAbsent(why, precisions, measured, notes);
	if (measured.rounded.length > 0 && cases.length < measurable.length)
		notes.push(
			`Rounding was emulated on the first ${cases.length} of ${counted(all.length, "case")}, to save time.`,
		);
	return measured;
}

/** @param jobOf called when the build is there, which takes of its time. */
async function runOther(
	other: Promise<OtherBuild>,
	jobOf: () => ReferenceJob,
	reference: Reference,
): Promise<RoundingResult> {
	const build = await other;
	if ("why" in build) return { state: "absent", sentence: build.why, isLate: build.isLate };
	const { flavour, version } = build;
	const job = jobOf();
	const result = await reference.run({ ...job, variant: { ...job.variant, flavour } });
	if (result.state === "failed") return result;
	return { ...result, tensors: 0, beyondRange: [], by: `onnxruntime-${flavour} ${version}` };
}

type RoundingResult = EmulationResult & { by?: string; isLate?: boolean };

function describeRun(precision: Rounded) {
	return precision === "fp32" ? "another build of ONNX Runtime" : `rounding at ${precision}`;
}

/** `done`: the cases that another recording need not run. */
function readRun(result: RoundingResult, wanted: number) {
	if (result.state === "absent") return { why: result.sentence, done: result.isLate === true ? 0 : wanted };
	if (isLate(result)) return { why: "there was no time left", done: 0 };
	const failed =
		result.state === "failed" ? result.failure : result.cases.find((item) => item.state === "failed");
	if (failed !== undefined) return { why: failed.message.replace(/\.$/, ""), done: wanted };
	return { why: null, done: result.state === "done" ? result.cases.length : 0 };
}

/**
 * Rounding to fp16 moves values across the same boundaries of integers as another build does, and further: 0.17 and 0.14 in a
 * public model.
 */
function noteAbsent(why: string, precisions: Rounded[], measured: RoundingMeasured, notes: string[]) {
	const emulated = precisions.filter((precision) => precision !== "fp32");
	if (emulated.length > 0)
		notes.push(`Rounding at ${emulated.join(", ")} was not emulated: ${why}. Its limits are the defaults.`);
	if (emulated.length === precisions.length) return;
	const { rounded, rounding } = measured;
	const stand = rounded.find(({ precision }) => precision === "fp16");
	if (stand !== undefined && rounding?.fp16 !== undefined) {
		rounded.push({ ...stand, precision: "fp32" });
		measured.rounding = { ...rounding, fp32: { ...rounding.fp16, by: `fp16, emulated, because ${why}` } };
	}
	const limits = stand === undefined ? "may be too tight for it" : "are those of fp16";
	notes.push(
		`The model is quantised, and another build of ONNX Runtime did not run: ${why}. The limits at fp32 ${limits}.`,
	);
}

const mostRecorded = 100;
const mostShown = 3;

function keep(
	measured: RoundingMeasured,
	result: RoundingResult,
	precision: Rounded,
	{ outputs: reference, notes }: { outputs: RunOutputs; notes: string[] },
) {
	if (result.state !== "done") return;
	const { cases, tensors, beyondRange, by } = result;
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
			by,
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
	{ outputs, noiseFloor, rounding }: GoldenManifest,
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
			const emulated = roundedPrecisions.flatMap((precision) => {
				const error = emulatedRounding(rounding, { output: name, slice, precision });
				return error === undefined ? [] : [[precision, error] as const];
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

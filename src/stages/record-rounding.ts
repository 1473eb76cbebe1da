// Emulates other precisions on the cases of a golden: how far correct engines of those precisions deviate from it.

import type {
	GoldenManifest,
	OutputSlice,
	Precision,
	RoundingRecord,
	Spread,
} from "../../generated/golden.ts";
import type { RoundedRun } from "../core/golden/record/comparator-errors.ts";
import type { RoundingTable } from "../core/golden/record/defects/judge.ts";
import {
	type Emulated,
	emulatedPrecisions,
	peakToRms,
	relativeL2Limits,
	rules,
} from "../core/golden/record/limits.ts";
import {
	measuredCases,
	measureNoise,
	noiseOfPart,
	type OutputParts,
	type RunOutputs,
} from "../core/golden/record/noise-floor.ts";
import { cutSlice } from "../core/golden/tensor/slice.ts";
import { isQuantised, type OnnxGraph } from "../core/onnx/model.ts";
import { quoteName } from "../core/onnx/quote.ts";
import { counted, listNames } from "../core/text/labels.ts";
import type { InferCase } from "../ports/backend.ts";
import type { EmulationResult } from "../ports/reference.ts";
import type { ModelOnDisk } from "../ports/world.ts";
import { nextTurn } from "./follow.ts";
import { inParallel } from "./in-parallel.ts";
import { partsOfOutputs } from "./record-noise.ts";
import type { Answers } from "./record-reference.ts";
import type { RecordPorts } from "./record-sensitivity.ts";

interface RoundingInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	answers: Answers;
	scratchFolder: string;
	timeoutMs: number;
}

interface RoundingMeasured {
	rounded: RoundedRun[];
	/** null: nothing was emulated. */
	rounding: RoundingRecord | null;
	notes: string[];
}

/** By the size of the model, not by the clock, so that the limits are the same on every machine. */
const mostBytes = 128 * 1024 ** 2;
const mostCases = 16;
/** However large: in one case, the class scores of a YOLOv8n deviate four times as much as in the two before it. */
const minCases = 4;

export async function measureRounding(
	{ model, cases: all, answers, scratchFolder, timeoutMs }: RoundingInput,
	{ progress, reference }: Omit<RecordPorts, "clock">,
): Promise<RoundingMeasured> {
	const largest = measuredCases(answers.outputs);
	const count = Math.max(minCases, Math.min(mostCases, Math.floor(mostBytes / model.onnx.bytes)));
	const cases = all.slice(0, Math.min(largest, count));
	const measured: RoundingMeasured = { rounded: [], rounding: null, notes: [] };
	const absent = new Map<string, Emulated[]>();
	const { variant } = answers;
	progress.stage("rounding", emulatedPrecisions.length);
	const results = await inParallel(emulatedPrecisions, reference.parallelRuns(model), (precision) => {
		progress.item(`${precision}, emulated`);
		const logPath = `${scratchFolder}/rounding-${precision}.log`;
		return reference.emulate({ model, cases, variant, scratchFolder, timeoutMs, precision, logPath });
	});
	const parts = partsOfOutputs(answers.outputs);
	for (const [index, precision] of emulatedPrecisions.entries()) {
		await nextTurn();
		const why = keep(measured, results[index], precision, { reference: answers.outputs, parts });
		if (why !== null) absent.set(why, [...(absent.get(why) ?? []), precision]);
	}
	progress.done(`${measured.rounded.length} of ${emulatedPrecisions.length} precisions`);
	for (const [why, precisions] of absent)
		measured.notes.push(
			`Rounding at ${precisions.join(", ")} was not emulated: ${why}. Its limits are the defaults.`,
		);
	if (measured.rounded.length > 0 && cases.length < Math.min(largest, all.length))
		measured.notes.push(
			`Rounding was emulated on the first ${cases.length} of ${counted(all.length, "case")}, to save time.`,
		);
	return measured;
}

function keep(
	measured: RoundingMeasured,
	result: EmulationResult | undefined,
	precision: Emulated,
	{ reference, parts }: { reference: RunOutputs; parts: OutputParts },
): string | null {
	if (result === undefined) return "it did not run";
	if (result.state === "absent") return result.sentence;
	if (result.state === "failed") return result.failure.message.replace(/\.$/, "");
	const outputs: RunOutputs[number][] = [];
	for (const item of result.cases) {
		if (item.state === "failed") return item.message.replace(/\.$/, "");
		outputs.push(item.outputs);
	}
	const spreads = measureNoise(reference, [{ label: precision, outputs }], parts)?.outputs ?? {};
	const finite = Object.entries(spreads).filter(
		([, spread]) => Number.isFinite(spread.relativeL2) && Number.isFinite(spread.maxAbs),
	);
	measured.rounded.push({ precision, outputs });
	const { tensors, beyondRange } = result;
	const beyond = beyondRange.length === 0 ? {} : { beyondRange: beyondRange.slice(0, maxNamed) };
	measured.rounding = {
		...measured.rounding,
		[precision]: { cases: outputs.length, tensors, ...beyond, outputs: Object.fromEntries(finite) },
	};
	if (beyondRange.length > 0) measured.notes.push(describeBeyond(precision, beyondRange));
	return null;
}

const maxNamed = 100;
const maxShown = 3;

function describeBeyond(precision: Emulated, names: readonly string[]): string {
	const shown = names.map((name) => quoteName(name));
	return `At ${precision} ${counted(names.length, "tensor")} would overflow (${listNames(shown, maxShown)}) and stayed in fp32 in the emulation; an engine has to keep their layers in fp32 too.`;
}

/** How far correct outputs, and parts of them, deviate by precision; at least what the least limits of that precision make room for. */
export function roundingTable(
	{ noiseFloor, rounding = {} }: GoldenManifest,
	graph: OnnxGraph,
	reference: RunOutputs,
): RoundingTable {
	const quantised = isQuantised(graph);
	const strayOf = (name: string, slice?: OutputSlice) => {
		const at = emulatedPrecisions.flatMap((precision) => {
			const spread = noiseOfPart(rounding[precision]?.outputs[name], slice);
			return spread === undefined ? [] : [[precision, spread.relativeL2] as const];
		});
		const noise = noiseOfPart(noiseFloor?.outputs[name], slice)?.relativeL2 ?? 0;
		const peakRatio = peakToRms(
			reference.flatMap((outputs) => (outputs[name] === undefined ? [] : [cutSlice(outputs[name], slice)])),
		);
		return relativeL2Limits({
			dtype: "float32",
			noise,
			peakRatio,
			rounding: Object.fromEntries(at),
			quantised,
		});
	};
	const table: Partial<Record<Precision, Record<string, Spread>>> = {};
	for (const [name, { parts }] of Object.entries({ ...noiseFloor?.outputs, ...rounding.fp16?.outputs })) {
		const whole = strayOf(name);
		const [first, ...others] = (parts ?? []).map(({ slice }) => ({ slice, limits: strayOf(name, slice) }));
		for (const precision of ["fp32", ...emulatedPrecisions] as const) {
			const spread = (limits: typeof whole) => {
				const { stray = 0, limit = 0 } = limits[precision] ?? {};
				return { relativeL2: Math.max(stray, limit / rules.room), maxAbs: 0 };
			};
			if (precision !== "fp32" && rounding[precision]?.outputs[name] === undefined) continue;
			const part = (found: NonNullable<typeof first>) => ({ slice: found.slice, ...spread(found.limits) });
			const all =
				first === undefined ? spread(whole) : { ...spread(whole), parts: [part(first), ...others.map(part)] };
			table[precision] = { ...table[precision], [name]: all as Spread };
		}
	}
	return table;
}

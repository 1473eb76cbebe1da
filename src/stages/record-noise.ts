// Measures how far one model's outputs scatter on this machine: builds of the runtime, levels, threads, and batches.

import type { NoiseFloor } from "../../generated/golden.ts";
import { batchCases, type CaseBatch, splitBatch } from "../core/golden/record/case-batch.ts";
import { type NudgedWeight, nudgedWeights } from "../core/golden/record/defects/weights.ts";
import { dropNoiseCases, findNoiseCases } from "../core/golden/record/noise-cases.ts";
import {
	type LabelledRun,
	measuredCases,
	measureNoise,
	type OutputParts,
	type RunOutputs,
} from "../core/golden/record/noise-floor.ts";
import { outputParts } from "../core/golden/record/propose.ts";
import { unitRun } from "../core/golden/record/unit-run.ts";
import { isQuantised } from "../core/onnx/model.ts";
import { quoteName } from "../core/onnx/quote.ts";
import { scopesOf } from "../core/onnx/walk.ts";
import { counted } from "../core/text/labels.ts";
import { twoDigits } from "../core/text/units.ts";
import type { InferCase } from "../ports/backend.ts";
import type { ReferenceJob, ReferenceVariant } from "../ports/reference.ts";
import type { ModelOnDisk } from "../ports/world.ts";
import { nextTurn } from "./follow.ts";
import { inParallel } from "./in-parallel.ts";
import type { RecordPorts } from "./record-sensitivity.ts";

export interface NoiseInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	reference: RunOutputs;
	made: ReferenceVariant;
	dropsNoise: boolean;
	scratchFolder: string;
	timeoutMs: number;
}

export interface NoiseMeasured {
	noise: NoiseFloor | null;
	runs: readonly LabelledRun[];
	kept: readonly number[];
	notes: string[];
}

const levels = ["disabled", "basic", "extended", "all"] as const;

function variantsOf(
	made: ReferenceVariant,
	flavours: readonly ReferenceVariant["flavour"][],
): ReferenceVariant[] {
	const others = levels.filter((level) => level !== made.level);
	return flavours.flatMap((flavour) => [
		{ ...made, flavour, threads: flavour === made.flavour ? made.threads + 1 : made.threads },
		...others.map((level) => ({ ...made, flavour, level })),
	]);
}

export function formatVariant({ flavour, level, threads }: ReferenceVariant): string {
	return `${flavour}, ${level}, ${threads === 1 ? "1 thread" : `${threads} threads`}`;
}

type NoisePorts = Omit<RecordPorts, "clock">;

export async function measureScatter(all: NoiseInput, ports: NoisePorts): Promise<NoiseMeasured> {
	const input = { ...all, cases: all.cases.slice(0, measuredCases(all.reference)) };
	const { model, cases, made, reference } = input;
	const flavours = (await ports.reference.builds()).map(({ flavour }) => flavour);
	const variants = variantsOf(made, flavours);
	const batch = batchCases(
		model.onnx.graph,
		cases.map(({ inputs }) => inputs),
	);
	const nudged = await weightsToNudge(input, ports);
	const tasks = [
		...variants.map((variant) => () => runVariant({ variant }, input, ports)),
		...(nudged.length === 0 ? [] : [() => runVariant({ variant: made, nudged }, input, ports)]),
		...(batch === null ? [] : [() => runBatch(batch, input, ports)]),
	];
	ports.progress.stage("noise", tasks.length);
	const runs = await inParallel(tasks, ports.reference.parallelRuns(model), (task) => task());
	const notes: string[] = [];
	if (cases.length < all.cases.length)
		notes.push(
			`Noise and rounding were measured on the first ${cases.length} of ${counted(all.cases.length, "case")}, because the outputs are large.`,
		);
	const ran = variants.flatMap((variant, index) => {
		const run = runs[index] ?? null;
		if (run === null)
			notes.push(`The noise floor is without "${formatVariant(variant)}", which did not run.`);
		return run === null ? [] : [{ variant, run }];
	});
	const usable = countedRuns(input, ran, notes);
	const shaken = nudged.length === 0 ? null : (runs[variants.length] ?? null);
	if (shaken !== null) usable.push({ ...shaken, isProportional: true });
	const together = batch === null ? null : (runs.at(-1) ?? null);
	if (together !== null) usable.push(...countedBatch(together, reference, notes));
	const measured = await conclude(all, usable, notes);
	ports.progress.done(`${runs.filter((run) => run !== null).length} of ${tasks.length} runs`);
	return measured;
}

/** Networks that amplify rounding differ between builds by more than the builds of one machine show. Quantised ones jump by whole integers. */
async function weightsToNudge(
	{ model: { onnx }, model }: NoiseInput,
	{ reference }: Pick<RecordPorts, "reference">,
): Promise<readonly NudgedWeight[]> {
	if (isQuantised(onnx.graph)) return [];
	const normalising = scopesOf(onnx).flatMap(({ nodes }) =>
		nodes.filter(({ op }) => op === "InstanceNormalization"),
	);
	return nudgedWeights(
		(await reference.weights(model)).places,
		new Set(normalising.map(({ inputs }) => inputs[1] ?? "")),
	);
}

async function runVariant(
	varied: Pick<ReferenceJob, "variant" | "nudged">,
	{ model, cases, scratchFolder, timeoutMs }: NoiseInput,
	{ progress, reference }: NoisePorts,
): Promise<LabelledRun | null> {
	const { flavour, level, threads } = varied.variant;
	const [text, suffix] =
		varied.nudged === undefined ? ["", ""] : [", weights one unit in the last place off", "-nudged"];
	const label = `${formatVariant(varied.variant)}${text}`;
	progress.item(label);
	const logPath = `${scratchFolder}/noise-${flavour}-${level}-${threads}${suffix}.log`;
	const result = await reference.run({ ...varied, model, cases, scratchFolder, logPath, timeoutMs });
	const answers = result.state === "done" ? result.cases : [];
	const outputs = answers.flatMap((item) => (item.state === "done" ? [item.outputs] : []));
	return outputs.length === cases.length ? { label, outputs } : null;
}

/** null: the model does not take them together, so that its first axis is no batch. */
async function runBatch(
	batch: CaseBatch,
	{ model, made: variant, scratchFolder, timeoutMs, cases }: NoiseInput,
	{ progress, reference }: NoisePorts,
): Promise<LabelledRun | null> {
	const label = `${formatVariant(variant)}, a batch of ${batch.members.length}`;
	progress.item(label);
	const logPath = `${scratchFolder}/noise-batch.log`;
	const together = [{ id: "batch", inputs: batch.inputs }];
	const result = await reference.run({ model, cases: together, variant, scratchFolder, timeoutMs, logPath });
	const [answer] = result.state === "done" ? result.cases : [];
	if (answer?.state !== "done") return null;
	return { label, outputs: splitBatch(batch, answer.outputs, cases.length) };
}

/** Levels of a quantised model round at other places: their distance is not noise of the level that records it. */
function countedRuns(
	{ model, made, reference }: NoiseInput,
	ran: readonly { variant: ReferenceVariant; run: LabelledRun }[],
	notes: string[],
): LabelledRun[] {
	if (!isQuantised(model.onnx.graph)) return ran.map(({ run }) => run);
	const runsAt = (isSame: boolean): LabelledRun[] =>
		ran.flatMap(({ variant, run }) => ((variant.level === made.level) === isSame ? [run] : []));
	const far = furthest(measureNoise(reference, runsAt(false)));
	if (far !== null && far.relativeL2 > levelsApart)
		notes.push(
			`The model is quantised: optimisation levels of ONNX Runtime lie up to ${twoDigits(100 * far.relativeL2)} % apart in output ${quoteName(far.name)} (relative L2). It is recorded at ${made.level}, and the noise floor is that of this level.`,
		);
	return runsAt(true);
}

const levelsApart = 1e-3;
const rowsApart = 1e-2;

function countedBatch(run: LabelledRun, reference: RunOutputs, notes: string[]): LabelledRun[] {
	const far = furthest(measureNoise(reference, [run]));
	if (far === null) return [];
	if (far.relativeL2 <= rowsApart) return [run];
	notes.push(
		`In one batch, cases give different outputs from those they give one by one: output ${quoteName(far.name)} differs by ${twoDigits(100 * far.relativeL2)} % (relative L2). Its rows depend on each other, or its first axis is not a batch; the noise floor is without it.`,
	);
	return [];
}

function furthest(noise: NoiseFloor | null): { name: string; relativeL2: number } | null {
	const all = Object.entries(noise?.outputs ?? {}).map(([name, { relativeL2 }]) => ({ name, relativeL2 }));
	return all.toSorted((left, right) => right.relativeL2 - left.relativeL2)[0] ?? null;
}

/** Cases that are noise in a golden that is recorded again stay: a person chose them. */
async function conclude(
	input: NoiseInput,
	runs: readonly LabelledRun[],
	notes: string[],
): Promise<NoiseMeasured> {
	const { cases, reference } = input;
	const absolute = runs.filter(({ isProportional }) => isProportional !== true);
	const noisy = input.dropsNoise ? findNoiseCases(reference, absolute, partsOfOutputs(reference)) : [];
	await nextTurn();
	const dropped = dropNoiseCases(cases, noisy);
	const kept = dropped.kept.map(({ index }) => index);
	const outputsOf = (outputs: RunOutputs): RunOutputs =>
		kept.flatMap((index) => outputs.slice(index, index + 1));
	const left = outputsOf(reference);
	const unit = unitRun(left.slice(0, measuredCases(left)));
	await nextTurn();
	const rest = runs.map((run) => ({ ...run, outputs: outputsOf(run.outputs) }));
	if (unit !== null) rest.push(unit);
	const noise = measureNoise(left, rest, partsOfOutputs(left));
	return { noise, runs: rest, kept, notes: [...notes, ...dropped.notes] };
}

export function partsOfOutputs(reference: RunOutputs): OutputParts {
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	const tensorsOf = (name: string) => reference.flatMap((outputs) => outputs[name] ?? []);
	return Object.fromEntries(names.map((name) => [name, outputParts(name, tensorsOf(name))]));
}

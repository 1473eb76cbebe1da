// Measures how much outputs scatter on this machine, between builds, optimisation levels and threads of the runtime.

import type { NoiseFloor } from "../../../generated/golden.ts";
import { ConfigError } from "../../core/errors.ts";
import { isQuantised } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { counted } from "../../core/text/labels.ts";
import type { InferCase } from "../../ports/backend.ts";
import type { ReferenceVariant } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { nextTurn } from "../../stages/follow.ts";
import { inParallel } from "../../stages/in-parallel.ts";
import { findNoiseCases } from "../core/record/noise-cases.ts";
import {
	type LabelledRun,
	measuredCases,
	measureNoise,
	type OutputParts,
	type RunOutputs,
} from "../core/record/noise-floor.ts";
import { outputParts } from "../core/record/propose.ts";
import type { RecordPorts } from "./record-sensitivity.ts";

interface NoiseInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	reference: RunOutputs;
	made: ReferenceVariant;
	/** Leaves out cases whose outputs are noise. */
	dropsNoise: boolean;
	scratchFolder: string;
	timeoutMs: number;
}

interface NoiseMeasured {
	noise: NoiseFloor | null;
	runs: readonly LabelledRun[];
	/** Indices of the cases to record. */
	kept: readonly number[];
	notes: string[];
}

type NoisePorts = Omit<RecordPorts, "clock">;

export async function measureScatter(input: NoiseInput, ports: NoisePorts): Promise<NoiseMeasured> {
	const cases = input.cases.slice(0, measuredCases(input.reference));
	const { model } = input;
	const variants = await variantsOf(input, ports);
	ports.progress.stage("noise", variants.length);
	const results = await inParallel(variants, ports.reference.parallelRuns(model), (variant) =>
		runVariant(variant, { ...input, cases }, ports),
	);
	const runs = results.filter((run) => run !== null);
	const notes: string[] = [];
	if (cases.length < input.cases.length)
		notes.push(
			`Noise and rounding were measured on the first ${cases.length} of ${counted(input.cases.length, "case")}, because the outputs are large.`,
		);
	const failed = variants.filter((_, index) => results[index] === null).map(formatVariant);
	if (failed.length > 0)
		notes.push(`These runs failed, and the noise floor is without them: ${failed.join("; ")}.`);
	await nextTurn();
	const kept = input.dropsNoise ? withoutNoise(input, runs, notes) : [...input.cases.keys()];
	const keptOf = (outputs: RunOutputs): RunOutputs =>
		kept.flatMap((index) => outputs.slice(index, index + 1));
	const reference = keptOf(input.reference);
	const left = runs.map(({ label, outputs }) => ({ label, outputs: keptOf(outputs) }));
	const noise = measureNoise(reference, left, partsOfOutputs(reference));
	ports.progress.done(`${runs.length} of ${variants.length} runs`);
	return { noise, runs: left, kept, notes };
}

/** @throws ConfigError golden-uninformative if every case is noise. */
function withoutNoise(
	{ cases, reference }: NoiseInput,
	runs: readonly LabelledRun[],
	notes: string[],
): number[] {
	const noisy = findNoiseCases(reference, runs, partsOfOutputs(reference));
	const idOf = (index: number): string => quoteName(cases[index]?.id ?? "");
	const [first] = noisy;
	if (first !== undefined && noisy.size === cases.length)
		throw new ConfigError({
			code: "golden-uninformative",
			message: `Not recorded: every case is noise; of case ${idOf(first[0])}, ${first[1]}.`,
			fix: "Give inputs that mean something to the model, such as real ones with --inputs; generated ones may contain nothing that it looks for.",
		});
	for (const [index, why] of noisy)
		notes.push(`Case ${idOf(index)} was left out, because it is noise: ${why}.`);
	return [...cases.keys()].filter((index) => !noisy.has(index));
}

const levels = ["disabled", "basic", "extended", "all"] as const;

/** A quantised model rounds at other nodes at each level, so only the recording's counts. */
async function variantsOf(
	{ model, made }: NoiseInput,
	{ reference }: NoisePorts,
): Promise<ReferenceVariant[]> {
	const others = isQuantised(model.onnx.graph) ? [] : levels.filter((level) => level !== made.level);
	return (await reference.builds()).flatMap(({ flavour }) => [
		{ ...made, flavour, threads: flavour === made.flavour ? made.threads + 1 : made.threads },
		...others.map((level) => ({ ...made, flavour, level })),
	]);
}

export function formatVariant({ flavour, level, threads }: ReferenceVariant): string {
	return `${flavour}, ${level}, ${counted(threads, "thread")}`;
}

async function runVariant(
	variant: ReferenceVariant,
	{ model, cases, scratchFolder, timeoutMs }: NoiseInput,
	{ progress, reference }: NoisePorts,
): Promise<LabelledRun | null> {
	const label = formatVariant(variant);
	progress.item(label);
	const logPath = `${scratchFolder}/noise-${variant.flavour}-${variant.level}-${variant.threads}.log`;
	const result = await reference.run({ variant, model, cases, scratchFolder, logPath, timeoutMs });
	const answers = result.state === "done" ? result.cases : [];
	const outputs = answers.flatMap((item) => (item.state === "done" ? [item.outputs] : []));
	return outputs.length < cases.length ? null : { label, outputs };
}

export function partsOfOutputs(reference: RunOutputs): OutputParts {
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	const tensorsOf = (name: string) => reference.flatMap((outputs) => outputs[name] ?? []);
	return Object.fromEntries(names.map((name) => [name, outputParts(tensorsOf(name))]));
}

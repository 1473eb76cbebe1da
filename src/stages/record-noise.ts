// Measures how far one model's outputs scatter on this machine: between builds, optimisation levels, threads and tiny changes of weights.

import type { NoiseFloor } from "../../generated/golden.ts";
import { type NudgedWeight, nudgedWeights } from "../core/golden/record/defects/weights.ts";
import {
	type LabelledRun,
	measuredCases,
	measureNoise,
	type OutputParts,
	type RunOutputs,
} from "../core/golden/record/noise-floor.ts";
import { outputParts } from "../core/golden/record/propose.ts";
import { isQuantised } from "../core/onnx/model.ts";
import { scopesOf } from "../core/onnx/walk.ts";
import { counted } from "../core/text/labels.ts";
import type { InferCase } from "../ports/backend.ts";
import type { ReferenceJob, ReferenceVariant } from "../ports/reference.ts";
import type { ModelOnDisk } from "../ports/world.ts";
import { nextTurn } from "./follow.ts";
import { inParallel } from "./in-parallel.ts";
import type { RecordPorts } from "./record-sensitivity.ts";

interface NoiseInput {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	reference: RunOutputs;
	made: ReferenceVariant;
	scratchFolder: string;
	timeoutMs: number;
}

interface NoiseMeasured {
	noise: NoiseFloor | null;
	runs: readonly LabelledRun[];
	notes: string[];
}

type NoisePorts = Omit<RecordPorts, "clock">;

export async function measureScatter(input: NoiseInput, ports: NoisePorts): Promise<NoiseMeasured> {
	const cases = input.cases.slice(0, measuredCases(input.reference));
	const { made: variant, model } = input;
	const variants = await variantsOf(input, ports);
	const nudged = await weightsToNudge(model, ports);
	const tasks: Varied[] = [
		...variants.map((other) => ({ variant: other })),
		...(nudged.length === 0 ? [] : [{ variant, nudged }]),
	];
	ports.progress.stage("noise", tasks.length);
	const results = await inParallel(tasks, ports.reference.parallelRuns(model), (task) =>
		runVaried(task, { ...input, cases }, ports),
	);
	const runs = results.filter((run) => run !== null);
	const notes: string[] = [];
	if (cases.length < input.cases.length)
		notes.push(
			`Noise and rounding were measured on the first ${cases.length} of ${counted(input.cases.length, "case")}, because the outputs are large.`,
		);
	const failed = tasks.filter((_, index) => results[index] === null).map(labelOf);
	if (failed.length > 0) notes.push(`These runs failed, and the noise floor is without them: ${failed.join("; ")}.`);
	await nextTurn();
	const noise = measureNoise(input.reference, runs, partsOfOutputs(input.reference));
	ports.progress.done(`${runs.length} of ${tasks.length} runs`);
	return { noise, runs, notes };
}

type Varied = Pick<ReferenceJob, "variant" | "nudged">;

const levels = ["disabled", "basic", "extended", "all"] as const;

/** Each level of a quantised model rounds at other places, so only the level that records it counts. */
async function variantsOf({ model, made }: NoiseInput, { reference }: NoisePorts): Promise<ReferenceVariant[]> {
	const others = isQuantised(model.onnx.graph) ? [] : levels.filter((level) => level !== made.level);
	return (await reference.builds()).flatMap(({ flavour }) => [
		{ ...made, flavour, threads: flavour === made.flavour ? made.threads + 1 : made.threads },
		...others.map((level) => ({ ...made, flavour, level })),
	]);
}

/**
 * Builds of a network that amplifies rounding differ by more than the builds of one machine show. Quantised networks jump by whole
 * integers instead.
 */
async function weightsToNudge(
	model: ModelOnDisk,
	{ reference }: NoisePorts,
): Promise<readonly NudgedWeight[]> {
	if (isQuantised(model.onnx.graph)) return [];
	const scales = scopesOf(model.onnx).flatMap(({ nodes }) =>
		nodes.flatMap(({ op, inputs }) => (op === "InstanceNormalization" ? (inputs[1] ?? []) : [])),
	);
	return nudgedWeights((await reference.weights(model)).places, new Set(scales));
}

export function formatVariant({ flavour, level, threads }: ReferenceVariant): string {
	return `${flavour}, ${level}, ${counted(threads, "thread")}`;
}

function labelOf({ variant, nudged }: Varied): string {
	return `${formatVariant(variant)}${nudged === undefined ? "" : ", weights one unit in the last place off"}`;
}

async function runVaried(
	varied: Varied,
	{ model, cases, scratchFolder, timeoutMs }: NoiseInput,
	{ progress, reference }: NoisePorts,
): Promise<LabelledRun | null> {
	const { flavour, level, threads } = varied.variant;
	const label = labelOf(varied);
	progress.item(label);
	const isNudged = varied.nudged !== undefined;
	const logPath = `${scratchFolder}/noise-${flavour}-${level}-${threads}${isNudged ? "-nudged" : ""}.log`;
	const result = await reference.run({ ...varied, model, cases, scratchFolder, logPath, timeoutMs });
	const answers = result.state === "done" ? result.cases : [];
	const outputs = answers.flatMap((item) => (item.state === "done" ? [item.outputs] : []));
	if (outputs.length < cases.length) return null;
	return { label, outputs, ...(isNudged ? { isProportional: true } : {}) };
}

export function partsOfOutputs(reference: RunOutputs): OutputParts {
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	const tensorsOf = (name: string) => reference.flatMap((outputs) => outputs[name] ?? []);
	return Object.fromEntries(names.map((name) => [name, outputParts(tensorsOf(name))]));
}

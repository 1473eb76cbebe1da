// Runs the reference on the cases of a new golden, and measures how much its outputs scatter on this machine.
import { ConfigError, ToolError } from "../../core/errors.ts";
import { inParallel } from "../../core/in-parallel.ts";
import { isQuantised, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import type { InferCase, InferResult } from "../../ports/backend.ts";
import type { ReferenceVariant } from "../../ports/reference.ts";
import type { ModelOnDisk, ToolFailure } from "../../ports/world.ts";
import { nextTurn } from "../../stages/follow.ts";
import type { RecordedCase } from "../core/manifest/draft.ts";
import {
	type LabelledRun,
	measuredCases,
	measureNoise,
	type OutputParts,
	type RunOutputs,
} from "../core/record/noise-floor.ts";
import { outputParts } from "../core/record/propose.ts";
import { findNoiseCases } from "../core/record/sensitivity.ts";
import type { Budget } from "./budget.ts";
import type { RecordJob, RecordPorts } from "./record-sensitivity.ts";

/** Of a case that was added for a size in the config. */
export const timedTag = "timed";

export type CaseToRecord = Omit<RecordedCase, "outputs">;

export interface Answers {
	variant: ReferenceVariant;
	version: string;
	cases: RecordedCase[];
	outputs: RunOutputs;
}

type RunPorts = Omit<RecordPorts, "clock">;

/** What a run asks of the reference besides its cases; cases that its time ends are done by the next recording. */
export function runOf(
	{ model, scratchFolder, timeoutMs }: RecordJob,
	{ soft, hard, enough = 1 }: { soft: Budget; hard: Budget; enough?: number },
) {
	return {
		model,
		scratchFolder,
		timeoutMs: Math.max(1, Math.min(timeoutMs, Math.floor(hard.leftMs()))),
		resumes: { enough, softMs: Math.min(soft.leftMs(), hard.leftMs()) },
	};
}

export function isLate(result: { state: string; failure?: ToolFailure }): boolean {
	return result.state === "failed" && result.failure?.code === "tool-timeout";
}

/**
 * Folds constants but rewrites nothing else, so the graph runs as it is written. Quantised layers are computed in integers,
 * as every engine does, from the level on that all builds share.
 */
function referenceLevel(model: OnnxModel) {
	return isQuantised(model.graph) ? "extended" : "basic";
}

const minCases = 2;
/** Of the evidence's time. Without two cases, or all of the given ones, there is no golden. */
const referenceShares = { soft: 0.4, hard: 0.75 };

/**
 * @param mayDrop time may leave out cases.
 * @throws ToolError if the reference does not run, or not in time; ConfigError golden-uninformative if it gives no answer.
 */
export async function makeReference(
	wanted: readonly CaseToRecord[],
	mayDrop: boolean,
	job: RecordJob,
	{ progress, reference }: RunPorts,
): Promise<Answers> {
	const [build] = await reference.builds();
	if (build === undefined)
		throw new ToolError({ code: "tool-missing", message: "There is no ONNX Runtime to record with." });
	const { flavour, version } = build;
	const variant: ReferenceVariant = { flavour, level: referenceLevel(job.model.onnx), threads: 1 };
	progress.stage("reference", 1);
	progress.item(formatVariant(variant));
	const logPath = `${job.scratchFolder}/reference.log`;
	const { evidence } = job.budget;
	const hard = evidence.part(referenceShares.hard);
	const enough = mayDrop ? minCases : wanted.length;
	const run = runOf(job, { soft: evidence.part(referenceShares.soft), hard, enough });
	const result = await reference.run({ ...run, cases: wanted, variant, logPath });
	if (result.state === "failed" && !isLate(result)) throw new ToolError({ ...result.failure });
	const done = result.state === "done" ? result.cases.length : 0;
	checkLate(wanted.slice(done), { done, mayDrop, timeoutMs: run.timeoutMs }, job);
	const cases = wanted.slice(0, done).flatMap((one, index) => {
		const inferred = result.state === "done" ? result.cases[index] : undefined;
		if (inferred?.state === "done") return [{ ...one, outputs: inferred.outputs }];
		const why = (inferred?.message ?? "it has no result").replace(/\.$/, "");
		if (one.tags?.includes(timedTag)) {
			job.notes.push(`Case ${quoteName(one.id)} was left out, because ONNX Runtime failed on it: ${why}.`);
			return [];
		}
		throw new ConfigError({
			code: "golden-uninformative",
			message: `ONNX Runtime failed on case ${quoteName(one.id)}: ${why}.`,
			fix: "Give inputs that the model takes (--inputs, --generator, --dims), or fix the model.",
		});
	});
	progress.done(counted(cases.length, "case"));
	return { variant, version, cases, outputs: cases.map(({ outputs }) => outputs) };
}

function checkLate(
	late: readonly CaseToRecord[],
	{ done, mayDrop, timeoutMs }: { done: number; mayDrop: boolean; timeoutMs: number },
	{ budget, unfinished }: RecordJob,
) {
	if (late.length === 0) return;
	const all = counted(done + late.length, "case");
	if (done >= minCases && (mayDrop || late.every(({ tags }) => tags?.includes(timedTag)))) {
		unfinished.push(`${late.length} of ${all}`);
		return;
	}
	const seconds = Number((timeoutMs / 1000).toPrecision(2));
	const next = done === 0 ? "" : "Rerun the same command, which goes on where this one stopped, or give";
	throw new ToolError({
		code: "tool-timeout",
		message: `ONNX Runtime finished ${done} of ${all} in ${seconds} s, its part of --time-limit (${budget.limitMs / 1000} s) and --timeout; nothing was recorded.`,
		fix: `${next || "Give"} more time (--time-limit), fewer cases (--cases), or smaller ones (--dims, or \`dims\` in trtgate.yml).`,
	});
}

export function withoutLarge(answers: Answers, notes: string[]): Answers {
	const { length } = answers.cases;
	const count = Math.max(minCases, measuredCases(answers.outputs));
	if (count >= length) return answers;
	notes.push(
		`Only ${count} of ${length} generated cases were kept, because their outputs are large; --cases ${length} keeps all.`,
	);
	return keepAnswers(answers, [...Array(count).keys()]);
}

function keepAnswers(answers: Answers, indices: readonly number[]) {
	const cases = indices.flatMap((index) => answers.cases[index] ?? []);
	return { ...answers, cases, outputs: cases.map(({ outputs }) => outputs) };
}

const noiseShare = 0.4;

export async function measureScatter(made: Answers, dropsNoise: boolean, job: RecordJob, ports: RunPorts) {
	const { model, notes } = job;
	const { progress, reference } = ports;
	const cases = made.cases.slice(0, measuredCases(made.outputs));
	const variants = await variantsOf(model, made.variant, ports);
	progress.stage("noise", variants.length);
	const budget = job.budget.evidence.part(noiseShare);
	const lanes = reference.parallelRuns(model);
	const results = await inParallel(variants, lanes, (variant, index) =>
		runVariant(
			variant,
			cases,
			{ ...job, turn: { soft: budget.turn(index, variants.length, lanes), hard: budget } },
			ports,
		),
	);
	const runs = results.filter((run) => typeof run !== "string");
	if (cases.length < made.cases.length)
		notes.push(
			`Noise and rounding were measured on the first ${cases.length} of ${counted(made.cases.length, "case")}, because the outputs are large.`,
		);
	const failed = variants.filter((_, index) => results[index] === "failed").map(formatVariant);
	if (failed.length > 0)
		notes.push(`These runs failed, and the noise floor is without them: ${failed.join("; ")}.`);
	await nextTurn();
	const kept = dropsNoise ? withoutNoise(made, runs, notes) : [...made.cases.keys()];
	const answers = keepAnswers(made, kept);
	const left = runs.map(({ label, outputs }) => {
		return { label, outputs: kept.flatMap((index) => outputs.slice(index, index + 1)) };
	});
	const noise = measureNoise(answers.outputs, left, partsOfOutputs(answers.outputs));
	progress.done(`${runs.length} of ${variants.length} runs`);
	return { answers, noise, runs: left };
}

function withoutNoise({ cases, outputs }: Answers, runs: readonly LabelledRun[], notes: string[]) {
	const noisy = findNoiseCases(outputs, runs, partsOfOutputs(outputs));
	const idOf = (index: number) => quoteName(cases[index]?.id ?? "");
	const [first] = noisy;
	if (first !== undefined && noisy.size === cases.length)
		throw new ConfigError({
			code: "golden-uninformative",
			message: `Not recorded: every case is noise; of case ${idOf(first[0])}, ${first[1]}.`,
			fix: "Give inputs that mean something to the model, such as real ones with --inputs.",
		});
	if (first !== undefined) {
		const [index, why] = first;
		const others = noisy.size === 1 ? "" : ` ${counted(noisy.size - 1, "other case")} too.`;
		notes.push(`Case ${idOf(index)} was left out, because it is noise: ${why}.${others}`);
	}
	return [...cases.keys()].filter((index) => !noisy.has(index));
}

const levels = ["disabled", "basic", "extended", "all"] as const;

/** A quantised model rounds at other nodes at each level, and in each build, so only the recording's count as noise. */
async function variantsOf(model: ModelOnDisk, made: ReferenceVariant, { reference }: RunPorts) {
	const isRounded = isQuantised(model.onnx.graph);
	const others = isRounded ? [] : levels.filter((level) => level !== made.level);
	const builds = (await reference.builds()).filter(({ flavour }) => !isRounded || flavour === made.flavour);
	return builds.flatMap(({ flavour }) => [
		{ ...made, flavour, threads: flavour === made.flavour ? made.threads + 1 : made.threads },
		...others.map((level) => ({ ...made, flavour, level })),
	]);
}

function formatVariant({ flavour, level, threads }: ReferenceVariant) {
	return `${flavour}, ${level}, ${counted(threads, "thread")}`;
}

async function runVariant(
	variant: ReferenceVariant,
	cases: readonly InferCase[],
	job: RecordJob & { turn: Record<"soft" | "hard", Budget> },
	{ progress, reference }: RunPorts,
) {
	const { flavour, level, threads } = variant;
	const label = formatVariant(variant);
	progress.item(label);
	const logPath = `${job.scratchFolder}/noise-${flavour}-${level}-${threads}.log`;
	const result = await reference.run({ ...runOf(job, job.turn), variant, cases, logPath });
	const outputs = doneOutputs(result);
	if (outputs === null) return "failed";
	if (outputs.length < cases.length)
		job.unfinished.push(
			`noise (${label}): ${cases.length - outputs.length} of ${counted(cases.length, "case")}`,
		);
	return outputs.length === 0 ? "late" : { label, outputs };
}

/** Of the cases, up to the first that its time ended; null if the run or a case failed otherwise. */
function doneOutputs(result: InferResult) {
	if (result.state === "failed") return isLate(result) ? [] : null;
	const outputs = result.cases.flatMap((item) => (item.state === "done" ? [item.outputs] : []));
	return outputs.length < result.cases.length ? null : outputs;
}

export function partsOfOutputs(reference: RunOutputs): OutputParts {
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	const tensorsOf = (name: string) => reference.flatMap((outputs) => outputs[name] ?? []);
	return Object.fromEntries(names.map((name) => [name, outputParts(tensorsOf(name))]));
}

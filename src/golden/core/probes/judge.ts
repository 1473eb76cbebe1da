// Judges an engine's probes: compares outputs that should be equal, then with the base's probes.

import type { ProbeName, ProbeResult } from "../../../../generated/result.ts";
import type { OnnxDim } from "../../../core/onnx/model.ts";
import { twoDigits } from "../../../core/text/units.ts";
import { toNumeric } from "../compare/checks.ts";
import { elementCount, own, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { isAllFinite } from "../tensor/values.ts";
import { anchor, type Comparison, pick, repetition, rounding, upTo } from "./context.ts";
import { type AllowanceRule, allowance, distanceBetween } from "./distance.ts";
import type { PlannedProbe, ProbePlan } from "./plan.ts";

export type ProbeAnswer =
	| { state: "done"; outputs: Tensors }
	| { state: "failed"; message: string; code?: string };
type ProbeAnswers = ReadonlyMap<string, ProbeAnswer>;

export interface JudgedProbe {
	probe: ProbeName;
	state: "agrees" | "differs" | "skipped";
	got: number | null;
	allowed: number | null;
	output?: string;
	message: string;
}

interface Context {
	plan: ProbePlan;
	answers: ProbeAnswers;
	rule: AllowanceRule;
	noise: ReadonlyMap<string, Measure>;
	explained: ReadonlyMap<string, number>;
	isSeparate: boolean;
}

interface Measure {
	output: string;
	got: number;
	allowed: number;
	isOverflow?: true;
	at?: string;
}

/** @param isSeparate each case ran in a process of its own. */
export function judgeProbes(
	plan: ProbePlan,
	answers: ProbeAnswers,
	rule: AllowanceRule,
	isSeparate = false,
): JudgedProbe[] {
	const unanswered = firstFailure([repetition], answers);
	const bare = { plan, answers, rule, isSeparate, noise: new Map(), explained: new Map() };
	const explained = new Map(measure(rounding, bare).map(({ output, got }) => [output, got]));
	const first: Context = { ...bare, explained };
	const noise = new Map(measure(repetition, first).map((own) => [own.output, own]));
	return plan.probes.map((planned) => {
		if (planned.state === "skipped") return skipped(planned.probe, planned.why);
		// The model may reject generated inputs, such as indices beyond a table.
		if (unanswered !== null)
			return skipped(planned.probe, `The engine failed on the probes' inputs: ${unanswered}`);
		return judgeOne(planned, planned.probe === "determinism" ? first : { ...first, noise });
	});
}

function skipped(probe: ProbeName, message: string): JudgedProbe {
	return { probe, state: "skipped", got: null, allowed: null, message };
}

type Planned = Extract<PlannedProbe, { state: "planned" }>;

function judgeOne(planned: Planned, context: Context): JudgedProbe {
	const { probe } = planned;
	const comparisons = planned.comparisons.filter((comparison) => !isRefusedBetween(comparison, context));
	const isShort = comparisons.length < planned.comparisons.length;
	const note = [planned.note, isShort && "The network refuses some sizes between."].filter(Boolean).join(" ");
	if (isShort && comparisons.length === 0) return skipped(probe, note);
	const unanswered = judgeFailure({ ...planned, comparisons }, context);
	if (unanswered !== null) return unanswered;
	const excess = ({ got, allowed }: Measure) => (got === 0 ? 0 : got / allowed);
	let worst: Measure | null = null;
	for (const next of comparisons.flatMap((comparison) => measure(comparison, context)))
		if (worst === null || !(excess(next) <= excess(worst))) worst = next;
	if (worst === null) {
		const why = [...context.noise.values()].some(isUnsteady)
			? "Two runs of the same input already differ or contain no finite number, so other probes cannot judge the outputs."
			: "No output has rows that both runs share.";
		return skipped(probe, why);
	}
	const state = isUnsteady(worst) ? "differs" : "agrees";
	return { probe, state, ...worst, message: [sentence(probe, worst), note].filter(Boolean).join(" ") };
}

/** Nothing promises that a network with strides takes a size that only lies between those of the profile. */
function isRefusedBetween({ isBetween, expected, got }: Comparison, { answers }: Context) {
	const isRefused = ({ caseId }: Comparison["got"]) => {
		const answer = answers.get(caseId);
		return answer?.state === "failed" && answer.code === "shape";
	};
	return isBetween === true && (isRefused(expected) || isRefused(got));
}

function judgeFailure({ probe, comparisons }: Planned, context: Context): JudgedProbe | null {
	if (context.isSeparate && inOneProcess.has(probe))
		return skipped(probe, "Each case had a process of its own: install TensorRT's Python package.");
	const failed = probe === "refit" ? failedRefit(context) : null;
	if (failed?.code === "refit-missing") return skipped(probe, `${failed.message}.`);
	const failure = failed?.message ?? (probe === "order" ? null : firstFailure(comparisons, context.answers));
	if (failure === null) return null;
	return { ...skipped(probe, `${failureTexts[probe] ?? usualFailure}: ${failure}`), state: "differs" };
}

/** What one inference leaves behind does not reach the next process. */
const inOneProcess: ReadonlySet<ProbeName> = new Set(["order", "streams", "refit"]);

const usualFailure = "The engine failed at a size within its profile";
const failureTexts: Readonly<Partial<Record<ProbeName, string>>> = {
	streams: "The engine failed with several inferences at once",
	refit: "The engine cannot be refitted",
};

function failedRefit({ plan, answers }: Context) {
	const refits = plan.cases.filter(({ refit }) => refit !== undefined);
	return refits.map(({ id }) => answers.get(id)).find((answer) => answer?.state === "failed") ?? null;
}

function isUnsteady({ got, allowed }: Measure) {
	return !(got <= allowed);
}

function firstFailure(comparisons: readonly Comparison[], answers: ProbeAnswers) {
	for (const { caseId } of comparisons.flatMap(({ expected, got }) => [expected, got])) {
		const answer = answers.get(caseId);
		if (answer === undefined) return "it ended before this case.";
		if (answer.state === "failed") return answer.message;
	}
	return null;
}

function measure(comparison: Comparison, { plan, answers, rule, noise, explained }: Context): Measure[] {
	const [expected, got] = [answers.get(comparison.expected.caseId), answers.get(comparison.got.caseId)];
	if (expected?.state !== "done" || got?.state !== "done") return [];
	return Object.keys(expected.outputs).flatMap((output): Measure[] => {
		const own = noise.get(output);
		if (own !== undefined && isUnsteady(own)) return [];
		const outputs = { expected: expected.outputs, got: got.outputs };
		const views = viewsOf(output, comparison, { plan, answers }, outputs);
		if (views === null || elementCount(views.expected.shape) + elementCount(views.got.shape) === 0) return [];
		const { arithmetic } = comparison;
		// Nothing but chance moves what the same kernels make of the same row.
		const moved = arithmetic === "same" ? 0 : (explained.get(output) ?? 0);
		const scatter = Math.max(own?.got ?? 0, moved);
		const noisy = Number.isFinite(scatter) ? scatter : 0;
		const allowed = allowance(rule, { arithmetic, dtype: views.expected.dtype, noise: noisy });
		const usual = answers.get(anchor);
		const isSound = ({ [output]: tensor }: Tensors) => tensor === undefined || isAllFinite(tensor);
		const overflows =
			comparison.at !== undefined &&
			!comparison.isRepeated &&
			usual?.state === "done" &&
			isSound(usual.outputs) &&
			![expected, got].every(({ outputs }) => isSound(outputs));
		if (overflows) return [{ output, got: Infinity, allowed, isOverflow: true, at: comparison.at }];
		return [
			{ output, got: distanceBetween(views.expected, views.got, views.axis), allowed, at: comparison.at },
		];
	});
}

function viewsOf(
	output: string,
	comparison: Comparison,
	{ plan, answers }: Pick<Context, "plan" | "answers">,
	outputs: { expected: Tensors; got: Tensors },
) {
	const declared = plan.outputs.find(({ name }) => name === output)?.axes ?? null;
	const sides = (["expected", "got"] as const).map((side) => {
		const tensor = own(outputs[side], output);
		const { caseId, rows } = comparison[side];
		return { tensor, rows, batch: plan.cases.find(({ id }) => id === caseId)?.batch ?? null };
	});
	// The declared batch axis, else the first axis; in both outputs its size must equal the batch size.
	const { batch } = plan;
	const place = Math.max(0, batch?.dim == null ? 0 : (declared?.indexOf(batch.dim) ?? 0));
	const fits = sides.every((side) => side.batch !== null && side.tensor?.shape[place] === side.batch);
	const axis = batch !== null && fits ? place : null;
	const { positions } = comparison;
	const alone = answers.get(positions?.alone ?? "");
	const without = alone?.state === "done" ? own(alone.outputs, output)?.shape : undefined;
	const sizes = { whole: outputs.expected[output]?.shape, without };
	const [expected, got] = sides.map(({ tensor, rows }) => {
		const cut = tensor === undefined ? null : cutPositions(tensor, declared, axis, { positions, sizes });
		if (cut === null || rows === null) return cut;
		return axis === null ? null : pick(cut, axis, rows);
	});
	return expected == null || got == null ? null : { expected, got, axis };
}

type Cut = Pick<Comparison, "positions"> & {
	/** Of the output with padding, and without if that ran. */
	sizes: Partial<Record<"whole" | "without", readonly number[]>>;
};

function cutPositions(
	tensor: Tensor,
	declared: readonly OnnxDim[] | null,
	rowsAxis: number | null,
	{ positions, sizes: { whole, without } }: Cut,
) {
	if (positions === undefined) return tensor;
	const { counted, padded } = positions;
	let cut: Tensor | null = tensor;
	for (const [axis, size] of tensor.shape.entries()) {
		const name = declared?.[axis] ?? null;
		const [long = size, short] = [whole?.[axis], without?.[axis]];
		// Without a run of the counted ones alone, a fixed size belongs to another axis, and any other may be theirs.
		const isWhole =
			short === undefined ? typeof name === "number" && name !== positions.axis : short === long;
		if (axis === rowsAxis || isWhole) continue;
		// Several positions may have become one.
		const kept = Math.min(short ?? size, Math.floor((long * counted) / padded));
		cut = cut && pick(cut, axis, upTo(Math.max(1, kept)));
	}
	return cut;
}

const answerLabels: Readonly<Record<ProbeName, string>> = {
	determinism: "Two runs of the same input",
	order: "Answers before and after other inputs",
	streams: "Inferences at the same time and one alone",
	"duplicate-rows": "Equal rows of one batch",
	neighbours: "A row with replaced neighbours and the original row",
	"batch-size": "A row in a large batch and in a small one",
	"profile-sizes": "Rows that batches share",
	padding: "Outputs for one input with other padding",
	refit: "Outputs before and after a refit with the same weights",
};

function sentence(probe: ProbeName, worst: Measure) {
	const { output, got, allowed, isOverflow, at } = worst;
	const name = JSON.stringify(output.slice(0, 120));
	if (isOverflow)
		return `At ${at} ${name} holds values that are not finite; at the usual size it holds none.`;
	const label = `${answerLabels[probe]}${at === undefined || got === 0 ? "" : ` at ${at}`}`;
	if (got === 0) return `${label} have the same values.`;
	if (Number.isNaN(got)) return `${label} contain no finite number in ${name}.`;
	const distance =
		got === Infinity ? "have another shape or other non-finite values" : `are ${twoDigits(got)} apart`;
	const limit = isUnsteady(worst) ? "allowed is" : "within the allowed";
	return `${label} ${distance} in ${name}; ${limit} ${twoDigits(allowed)}.`;
}

const maxGrowth = 2;

/** @param base probed only if the head differs; null: there is no base, or its probes did not run. */
export function settleProbes(
	head: readonly JudgedProbe[],
	base: ReadonlyMap<ProbeName, JudgedProbe> | null,
	{ model, engine }: { model: string; engine: string },
): ProbeResult[] {
	return head.map(({ probe, state, got, allowed, output, message }) => {
		const found = state === "differs" ? base?.get(probe) : undefined;
		const other = found?.state === "skipped" ? undefined : found;
		// A missing number counts as the worst, on both sides.
		const size = (value: number | null) => (Number.isFinite(value) ? Number(value) : Infinity);
		const known = other?.state === "differs" && size(got) <= maxGrowth * size(other.got);
		const numeric = (value: number | null) => (value === null ? null : toNumeric(value));
		return {
			model,
			engine,
			probe,
			state: known ? "known" : state,
			got: numeric(got),
			allowed,
			...(other === undefined ? {} : { base: numeric(other.got) }),
			output,
			message: [message, ...besideBase(got, other, known)].join(" "),
		};
	});
}

function besideBase(got: number | null, base: JudgedProbe | undefined, known: boolean) {
	if (base === undefined) return [];
	if (known) return ["The base does too."];
	if (base.state === "agrees") return ["The base's engine passes this probe."];
	const shown = base.got === null ? "a failure" : Number(base.got.toPrecision(2));
	return got === null ? [] : [`On the base it is ${shown}.`];
}

// Judges an engine's probes: compares outputs that should be equal, then with the base's probes.
import type { ProbeName, ProbeResult } from "../../../../generated/result.ts";
import { twoDigits } from "../../text/units.ts";
import { toNumeric } from "../compare/checks.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { type Comparison, repetition } from "./context.ts";
import { type AllowanceRule, allowance, distanceBetween } from "./distance.ts";
import type { PlannedProbe, ProbePlan } from "./plan.ts";
import { viewsOf } from "./views.ts";

export type ProbeAnswer =
	| { state: "done"; outputs: Readonly<Record<string, Tensor>> }
	| { state: "failed"; message: string };
export type ProbeAnswers = ReadonlyMap<string, ProbeAnswer>;

/** The outcome of one probe of one engine, before it is compared with its base. */
export interface JudgedProbe {
	probe: ProbeName;
	state: "agrees" | "differs" | "skipped";
	/** null: nothing was compared. */
	got: number | null;
	allowed: number | null;
	output?: string;
	/** Sentences. */
	message: string;
}

interface Context {
	plan: ProbePlan;
	answers: ProbeAnswers;
	rule: AllowanceRule;
	/** What two runs of the same input measured, by output. */
	noise: ReadonlyMap<string, Measure>;
}

interface Measure {
	output: string;
	got: number;
	allowed: number;
}

export function judgeProbes(plan: ProbePlan, answers: ProbeAnswers, rule: AllowanceRule): JudgedProbe[] {
	const unanswered = firstFailure([repetition], answers);
	const first = { plan, answers, rule, noise: new Map<string, Measure>() };
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

function judgeOne(planned: Extract<PlannedProbe, { state: "planned" }>, context: Context): JudgedProbe {
	const { probe, comparisons, note } = planned;
	const failure = firstFailure(comparisons, context.answers);
	if (failure !== null) {
		const message = `The engine failed at a size within its profile: ${failure}`;
		return { probe, state: "differs", got: null, allowed: null, message };
	}
	const excess = ({ got, allowed }: Measure): number => (got === 0 ? 0 : got / allowed);
	let worst: Measure | null = null;
	// NaN is further beyond what is allowed than anything.
	for (const next of comparisons.flatMap((comparison) => measure(comparison, context)))
		if (worst === null || !(excess(next) <= excess(worst))) worst = next;
	if (worst === null) {
		const unsteady = [...context.noise.values()].some(isUnsteady);
		return skipped(
			probe,
			unsteady
				? "Two runs of the same input already differ or contain no finite number, so other probes cannot judge the outputs."
				: "No output has rows that both runs share.",
		);
	}
	const { output, got, allowed } = worst;
	const agrees = got <= allowed;
	const message = [sentence(probe, worst, agrees), note].filter(Boolean).join(" ");
	return { probe, state: agrees ? "agrees" : "differs", got, allowed, output, message };
}

/** Two runs differ by more than is allowed: other probes cannot judge this output. */
function isUnsteady({ got, allowed }: Measure): boolean {
	return !(got <= allowed);
}

function firstFailure(comparisons: readonly Comparison[], answers: ProbeAnswers): string | null {
	for (const { expected, got } of comparisons) {
		for (const { caseId } of [expected, got]) {
			const answer = answers.get(caseId);
			if (answer === undefined) return "it ended before this case.";
			if (answer.state === "failed") return answer.message;
		}
	}
	return null;
}

/** Every output that both answers have in common and that two runs agree on. */
function measure(comparison: Comparison, { plan, answers, rule, noise }: Context): Measure[] {
	const [expected, got] = [answers.get(comparison.expected.caseId), answers.get(comparison.got.caseId)];
	if (expected?.state !== "done" || got?.state !== "done") return [];
	return Object.keys(expected.outputs).flatMap((output): Measure[] => {
		const own = noise.get(output);
		if (own !== undefined && isUnsteady(own)) return [];
		const views = viewsOf(output, comparison, plan, { expected: expected.outputs, got: got.outputs });
		// An output without elements agrees with everything.
		if (views === null || elementCount(views.expected.shape) + elementCount(views.got.shape) === 0) return [];
		const { arithmetic } = comparison;
		const allowed = allowance(rule, { arithmetic, dtype: views.expected.dtype, noise: own?.got ?? 0 });
		return [{ output, got: distanceBetween(views.expected, views.got, views.axis), allowed }];
	});
}

/** The compared outputs, for messages. */
const answerLabels: Readonly<Record<ProbeName, string>> = {
	determinism: "Two runs of the same input",
	"duplicate-rows": "Equal rows of one batch",
	neighbours: "A row with replaced neighbours and the original row",
	"batch-size": "A row in a large batch and in a small one",
	"profile-ends": "Outputs that the ends of the profile share",
	padding: "Outputs for one input with other padding",
};

function sentence(probe: ProbeName, { output, got, allowed }: Measure, agrees: boolean): string {
	const name = JSON.stringify(output.slice(0, 120));
	if (got === 0) return `${answerLabels[probe]} have the same values.`;
	if (Number.isNaN(got)) return `${answerLabels[probe]} contain no finite number in ${name}.`;
	const distance =
		got === Number.POSITIVE_INFINITY
			? "have another shape or other non-finite values"
			: `are ${twoDigits(got)} apart`;
	const verdict = agrees ? `within the allowed ${twoDigits(allowed)}` : `allowed is ${twoDigits(allowed)}`;
	return `${answerLabels[probe]} ${distance} in ${name}; ${verdict}.`;
}

/** As for error growth: different kernel choices change the error by less than a factor of two. */
const maxGrowth = 2;

/** @param base probed only where the head differs; null: there is no base, or its probes did not run. */
export function settleProbes(
	head: readonly JudgedProbe[],
	base: ReadonlyMap<ProbeName, JudgedProbe> | null,
	{ model, engine }: { model: string; engine: string },
): ProbeResult[] {
	return head.map(({ probe, state, got, allowed, output, message }) => {
		const found = state === "differs" ? base?.get(probe) : undefined;
		const other = found?.state === "skipped" ? undefined : found;
		// A missing number counts as the worst, on both sides.
		const size = (value: number | null): number =>
			Number.isFinite(value) ? Number(value) : Number.POSITIVE_INFINITY;
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

function besideBase(got: number | null, base: JudgedProbe | undefined, known: boolean): string[] {
	if (base === undefined) return [];
	if (known) return ["The base does too."];
	if (base.state === "agrees") return ["The base's engine passes this probe."];
	const shown = base.got === null ? "a failure" : Number(base.got.toPrecision(2));
	return got === null ? [] : [`On the base it is ${shown}.`];
}

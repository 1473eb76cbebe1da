// Times or counts the workloads of a run, and measures again what stands out in the history.
import type { Comparison } from "../../generated/result.ts";
import { absoluteGates } from "../core/config/gate-records.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { count } from "../stages/count.ts";
import { type MeasureInput, measure } from "../stages/measure.ts";
import { isIdentical, type TimedWorkload, timedWorkloads } from "../stages/workloads.ts";
import { recordedFacts } from "./conclude.ts";
import type { Found, RunContext } from "./run-context.ts";

export function timingOf(engines: readonly BuiltEngine[], run: RunContext): MeasureInput {
	const { measure } = run.input.config;
	const workloads = timedWorkloads(run.prepared.plan, engines, run.seen().shapes);
	const compared = workloads.filter((timed) => timed.base && !isIdentical(timed, measure)).length;
	return {
		workloads,
		measure,
		family: Math.max(1, compared),
		noBase: (timed) => whyNoBase(timed, run),
		outFolder: run.input.outFolder,
	};
}

function whyNoBase(
	{ workload }: TimedWorkload,
	{ input, prepared, seen }: RunContext,
): Pick<Comparison, "verdict" | "reason"> {
	if (input.noBase !== undefined) return { verdict: "missing", reason: input.noBase };
	const { baseDiffers: difference, baseHoldsOtherSizes } = seen().shapes.get(workload.id) ?? {};
	if (baseHoldsOtherSizes) return { verdict: "missing", reason: `New: ${difference}.` };
	const notComparable = (reason: string) => ({ verdict: "not-comparable", reason }) as const;
	if (difference !== undefined) return notComparable(`The inputs differ: ${difference}.`);
	const base = prepared.models.find(({ arm, spec }) => arm === "base" && spec.id === workload.engineId);
	if (base?.state === "broken" && base.arm === "base") return notComparable(base.error.message);
	if (base?.state !== "missing") return notComparable("The base's engine could not be built.");
	if (base.isNew) return { verdict: "missing", reason: `New: ${base.reason}.` };
	const known =
		input.baseConfigFault === undefined
			? "The base's config has this engine, but"
			: "The base's config cannot be read, and";
	return notComparable(`${known} ${base.reason}.`);
}

export async function* countWorkloads(timing: MeasureInput, { ports }: RunContext): AsyncGenerator<Found> {
	const { workloads } = timing;
	const limits = absoluteGates.filter(
		({ key, level }) =>
			level === "workload" && workloads.some(({ workload }) => workload.config.gates[key] !== undefined),
	);
	yield {
		notes: limits.map(
			({ name }) => `${name} has no effect: ONNX Runtime's work is counted, and nothing is timed.`,
		),
	};
	yield* count(timing, ports);
}

/** Fresh pairs, so that a single bad night raises no alarm. */
export async function* measureAgain(timing: MeasureInput, run: RunContext): AsyncGenerator<Found> {
	const due = (await run.input.suspects?.(recordedFacts(run.seen(), run.input))) ?? [];
	const workloads = timing.workloads.filter(({ workload }) => due.includes(workload.id));
	if (workloads.length === 0) return;
	const again = {
		...timing,
		workloads,
		measure: { ...timing.measure, looks: timing.measure.looks.slice(-1) },
		outFolder: `${timing.outFolder}/fresh`,
	};
	for await (const {
		rows: [row],
	} of measure(again, run.ports))
		yield {
			rows: run.seen().rows.flatMap((one) => (one.id === row.id ? [{ ...one, fresh: row.latency }] : [])),
		};
}

// What is timed and compared in a run: pairs, fresh pairs of what stands out in the history, and engines under load for minutes.
import { absoluteGates } from "../core/config/gate-records.ts";
import { BugError } from "../core/errors.ts";
import type { EngineSpec, Workload } from "../core/plan/plan.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { type CompareInput, compare } from "../stages/compare.ts";
import { count } from "../stages/count.ts";
import { type Measured, type MeasureInput, measure } from "../stages/measure.ts";
import { soak } from "../stages/soak.ts";
import { isIdentical, type TimedWorkload, timedWorkloads } from "../stages/workloads.ts";
import { concludeResult } from "./conclude.ts";
import type { RunContext } from "./run-context.ts";

export function timingOf(
	engines: readonly BuiltEngine[],
	{ prepared, input, facts }: RunContext,
): MeasureInput {
	const { measure } = input.config;
	const workloads = timedWorkloads(prepared.plan, engines, facts.shapes);
	const compared = workloads.filter((timed) => timed.base && !isIdentical(timed, measure)).length;
	return { workloads, measure, family: Math.max(1, compared), outFolder: input.outFolder };
}

export function comparisonOf(
	{ workload }: Measured,
	{ workloads, family }: MeasureInput,
	run: RunContext,
): CompareInput {
	const spec = specOf(workload, run);
	const timed = workloads.find((candidate) => candidate.workload === workload);
	const noBase = timed?.base ? {} : { noBase: whyNoBase(spec, workload, run) };
	const { looks, cudaGraph } = run.input.config.measure;
	return { isShared: timed?.head.record.sharedWithBase === true, spec, looks, cudaGraph, family, ...noBase };
}

function specOf(workload: Workload, { prepared }: RunContext): EngineSpec {
	const spec = prepared.plan.engines.find((engine) => engine.id === workload.engineId);
	if (spec === undefined)
		throw new BugError({ code: "internal", message: `${workload.id} has no engine in the plan.` });
	return spec;
}

/** In place of timing them. */
export async function countWorkloads(
	{ workloads, measure, outFolder }: MeasureInput,
	run: RunContext,
): Promise<void> {
	run.facts.notes.push(...untimedNotes(workloads, measure.soakMs));
	const noBase = ({ workload }: TimedWorkload) => whyNoBase(specOf(workload, run), workload, run);
	for await (const { row, error } of count({ workloads, measure, outFolder, noBase }, run.ports)) {
		run.facts.rows.push(row);
		if (error !== undefined) run.facts.errors.push(error);
	}
}

function untimedNotes(workloads: readonly TimedWorkload[], soakMs: number): string[] {
	const limits = absoluteGates.filter(
		({ key, level }) =>
			level === "workload" && workloads.some(({ workload }) => workload.config.gates[key] !== undefined),
	);
	const keys = [...limits.map(({ name }) => name), ...(soakMs > 0 ? ["measure.soak"] : [])];
	return keys.map((key) => `${key} has no effect: ONNX Runtime's work is counted, and nothing is timed.`);
}

/** Each workload is compared as soon as it is measured, so that the samples of only one are in memory. */
export async function measureWorkloads(timing: MeasureInput, run: RunContext): Promise<void> {
	const { facts, ports } = run;
	for await (const measured of measure(timing, ports)) {
		facts.rows.push(compare(measured, comparisonOf(measured, timing, run)));
		if (measured.error) facts.errors.push(measured.error);
	}
}

function whyNoBase(
	spec: EngineSpec,
	workload: Workload,
	{ input, facts, prepared }: RunContext,
): NonNullable<CompareInput["noBase"]> {
	if (input.noBase !== undefined) return { verdict: "missing", reason: input.noBase };
	const { baseDiffers: difference, baseHoldsOtherSizes } = facts.shapes.get(workload.id) ?? {};
	if (baseHoldsOtherSizes) return { verdict: "missing", reason: `New: ${difference}.` };
	if (difference !== undefined)
		return { verdict: "not-comparable", reason: `The inputs differ: ${difference}.` };
	const base = prepared.models.find((model) => model.arm === "base" && model.spec.id === spec.id);
	if (base?.state === "broken" && base.arm === "base")
		return { verdict: "not-comparable", reason: base.error.message };
	if (base?.state !== "missing")
		return { verdict: "not-comparable", reason: "The base's engine could not be built." };
	if (base.isNew) return { verdict: "missing", reason: `New: ${base.reason}.` };
	const known =
		input.baseConfigFault === undefined
			? "The base's config has this engine, but"
			: "The base's config cannot be read, and";
	return { verdict: "not-comparable", reason: `${known} ${base.reason}.` };
}

/** What stands out in the history is measured on fresh pairs, so that a single bad night raises no alarm. */
export async function measureAgain(timing: MeasureInput, run: RunContext): Promise<void> {
	const { input, facts, ports } = run;
	const now = { nowMs: ports.clock.now(), childMs: ports.childMs() };
	const due = (await input.suspects?.(concludeResult(facts, input, now))) ?? [];
	const workloads = timing.workloads.filter(({ workload }) => due.includes(workload.id));
	if (workloads.length === 0) return;
	const looks = timing.measure.looks.slice(-1);
	const again = {
		...timing,
		workloads,
		measure: { ...timing.measure, looks },
		outFolder: `${input.outFolder}/fresh`,
	};
	for await (const measured of measure(again, ports)) {
		const row = facts.rows.find(({ id }) => id === measured.workload.id);
		if (row !== undefined)
			row.fresh = compare(measured, { ...comparisonOf(measured, timing, run), looks }).latency;
	}
}

export async function soakEngines(timing: MeasureInput, { facts, ports }: RunContext): Promise<void> {
	for await (const soaked of soak({ ...timing, rows: facts.rows }, ports)) {
		if ("error" in soaked) facts.errors.push(soaked.error);
		const row = facts.rows.find(({ id }) => id === soaked.id);
		if (row !== undefined && "soak" in soaked) row.soak = soaked.soak;
	}
}

// What is timed and compared in a run, and why a workload has no base to compare with.
import { BugError } from "../core/errors.ts";
import type { EngineSpec, Workload } from "../core/plan/plan.ts";
import type { BackendFacts, RunFigure } from "../core/schema/result.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import type { CompareInput } from "../stages/compare.ts";
import type { Measured, MeasureInput } from "../stages/measure.ts";
import { isIdentical, timedWorkloads } from "../stages/workloads.ts";
import type { RunContext } from "./run-context.ts";

/**
 * The figure of a run that is compared. A GPU under a lease runs only this job, so the median is its speed. A CPU is shared, and
 * other programs only ever add time: the fastest iteration scatters three to five times less (measured on two busy cores).
 */
const runFigures: Readonly<Record<BackendFacts["kind"], RunFigure>> = { tensorrt: "median", onnxruntime: "fastest" };

export function timingOf(engines: readonly BuiltEngine[], { prepared, input, facts }: RunContext): MeasureInput {
	const { measure } = input.config;
	const workloads = timedWorkloads(prepared.plan, engines, facts.shapes);
	const compared = workloads.filter((timed) => timed.base && !isIdentical(timed, measure)).length;
	return { workloads, measure, family: Math.max(1, compared), figure: runFigures[facts.backend.kind], outFolder: input.outFolder };
}

export function comparisonOf({ workload }: Measured, { workloads, family, figure }: MeasureInput, run: RunContext): CompareInput {
	const spec = run.prepared.plan.engines.find((engine) => engine.id === workload.engineId);
	if (spec === undefined) throw new BugError({ code: "internal", message: `${workload.id} has no engine in the plan.` });
	const timed = workloads.find((candidate) => candidate.workload === workload);
	const noBase = timed?.base ? {} : { noBase: whyNoBase(spec, workload, run) };
	const { looks, cudaGraph } = run.input.config.measure;
	return { isShared: timed?.head.record.sharedWithBase === true, spec, looks, cudaGraph, family, figure, ...noBase };
}

function whyNoBase(spec: EngineSpec, workload: Workload, { input, facts, prepared }: RunContext): NonNullable<CompareInput["noBase"]> {
	if (input.noBase !== undefined) return { verdict: "missing", reason: input.noBase };
	const difference = facts.shapes.get(workload.id)?.baseDiffers;
	if (difference !== undefined) return { verdict: "not-comparable", reason: `Not comparable: ${difference}.` };
	const base = prepared.models.find((model) => model.arm === "base" && model.spec.id === spec.id);
	if (base?.state === "broken" && base.arm === "base")
		return { verdict: "not-comparable", reason: `Not comparable: ${base.error.message}` };
	if (base?.state !== "missing") return { verdict: "not-comparable", reason: "Not comparable: the base's engine could not be built." };
	if (base.isNew) return { verdict: "missing", reason: `New: ${base.reason}.` };
	return { verdict: "not-comparable", reason: `Not comparable: the base's config has this engine, but ${base.reason}.` };
}

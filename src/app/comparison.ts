// What is compared of each measured workload, and why where there is nothing to compare with.
import { BugError } from "../core/errors.ts";
import type { EngineSpec, Plan, Workload } from "../core/plan/plan.ts";
import type { BackendFacts, RunFigure } from "../core/schema/result.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import type { CompareInput } from "../stages/compare.ts";
import type { Measured, TimedWorkload } from "../stages/measure.ts";
import type { Facts } from "./facts.ts";
import type { RunContext } from "./run-context.ts";

/**
 * The figure of a run that is compared. A GPU under a lock is ours alone, so its median is its speed. A CPU is shared, and
 * other programs only ever add time: the fastest iteration scatters three to five times less (measured on two busy cores).
 */
export const runFigures: Readonly<Record<BackendFacts["kind"], RunFigure>> = { tensorrt: "median", onnxruntime: "fastest" };

interface ComparisonContext {
	work: RunContext;
	workloads: readonly TimedWorkload[];
	family: number;
	figure: RunFigure;
}

export function comparison(measured: Measured, context: ComparisonContext) {
	const { input, facts, prepared } = context.work;
	const { workload } = measured;
	const spec = prepared.plan.engines.find((engine) => engine.id === workload.engineId);
	if (spec === undefined) throw new BugError({ code: "internal", message: `${workload.id} has no engine in the plan.` });
	const timed = context.workloads.find((candidate) => candidate.workload === workload);
	const noBase = timed?.base ? {} : { noBase: whyNoBase({ spec, workload }, { input, facts, prepared }) };
	const { looks, cudaGraph } = input.config.measure;
	return { spec, looks, cudaGraph, family: context.family, figure: context.figure, ...noBase };
}

function whyNoBase(of: { spec: EngineSpec; workload: Workload }, work: RunContext): NonNullable<CompareInput["noBase"]> {
	if (work.input.noBase !== undefined) return { verdict: "missing", reason: work.input.noBase };
	const difference = work.facts.shapes.get(of.workload.id)?.baseDiffers;
	if (difference !== undefined) return { verdict: "not-comparable", reason: `Not comparable: ${difference}.` };
	const base = work.prepared.models.find((model) => model.arm === "base" && model.spec.id === of.spec.id);
	if (base?.state === "broken") return { verdict: "not-comparable", reason: `Not comparable: ${base.error.message}` };
	if (base?.state !== "missing") return { verdict: "not-comparable", reason: "Not comparable: the base's engine could not be built." };
	if (base.isNew) return { verdict: "missing", reason: `New: ${base.reason}.` };
	return { verdict: "not-comparable", reason: `Not comparable: the base's config has this engine, but ${base.reason}.` };
}

/** The workloads whose head was built; those of the others say so through the build gate. */
export function timedWorkloads(plan: Plan, engines: readonly BuiltEngine[], facts: Facts): TimedWorkload[] {
	return plan.workloads.flatMap((workload) => {
		const [head, base] = (["head", "base"] as const).map((arm) =>
			engines.find((engine) => engine.arm === arm && engine.spec.id === workload.engineId),
		);
		const shapes = facts.shapes.get(workload.id);
		if (!head || !shapes) return [];
		const step = plan.steps.find((candidate) => candidate.kind === "measure" && candidate.workloadId === workload.id);
		if (step?.kind !== "measure") return [];
		const comparable = base && shapes.baseDiffers === undefined ? { base } : {};
		return [{ workload, head, ...comparable, inputs: shapes.inputs, firstArms: step.firstArms, estimateMs: step.estimateMs }];
	});
}

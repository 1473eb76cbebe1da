// The gate that notices what is no longer checked: workloads of the base's config that the head's does not have.
import type { EngineSpec } from "../plan/plan.ts";
import type { GateResult } from "../schema/result.ts";

export function judgeCoverage(before: readonly EngineSpec[], now: readonly EngineSpec[]): GateResult[] {
	const kept = new Set(now.flatMap((spec) => workloadKeys(spec).map(({ key }) => key)));
	return before
		.flatMap(workloadKeys)
		.filter(({ key }) => !kept.has(key))
		.map(({ model, engine, workload }) => ({
			gate: "coverage",
			model,
			engine,
			workload,
			status: "warn",
			message: "The base checks this workload; the head no longer does.",
		}));
}

function workloadKeys(spec: EngineSpec) {
	return spec.engine.workloads.map((workload) => {
		const place = { model: spec.model.name, engine: spec.engine.name, workload: workload.name };
		return { ...place, key: JSON.stringify(place) };
	});
}

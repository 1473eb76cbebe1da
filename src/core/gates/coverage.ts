// The gate that notices what is no longer checked: workloads of the base's config that the head's does not have, and engines without any.
import type { EngineSpec } from "../plan/plan.ts";
import type { GateResult } from "../schema/result.ts";

export function judgeCoverage(before: readonly EngineSpec[], now: readonly EngineSpec[]): GateResult[] {
	const kept = new Set(now.flatMap((spec) => [engineKey(spec), ...workloadKeys(spec)].map(({ key }) => key)));
	return before
		.flatMap((spec) => (spec.engine.workloads.length === 0 ? [engineKey(spec)] : workloadKeys(spec)))
		.filter(({ key }) => !kept.has(key))
		.map(({ key: _, workload, ...place }) => ({
			gate: "coverage",
			...place,
			...(workload === undefined ? {} : { workload }),
			status: "warn",
			message: `The base checks this ${workload === undefined ? "engine" : "workload"}; the head no longer does.`,
		}));
}

interface Keyed {
	model: string;
	engine: string;
	workload?: string;
	key: string;
}

function engineKey({ model, engine }: EngineSpec): Keyed {
	return keyed({ model: model.name, engine: engine.name });
}

function workloadKeys({ model, engine }: EngineSpec): Keyed[] {
	return engine.workloads.map((workload) => keyed({ model: model.name, engine: engine.name, workload: workload.name }));
}

function keyed(place: Omit<Keyed, "key">): Keyed {
	return { ...place, key: JSON.stringify(place) };
}

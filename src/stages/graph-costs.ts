// Compares the static costs of models at the sizes of their workloads.

import type { GraphCost } from "../../generated/result.ts";
import { ConfigError } from "../core/errors.ts";
import { changedNodes, figuresOf } from "../core/onnx/cost/compare.ts";
import type { CountedGraph, InputSizes } from "../core/onnx/cost/control-flow.ts";
import { costsOf, sizesOf } from "../core/onnx/cost/cost.ts";
import { resolveShapes } from "../core/onnx/input-shapes/search.ts";
import type { Plan, Workload } from "../core/plan/plan.ts";
import { timedInputsOf } from "../core/timed-inputs.ts";
import { type PreparedModel, type ReadyModel, sidesOf } from "./prepared.ts";
import type { WorkloadShapes } from "./workloads.ts";

const maxChanges = 20;

export function graphCosts(
	plan: Plan,
	models: readonly PreparedModel[],
	shapes: ReadonlyMap<string, WorkloadShapes>,
): GraphCost[] {
	// A model that only its golden describes has no nodes.
	const ready = models
		.filter((prepared) => prepared.state === "ready")
		.filter(({ model }) => model.onnx.graph.nodes.length > 0);
	const found = new Map<string, GraphCost>();
	const count = counter();
	for (const workload of plan.workloads) {
		const { head, base } = sidesOf(ready, ({ spec }) => spec.id === workload.engineId);
		const shaped = shapes.get(workload.id);
		if (head === undefined || shaped === undefined || shaped.headDiffers !== undefined) continue;
		const key = JSON.stringify([head.spec.model.name, head.model.sha256, base?.model.sha256, shaped.inputs]);
		const known = found.get(key);
		if (known !== undefined) known.workloads.push(workload.id);
		else found.set(key, costOf({ workload, head, base, shaped }, count));
	}
	return [...found.values()];
}

type Count = (model: ReadyModel, sizes: InputSizes) => CountedGraph;

function counter(): Count {
	const models = new Map<string, ReturnType<typeof costsOf>>();
	const costs = new Map<string, CountedGraph>();
	return ({ model: { sha256, onnx } }, sizes) => {
		const key = JSON.stringify([sha256, sizes]);
		const own = models.get(sha256) ?? costsOf(onnx);
		const cost = costs.get(key) ?? own(sizes);
		models.set(sha256, own);
		costs.set(key, cost);
		return cost;
	};
}

interface Sides {
	workload: Workload;
	head: ReadyModel;
	base: ReadyModel | undefined;
	shaped: WorkloadShapes;
}

function costOf({ workload, head, base, shaped }: Sides, count: Count) {
	const sizes = sizesOf(shaped.inputs);
	const baseSizes =
		base === undefined || shaped.baseDiffers === undefined ? sizes : sizesOfBase(base, workload);
	const after = count(head, sizes);
	const before = base === undefined || baseSizes === null ? null : count(base, baseSizes);
	const changes = before === null ? [] : changedNodes(before, after);
	const { model, engine } = head.spec;
	return {
		model: model.name,
		...(engine.onnx === model.onnx ? {} : { engine: engine.name }),
		workloads: [workload.id],
		shapes: Object.fromEntries(shaped.inputs.map(({ name, shape }) => [name, [...shape]])),
		base: before && figuresOf(before),
		head: figuresOf(after),
		changes: changes.slice(0, maxChanges),
		changed: changes.length,
	};
}

function sizesOfBase({ model, spec }: ReadyModel, { config }: Workload) {
	try {
		const { inputs } = spec.model;
		return sizesOf(
			timedInputsOf(model.onnx, inputs)(resolveShapes(model.onnx, { dims: config.dims, inputs })),
		);
	} catch (error) {
		if (error instanceof ConfigError) return null;
		throw error;
	}
}

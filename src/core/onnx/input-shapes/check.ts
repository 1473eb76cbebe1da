// Checks concrete shapes of a model's inputs without running it: what contradicts itself can never run.
import { constantsIn } from "../constants.ts";
import type { OnnxModel, OnnxNode } from "../model.ts";
import { inferShapes } from "../static-shapes/infer.ts";
import { inferTypes } from "../static-shapes/types.ts";
import { nodeLabel, scopesOf } from "../walk.ts";

export type ShapeCheck = (shapes: Readonly<Record<string, readonly number[]>>) => string | null;

/** Why the model cannot run with these shapes; null where nothing speaks against it. Faults of the model itself are for preflight. */
export function shapeCheck(model: OnnxModel): ShapeCheck {
	const scopes = scopesOf(model);
	const [graph] = scopes;
	if (graph === undefined) return () => null;
	const constants = constantsIn(scopes);
	const types = inferTypes(model, scopes, constants);
	const given = { constants: constants.get(graph) ?? new Map(), types: types.get(graph) ?? new Map() };
	const own = new Set<OnnxNode>(inferShapes(model, graph, given).faults.map(({ node }) => node));
	return (shapes) => {
		const inputs = model.graph.inputs.map((input) => ({
			...input,
			dims: Object.hasOwn(shapes, input.name) ? (shapes[input.name] ?? null) : input.dims,
		}));
		const { faults } = inferShapes({ ...model, graph: { ...model.graph, inputs } }, graph, given);
		const found = faults.find(({ node }) => !own.has(node));
		return found === undefined ? null : `${nodeLabel(found.node)} ${found.what}`;
	};
}

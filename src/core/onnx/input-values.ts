// Which values an input may hold, by what the model does with them: looks them up, compares them, clips them.
import { type Evidence, readNode, type Walk } from "./input-uses.ts";
import type { OnnxModel, OnnxNode } from "./model.ts";
import { nodesInRunOrder } from "./run-order.ts";
import { inferShapes } from "./static-shapes/infer.ts";
import { inferTypes } from "./static-shapes/types.ts";
import { constantNamed, constantsIn, type Scope, scopesOf } from "./walk.ts";

export type InputValues =
	| { kind: "range"; low: number; high: number; why: string }
	| { kind: "choice"; values: readonly number[]; only: boolean; why: string }
	| { kind: "unused" }
	| { kind: "state" }
	| { kind: "length" }
	/** Sizes or counts of what the model makes: others run for ever, or not at all. */
	| { kind: "size" }
	| { kind: "rows"; axis: string; shift: number }
	| { kind: "unknown" };

export function valuesOfInputs(model: OnnxModel, inputs: readonly string[]): Map<string, InputValues> {
	const scopes = scopesOf(model).filter(({ kind }) => kind !== "function");
	const constants = constantsIn(scopes);
	const [graph] = scopes;
	const types = inferTypes(model, scopes, { constants });
	const own = graph && { constants: constants.get(graph) ?? new Map(), types: types.get(graph) ?? new Map() };
	const shapes = graph === undefined || own === undefined ? new Map() : inferShapes(model, graph, own).shapes;
	const shapeOf: Walk["shapeOf"] = (scope, name) =>
		constantNamed(constants, scope, name)?.dims ?? shapes.get(name) ?? null;
	const walks = inputs.map(
		(input): Walk => ({ carriers: new Map([[input, 0]]), evidence: noEvidence(), constants, shapeOf }),
	);
	walkAll(scopes, new Map(inputs.map((input, at) => [input, new Set(walks.slice(at, at + 1))] as const)));
	return new Map(inputs.map((input, at) => [input, conclude(walks[at]?.evidence ?? noEvidence())]));
}

function noEvidence(): Evidence {
	return {
		tables: [],
		bounds: [],
		compared: [],
		isReadOtherwise: false,
		isState: false,
		isLength: false,
		isSize: false,
		rowsOf: null,
	};
}

type Carried = Map<string, Set<Walk>>;

/** Outer graphs come first, so that one pass follows every path. */
function walkAll(scopes: readonly Scope[], carried: Carried): void {
	for (const scope of scopes) {
		for (const node of nodesInRunOrder(scope)) follow(node, scope, carried);
		for (const name of scope.outputs)
			for (const { carriers, evidence } of carried.get(name) ?? [])
				if (typeof carriers.get(name) === "number") evidence.isReadOtherwise = true;
	}
}

function follow(node: OnnxNode, scope: Scope, carried: Carried): void {
	for (const walk of new Set(node.inputs.flatMap((name) => [...(carried.get(name) ?? [])]))) {
		readNode(node, scope, walk);
		for (const output of node.outputs)
			if (walk.carriers.has(output)) carried.set(output, (carried.get(output) ?? new Set()).add(walk));
	}
}

function conclude({
	tables,
	bounds,
	compared,
	isReadOtherwise,
	isState,
	isLength,
	isSize,
	rowsOf,
}: Evidence): InputValues {
	const found = narrowest(tables) ?? narrowest(bounds);
	if (found !== null) return { kind: "range", ...found };
	if (isState) return { kind: "state" };
	if (isLength) return { kind: "length" };
	if (isSize) return { kind: "size" };
	if (rowsOf !== null) return { kind: "rows", ...rowsOf };
	const values = [...new Set(compared)];
	if (values.length > 0)
		return {
			kind: "choice",
			values,
			only: !isReadOtherwise,
			why: `the model compares it with ${values.slice(0, 4).join(" and ")}`,
		};
	return { kind: isReadOtherwise ? "unknown" : "unused" };
}

function narrowest(ranges: Evidence["tables"]): Evidence["tables"][number] | null {
	const [first, ...others] = ranges;
	if (first === undefined) return null;
	const joined = others.reduce(
		(all, { low, high, why }) => ({
			low: Math.max(all.low, low),
			high: Math.min(all.high, high),
			why: high < all.high ? why : all.why,
		}),
		first,
	);
	const found = joined.low <= joined.high ? joined : first;
	return Number.isFinite(found.low) && Number.isFinite(found.high) ? found : null;
}

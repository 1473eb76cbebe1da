// Which values an input may hold, by what the model does with them: looks them up, compares them, clips them.

import { type Evidence, readNode, type Walk } from "./input-uses.ts";
import type { OnnxModel, OnnxNode } from "./model.ts";
import { nodesInRunOrder } from "./run-order.ts";
import { inferShapes } from "./static-shapes/infer.ts";
import { inferTypes } from "./static-shapes/types.ts";
import { constantNamed, constantsIn, type Scope, scopesOf } from "./walk.ts";

/** What the nodes that read an input say of its values. */
export type InputValues =
	/** Whole numbers, both ends included. */
	| { kind: "range"; low: number; high: number; why: string }
	/** Compared one by one with these numbers, in the order of the file. only: and read in no other way. */
	| { kind: "choice"; values: readonly number[]; only: boolean; why: string }
	/** Its values reach nothing. */
	| { kind: "unused" }
	/** The initial state of a recurrent layer. */
	| { kind: "state" }
	/** How many steps of a recurrent layer count. */
	| { kind: "length" }
	/** Sizes or counts of what the model makes: others run for ever, or not at all. */
	| { kind: "size" }
	/** Places along this axis of other inputs. */
	| { kind: "rows"; axis: string }
	| { kind: "unknown" };

/** By input. One pass over the graph serves all of them. */
export function valuesOfInputs(model: OnnxModel, inputs: readonly string[]): Map<string, InputValues> {
	const scopes = scopesOf(model).filter(({ kind }) => kind !== "function");
	const constants = constantsIn(scopes);
	const [graph] = scopes;
	const types = inferTypes(model, scopes, constants);
	const own = graph && { constants: constants.get(graph) ?? new Map(), types: types.get(graph) ?? new Map() };
	const shapes = graph === undefined || own === undefined ? new Map() : inferShapes(model, graph, own).shapes;
	const shapeOf: Walk["shapeOf"] = (scope, name) => constantNamed(constants, scope, name)?.dims ?? shapes.get(name) ?? null;
	const inOrder = new Map(scopes.map((scope) => [scope, nodesInRunOrder(scope)]));
	return new Map(inputs.map((input) => [input, valuesOfInput(input, { constants, shapeOf, inOrder })]));
}

interface Known extends Pick<Walk, "constants" | "shapeOf"> {
	inOrder: ReadonlyMap<Scope, readonly OnnxNode[]>;
}

function valuesOfInput(input: string, known: Known): InputValues {
	const evidence: Evidence = {
		tables: [],
		bounds: [],
		compared: [],
		isReadOtherwise: false,
		isState: false,
		isLength: false,
		isSize: false,
		rowsOf: null,
	};
	const walk: Walk = { carriers: new Map([[input, 0]]), evidence, ...known };
	// Outer graphs first, so that one pass follows every path.
	for (const [scope, nodes] of known.inOrder) {
		for (const node of nodes) if (node.inputs.some((name) => walk.carriers.has(name))) readNode(node, scope, walk);
		if (scope.outputs.some((name) => typeof walk.carriers.get(name) === "number")) evidence.isReadOtherwise = true;
	}
	return conclude(evidence);
}

function conclude({ tables, bounds, compared, isReadOtherwise, isState, isLength, isSize, rowsOf }: Evidence): InputValues {
	const found = narrowest(tables) ?? narrowest(bounds);
	if (found !== null) return { kind: "range", ...found };
	if (isState) return { kind: "state" };
	if (isLength) return { kind: "length" };
	if (isSize) return { kind: "size" };
	if (rowsOf !== null) return { kind: "rows", axis: rowsOf };
	const values = [...new Set(compared)];
	if (values.length > 0)
		return { kind: "choice", values, only: !isReadOtherwise, why: `the model compares it with ${values.slice(0, 4).join(" and ")}` };
	return { kind: isReadOtherwise ? "unknown" : "unused" };
}

function narrowest(ranges: Evidence["tables"]): Evidence["tables"][number] | null {
	const [first, ...others] = ranges;
	if (first === undefined) return null;
	const joined = others.reduce(
		(all, { low, high, why }) => ({ low: Math.max(all.low, low), high: Math.min(all.high, high), why: high < all.high ? why : all.why }),
		first,
	);
	const found = joined.low <= joined.high ? joined : first;
	return Number.isFinite(found.low) && Number.isFinite(found.high) ? found : null;
}

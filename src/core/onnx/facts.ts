// Facts about a model's graph that every check needs, found once for each model.
import type { OnnxModel } from "./model.ts";
import { inferShapes, type StaticShapes } from "./static-shapes/infer.ts";
import { inferTypes, type TypesByScope } from "./static-shapes/types.ts";
import { type Constants, constantsIn, readNames, type Scope, scopesOf } from "./walk.ts";

export interface ModelFacts {
	scopes: readonly Scope[];
	graph: Scope;
	constants: Constants;
	types: TypesByScope;
	static: StaticShapes;
	/** Names that something reads, by body. */
	read: ReadonlyMap<Scope, ReadonlySet<string>>;
}

const known = new WeakMap<OnnxModel, ModelFacts>();

export function factsOf(model: OnnxModel): ModelFacts {
	const before = known.get(model);
	if (before !== undefined) return before;
	const scopes = scopesOf(model);
	const [graph] = scopes;
	const constants = constantsIn(scopes);
	const types = inferTypes(model, scopes, { constants });
	const shapes = inferShapes(model, graph, { constants, types });
	const facts = { scopes, graph, constants, types, static: shapes, read: readNames(scopes) };
	known.set(model, facts);
	return facts;
}

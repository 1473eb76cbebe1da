// Collects which operators a model uses, each with its first node.
import type { Finding } from "../../schema/result.ts";
import type { OnnxNode } from "../model.ts";
import standard from "../standard-operators.json" with { type: "json" };
import type { Scope } from "../walk.ts";
import type { Subject } from "./subject.ts";

/** An operator's first node, and how many nodes there are in all. */
export interface OperatorUses {
	node: OnnxNode;
	scope: Scope;
	count: number;
}

/** Judges one operator of a model. */
export type OperatorJudge = (uses: OperatorUses, subject: Subject) => Finding[];

interface Lifetime {
	since: number;
	/** First opset without it. */
	until?: number;
}

const lifetimes: ReadonlyMap<string, ReadonlyMap<string, Lifetime>> = new Map(
	Object.entries(standard.domains).map(([domain, operators]) => [domain, new Map<string, Lifetime>(Object.entries(operators))]),
);

/** When the standard had the operator; undefined where it never did. */
export function lifetimeOf(node: OnnxNode): Lifetime | undefined {
	return lifetimes.get(node.domain)?.get(node.op);
}

/** Every operator once, but for those that the file itself defines. */
export function operatorUses(subject: Subject): OperatorUses[] {
	const local = new Set(subject.model.onnx.functions.map(({ domain, name }) => `${domain}\n${name}`));
	const found = new Map<string, OperatorUses>();
	for (const scope of subject.scopes) {
		for (const node of scope.nodes) {
			const id = `${node.domain}\n${node.op}`;
			const uses = found.get(id);
			if (uses !== undefined) uses.count++;
			else if (!local.has(id)) found.set(id, { node, scope, count: 1 });
		}
	}
	return [...found.values()];
}

/** ` (3 nodes)`, or nothing where there is only one. */
export function others({ count }: OperatorUses): string {
	return count === 1 ? "" : ` (${count} nodes)`;
}

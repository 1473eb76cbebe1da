// Checks operators by name: unknown ones, ones that the stated operator set does not have, and ones that draw random numbers.
import type { Finding } from "../../../../generated/result.ts";
import type { OnnxNode } from "../model.ts";
import { nodeLabel, type Scope } from "../walk.ts";
import { constantOf, finding, nodeIn, others, type Rule, type Subject } from "./subject.ts";

const onnxRuntimeDomains: ReadonlySet<string> = new Set(["com.microsoft", "com.microsoft.nchwc"]);
/** Operators that ONNX Runtime 1.30 knows in the standard domain beyond the standard (tried). */
const onnxRuntimeExtras: ReadonlySet<string> = new Set([
	"LayerNormalization",
	"SimplifiedLayerNormalization",
]);

export const operators: Rule = (subject) =>
	subject.context.backend === "onnxruntime"
		? operatorUses(subject).flatMap((uses) => judge(uses, subject))
		: [];

const judge: OperatorJudge = (uses) => {
	const { node, scope } = uses;
	const lifetime = lifetimeOf(node);
	const opset = Object.hasOwn(scope.opsets, node.domain) ? scope.opsets[node.domain] : undefined;
	if (lifetime === undefined) return isKnownToOnnxRuntime(node) ? [] : [unknownOperator(uses)];
	if (opset === undefined) return [];
	if (opset < lifetime.since && !onnxRuntimeExtras.has(node.op))
		return [tooNewOperator(uses, lifetime.since, opset)];
	return lifetime.until !== undefined && opset >= lifetime.until
		? [withdrawnOperator(uses, lifetime.until, opset)]
		: [];
};

export function isKnownToOnnxRuntime(node: OnnxNode): boolean {
	return (
		lifetimeOf(node) !== undefined ||
		onnxRuntimeDomains.has(node.domain) ||
		(node.domain === "" && onnxRuntimeExtras.has(node.op))
	);
}

function unknownOperator(uses: OperatorUses): Finding {
	return finding(
		"operator-unknown",
		`${nodeIn(uses.node, uses.scope)} is neither an ONNX operator nor a function of this file${others(uses.count)}: ONNX Runtime cannot run it.`,
		{ fix: "Gate this model on TensorRT with its plugin, or export without the operator.", node: uses.node },
	);
}

function tooNewOperator(uses: OperatorUses, since: number, opset: number): Finding {
	return finding(
		"operator-too-new",
		`${nodeIn(uses.node, uses.scope)} exists since opset ${since}, but the model states opset ${opset}${others(uses.count)}.`,
		{ fix: `Export with opset ${since} or newer.`, node: uses.node },
	);
}

function withdrawnOperator(uses: OperatorUses, until: number, opset: number): Finding {
	return finding(
		"operator-withdrawn",
		`${nodeLabel(uses.node)} was withdrawn from ONNX in opset ${until}, and the model states opset ${opset}${others(uses.count)}.`,
		{ node: uses.node },
	);
}

import standard from "../../../../data/onnx-operators.json" with { type: "json" };

export interface OperatorUses {
	node: OnnxNode;
	scope: Scope;
	count: number;
}

export type OperatorJudge = (uses: OperatorUses, subject: Subject) => Finding[];

interface Lifetime {
	since: number;
	until?: number;
}

const lifetimes: ReadonlyMap<string, ReadonlyMap<string, Lifetime>> = new Map(
	Object.entries(standard.domains).map(([domain, operators]) => [
		domain,
		new Map<string, Lifetime>(Object.entries(operators)),
	]),
);

export function lifetimeOf(node: OnnxNode): Lifetime | undefined {
	return lifetimes.get(node.domain)?.get(node.op);
}

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

const drawing: ReadonlySet<string> = new Set([
	"Bernoulli",
	"Multinomial",
	"RandomNormal",
	"RandomNormalLike",
	"RandomUniform",
	"RandomUniformLike",
]);

export const randomness: Rule = (subject) =>
	subject.scopes.flatMap((scope) =>
		scope.nodes
			.filter((node) => node.domain === "" && (drawing.has(node.op) || isTraining(node, scope, subject)))
			.map((node) =>
				finding(
					"operator-random",
					`${nodeIn(node, scope)} draws random numbers${node.op === "Dropout" ? " (in training mode)" : ""}: each runtime computes a different result, so no golden can match.`,
					{ node },
				),
			),
	);

/** Dropout since opset 12: data, ratio (0.5), training_mode (false). What is no constant may be any of both. */
function isTraining(node: OnnxNode, scope: Scope, subject: Subject): boolean {
	if (node.op !== "Dropout" || (node.inputs[2] ?? "") === "") return false;
	const [ratio, mode] = [1, 2].map((place) => constantOf(subject, scope, node.inputs[place])?.values?.[0]);
	return mode !== 0 && ratio !== 0;
}

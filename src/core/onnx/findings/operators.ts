// Checks operators by name: unknown ones, ones that the stated operator set does not have, and ones that draw random numbers.
import standard from "../../../../data/onnx-operators.json" with { type: "json" };
import type { Finding } from "../../../../generated/result.ts";
import type { OnnxNode } from "../model.ts";
import { nodeLabel, type Scope } from "../walk.ts";
import { constantOf, everyNode, finding, nodeIn, others, type Rule, type Subject } from "./subject.ts";

const onnxRuntimeDomains = new Set(["com.microsoft", "com.microsoft.nchwc"]);
/** Operators that ONNX Runtime 1.30 knows in the standard domain beyond the standard (tried). */
const onnxRuntimeExtras = new Set(["LayerNormalization", "SimplifiedLayerNormalization"]);

/** An operator's first node, and how many nodes there are in all. */
export interface OperatorUses {
	node: OnnxNode;
	scope: Scope;
	count: number;
}

/** The opsets from `since` to before `until` have the operator. */
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

/** undefined where the standard never had the operator. */
export function lifetimeOf(node: OnnxNode): Lifetime | undefined {
	return lifetimes.get(node.domain)?.get(node.op);
}

export function isKnownToOnnxRuntime(node: OnnxNode): boolean {
	return (
		lifetimeOf(node) !== undefined ||
		onnxRuntimeDomains.has(node.domain) ||
		(node.domain === "" && onnxRuntimeExtras.has(node.op))
	);
}

/** Every operator once, but for those that the file itself defines. */
export function operatorUses(subject: Subject): OperatorUses[] {
	const local = new Set(subject.model.onnx.functions.map(({ domain, name }) => `${domain}\n${name}`));
	const found = new Map<string, OperatorUses>();
	everyNode(subject, (node, scope) => {
		const id = `${node.domain}\n${node.op}`;
		const uses = found.get(id);
		if (uses !== undefined) uses.count++;
		else if (!local.has(id)) found.set(id, { node, scope, count: 1 });
		return [];
	});
	return [...found.values()];
}

export const operators: Rule = (subject) =>
	subject.context.backend === "onnxruntime" ? operatorUses(subject).flatMap(judge) : [];

function judge({ node, scope, count }: OperatorUses): Finding[] {
	const lifetime = lifetimeOf(node);
	const opset = Object.hasOwn(scope.opsets, node.domain) ? scope.opsets[node.domain] : undefined;
	const name = nodeIn(node, scope);
	const all = others(count);
	if (lifetime === undefined) {
		if (isKnownToOnnxRuntime(node)) return [];
		const message = `${name} is neither an ONNX operator nor a function of this file${all}: ONNX Runtime cannot run it.`;
		const fix = "Gate this model on TensorRT with its plugin, or export without the operator.";
		return [finding("operator-unknown", message, { fix, node })];
	}
	const { since, until = Number.POSITIVE_INFINITY } = lifetime;
	if (opset === undefined) return [];
	if (opset < since && !onnxRuntimeExtras.has(node.op)) {
		const message = `${name} exists since opset ${since}, but the model states opset ${opset}${all}.`;
		return [finding("operator-too-new", message, { fix: `Export with opset ${since} or newer.`, node })];
	}
	if (opset < until) return [];
	const message = `${nodeLabel(node)} was withdrawn from ONNX in opset ${until}, and the model states opset ${opset}${all}.`;
	return [finding("operator-withdrawn", message, { node })];
}

const drawing = new Set(
	"Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split(" "),
);

export const randomness: Rule = (subject) =>
	everyNode(subject, (node, scope) => {
		if (node.domain !== "" || !(drawing.has(node.op) || isTraining(node, scope, subject))) return [];
		const message = `${nodeIn(node, scope)} draws random numbers${node.op === "Dropout" ? " (in training mode)" : ""}: each runtime computes a different result, so no golden can match.`;
		return [finding("operator-random", message, { node })];
	});

/** Dropout since opset 12: data, ratio (0.5), training_mode (false). What is no constant may be any of both. */
function isTraining(node: OnnxNode, scope: Scope, subject: Subject): boolean {
	if (node.op !== "Dropout" || !node.inputs[2]) return false;
	const [ratio, mode] = [1, 2].map((place) => constantOf(subject, scope, node.inputs[place])?.values?.[0]);
	return mode !== 0 && ratio !== 0;
}

// Checks nodes of operators that TensorRT imports only under conditions.
import type { Finding } from "../../../../generated/result.ts";
import type { FindingCode } from "../finding-codes.ts";
import { feeds, type OnnxInitializer, type OnnxNode, type OnnxSubgraph } from "../model.ts";
import { quoteName } from "../quote.ts";
import { type NodeView, restrictions } from "../tensorrt/restrictions.ts";
import type { Scope } from "../walk.ts";
import {
	constantOf,
	finding,
	foldFaults,
	type NodeFault,
	nodeIn,
	type Rule,
	type Subject,
} from "./subject.ts";

export const tensorRtRestrictions: Rule = (subject) => {
	if (subject.tensorrt === null) return [];
	const inputs = feeds(subject.model.onnx.graph);
	const fed = new Set(inputs.map((input) => input.name));
	const hasDynamicInputs = inputs.some(
		({ dims }) => dims === null || dims.some((dim) => typeof dim !== "number"),
	);
	const faults = subject.scopes.flatMap((scope) => [
		...scope.nodes.flatMap((node) => {
			const rules = node.domain === "" ? restrictions.get(node.op) : undefined;
			if (rules === undefined) return [];
			const view = viewOf(subject, scope, { node, fed, hasDynamicInputs });
			return rules
				.map((rule) => rule(view))
				.flatMap((fault) =>
					fault === null
						? []
						: [{ node, scope, code, fix: otherFix, ...(typeof fault === "string" ? { fault } : fault) }],
				);
		}),
		...branches(scope),
	]);
	return foldFaults(faults);
};

const code: FindingCode = "operator-restricted";
const otherFix = "Export it without that; trtexec makes the final decision.";

function viewOf(
	subject: Subject,
	scope: Scope,
	of: Pick<NodeView, "node" | "hasDynamicInputs"> & { fed: ReadonlySet<string> },
): NodeView {
	const { node, fed, hasDynamicInputs } = of;
	const isKnown = !isInFunction(scope);
	const constant = (input: number): OnnxInitializer | null => constantOf(subject, scope, node.inputs[input]);
	return {
		node,
		constant,
		isComputed: (input) => isKnown && (node.inputs[input] ?? "") !== "" && constant(input) === null,
		dims: (input) =>
			scope.kind === "graph" ? (subject.static.shapes.get(node.inputs[input] ?? "") ?? null) : null,
		isFed: (input) => isKnown && fed.has(node.inputs[input] ?? ""),
		hasDynamicInputs,
	};
}

function isInFunction(scope: Scope): boolean {
	return scope.kind === "function" || (scope.outer !== null && isInFunction(scope.outer));
}

/** "IIfConditionalOutputLayer inputs must have the same shape": only ranks that both branches state are compared. */
function branches(scope: Scope): NodeFault[] {
	const firsts = new Map<number, OnnxSubgraph>();
	return scope.subgraphs.flatMap((branch) => {
		const node = scope.nodes[branch.nodeIndex];
		const first = firsts.get(branch.nodeIndex);
		firsts.set(branch.nodeIndex, branch);
		return first === undefined || node?.op !== "If" ? [] : ranksOf(scope, node, [first, branch]);
	});
}

function ranksOf(
	scope: Scope,
	node: OnnxNode,
	[one, other]: readonly [OnnxSubgraph, OnnxSubgraph],
): NodeFault[] {
	return one.graph.outputs.flatMap((output, at) => {
		const [left, right] = [output.dims, other.graph.outputs[at]?.dims];
		if (!left || !right || left.length === right.length) return [];
		const ranks = `rank ${left.length} in ${quoteName(one.attribute, "")} and ${right.length} in ${quoteName(other.attribute, "")}`;
		const fault = `gives output ${at} ${ranks}; TensorRT needs the same rank in both`;
		return [
			{
				node,
				scope,
				code,
				fault,
				fix: "Reshape in one branch, so that both agree, or export without the If.",
			},
		];
	});
}

/** NvInfer.h of every version: "Currently only values of K up to 3840 are supported"; the parser of some lets more through. */
const maxK = 3840;

export const topkLimit: Rule = (subject) => {
	if (subject.context.backend !== "tensorrt") return [];
	return subject.scopes.flatMap((scope) =>
		scope.nodes.flatMap((node): Finding[] => {
			if (node.domain !== "" || node.op !== "TopK") return [];
			const attribute = node.attributes.find(({ name }) => name === "k")?.value;
			const k =
				typeof attribute === "number" ? attribute : constantOf(subject, scope, node.inputs[1])?.values?.[0];
			if (k === undefined || k <= maxK) return [];
			const message = `${nodeIn(node, scope)} keeps ${k} elements; TensorRT's TopK keeps at most ${maxK}.`;
			return [
				finding("topk-limit", message, { fix: `Keep at most ${maxK}, or sort outside of the engine.`, node }),
			];
		}),
	);
};

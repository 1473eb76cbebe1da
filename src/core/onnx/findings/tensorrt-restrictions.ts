// Checks nodes of operators that TensorRT imports only under conditions.
import { feeds, type OnnxInitializer, type OnnxSubgraph } from "../model.ts";
import { quoteName } from "../quote.ts";
import { integerAttribute } from "../static-shapes/operator.ts";
import { type NodeView, restrictions } from "../tensorrt/restrictions.ts";
import type { Scope } from "../walk.ts";
import {
	constantOf,
	everyNode,
	type FindingCode,
	finding,
	foldFaults,
	type NodeFault,
	nodeIn,
	type Rule,
	type Subject,
} from "./subject.ts";

const code: FindingCode = "operator-restricted";
const otherFix = "Export it without that; trtexec makes the final decision.";

export const tensorRtRestrictions: Rule = (subject) => {
	if (subject.tensorrt === null) return [];
	const inputs = feeds(subject.model.onnx.graph);
	const fed = new Set(inputs.map((input) => input.name));
	const hasDynamicInputs = inputs.some(
		({ dims }) => dims === null || dims.some((dim) => typeof dim !== "number"),
	);
	const faults = subject.scopes.flatMap((scope) => [
		...scope.nodes.flatMap((node) => {
			const rules = (node.domain === "" && restrictions.get(node.op)) || [];
			const view = rules.length === 0 ? null : viewOf(subject, scope, { node, fed, hasDynamicInputs });
			const found = view === null ? [] : rules.flatMap((rule) => rule(view) ?? []);
			return found.map((fault): NodeFault => {
				const own = typeof fault === "string" ? { fault } : fault;
				return { node, scope, code, fix: otherFix, ...own };
			});
		}),
		...branches(scope),
	]);
	return foldFaults(faults);
};

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
		if (first === undefined || node?.op !== "If") return [];
		return first.graph.outputs.flatMap(({ dims: left }, at): NodeFault[] => {
			const right = branch.graph.outputs[at]?.dims;
			if (!left || !right || left.length === right.length) return [];
			const ranks = `rank ${left.length} in ${quoteName(first.attribute, "")} and ${right.length} in ${quoteName(branch.attribute, "")}`;
			const fault = `gives output ${at} ${ranks}; TensorRT needs the same rank in both`;
			const fix = "Reshape in one branch, so that both agree, or export without the If.";
			return [{ node, scope, code, fault, fix }];
		});
	});
}

/** NvInfer.h of every version: "Currently only values of K up to 3840 are supported"; the parser of some lets more through. */
const maxK = 3840;

export const topkLimit: Rule = (subject) => {
	if (subject.tensorrt === null) return [];
	return everyNode(subject, (node, scope) => {
		if (node.domain !== "" || node.op !== "TopK") return [];
		const k = constantOf(subject, scope, node.inputs[1])?.values?.[0];
		const kept = integerAttribute(node, "k", k ?? 0);
		if (kept <= maxK) return [];
		const message = `${nodeIn(node, scope)} keeps ${kept} elements; TensorRT's TopK keeps at most ${maxK}.`;
		const fix = `Keep at most ${maxK}, or sort outside of the engine.`;
		return [finding("topk-limit", message, { fix, node })];
	});
};

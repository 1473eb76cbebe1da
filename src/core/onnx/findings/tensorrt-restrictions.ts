// Judges nodes of operators that TensorRT imports only under conditions.
import type { Finding } from "../../schema/result.ts";
import { feeds, type OnnxNode } from "../model.ts";
import { quoteName } from "../quote.ts";
import { type NodeView, restrictions } from "../tensorrt/restrictions.ts";
import type { Scope } from "../walk.ts";
import { constantOf, finding, nodeIn, type Rule, type Subject } from "./subject.ts";

export const tensorRtRestrictions: Rule = (subject) => {
	if (subject.tensorrt === null) return [];
	const fed = new Set(feeds(subject.model.onnx.graph).map((input) => input.name));
	return subject.scopes.flatMap((scope) =>
		scope.nodes.flatMap((node) =>
			node.op === "If" ? branches(scope, node) : restricted(node, viewOf(subject, scope, { node, fed }), scope),
		),
	);
};

function restricted(node: OnnxNode, view: NodeView, scope: Scope): Finding[] {
	const rules = node.domain === "" ? restrictions.get(node.op) : undefined;
	const faults = rules?.map((rule) => rule(view)).filter((fault) => fault !== null) ?? [];
	return faults.map((fault) =>
		finding("operator-restricted", {
			severity: "warning",
			message: `${nodeIn(node, scope)} ${fault}.`,
			fix: "Export the node otherwise; trtexec has the last word.",
			node,
		}),
	);
}

function viewOf(subject: Subject, scope: Scope, of: { node: OnnxNode; fed: ReadonlySet<string> }): NodeView {
	const { node, fed } = of;
	return {
		node,
		constant: (input) => constantOf(subject, scope, node.inputs[input]),
		rank: (input) => (scope.kind === "graph" ? (subject.static.shapes.get(node.inputs[input] ?? "")?.length ?? null) : null),
		isFed: (input) => scope.kind !== "function" && fed.has(node.inputs[input] ?? ""),
	};
}

/** "IIfConditionalOutputLayer inputs must have the same shape": only what both branches state is compared. */
function branches(scope: Scope, node: OnnxNode): Finding[] {
	const index = scope.nodes.indexOf(node);
	const [one, other] = scope.subgraphs.filter((subgraph) => subgraph.nodeIndex === index);
	if (one === undefined || other === undefined) return [];
	return one.graph.outputs.flatMap((output, at) => {
		const [left, right] = [output.dims, other.graph.outputs[at]?.dims];
		if (!left || !right || left.length === right.length) return [];
		const name = quoteName(node.outputs[at] ?? output.name);
		const message = `${nodeIn(node, scope)} gives ${name} ${left.length} dimensions in ${one.attribute} and ${right.length} in ${other.attribute}; TensorRT takes branches of the same rank.`;
		return [finding("operator-restricted", { severity: "warning", message, fix: "Reshape in one branch, so that both agree.", node })];
	});
}

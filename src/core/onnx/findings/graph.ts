// Checks the graph as a whole: outputs and cycles.
import type { Finding } from "../../../../generated/result.ts";
import { quoteName } from "../quote.ts";
import { producersOf, runnable } from "../run-order.ts";
import type { Scope } from "../walk.ts";
import { finding, inScope, nodeIn, type Rule, type Subject } from "./subject.ts";

export const graphOutputs: Rule = ({ model }) =>
	model.onnx.graph.outputs.length > 0
		? []
		: [finding("graph-no-outputs", "The graph has no outputs: nothing can be computed or compared.")];

export const cycles: Rule = ({ scopes }) => scopes.flatMap(cycleIn);

function cycleIn(scope: Scope): Finding[] {
	const producers = producersOf(scope);
	const left = new Set(scope.nodes.keys());
	for (const index of runnable(producers)) left.delete(index);
	const first = left.values().next().value;
	const node = first === undefined ? undefined : scope.nodes[onCycle(first, producers, left)];
	if (node === undefined) return [];
	return [
		finding("graph-cycle", `${nodeIn(node, scope)} waits for its own output: the graph has a cycle.`, {
			node,
		}),
	];
}

function onCycle(
	start: number,
	producers: readonly (readonly number[])[],
	left: ReadonlySet<number>,
): number {
	const seen = new Set<number>();
	let at = start;
	while (!seen.has(at)) {
		seen.add(at);
		at = producers[at]?.find((from) => left.has(from)) ?? at;
	}
	return at;
}

// Checks names: tensors that nothing defines, tensors defined twice, nodes that share a name.
export const names: Rule = (subject) => {
	const given = new Map(
		subject.scopes.map((scope) => {
			const weights = scope.initializers.map(({ name }) => name);
			return [scope, new Set([...scope.inputs, ...weights, ...scope.nodes.flatMap((node) => node.outputs)])];
		}),
	);
	const knows = (scope: Scope, name: string): boolean => {
		for (let at: Scope | null = scope; at !== null; at = at.outer) if (given.get(at)?.has(name)) return true;
		return false;
	};
	return subject.scopes.flatMap((scope) => [
		...scope.nodes.flatMap((node) =>
			[...new Set(node.inputs)].flatMap((name) => {
				if (name === "" || knows(scope, name)) return [];
				const message = `${nodeIn(node, scope)} reads tensor ${quoteName(name)}, which no input, initialiser or node defines.`;
				return [finding("tensor-undefined", message, { node })];
			}),
		),
		...scope.outputs.flatMap((name) => {
			if (knows(scope, name)) return [];
			const message = `Output ${quoteName(name)} of ${scope.where} is not defined by any node, input or initialiser.`;
			return [finding("output-undefined", message)];
		}),
		...duplicateTensors(scope),
		...duplicateNodes(scope, subject),
	]);
};

/** Old files list initialisers as inputs too (IR < 4), and a repeated initialiser is tolerated: neither is an error. */
function duplicateTensors(scope: Scope): Finding[] {
	const seen = new Set(scope.initializers.map((weight) => weight.name));
	const found: Finding[] = [];
	const add = (name: string, severity: Finding["severity"]): void => {
		const message = `Tensor ${quoteName(name)} is defined more than once${inScope(scope)}.`;
		found.push(finding("tensor-duplicate", message, { severity }));
	};
	for (const name of repeated(scope.initializers.map((weight) => weight.name))) add(name, "warning");
	for (const name of repeated(scope.inputs)) add(name, "error");
	for (const name of scope.inputs) seen.add(name);
	for (const node of scope.nodes) {
		for (const name of node.outputs) {
			if (name === "") continue;
			if (seen.has(name)) add(name, "error");
			seen.add(name);
		}
	}
	return found;
}

function repeated(list: readonly string[]): Set<string> {
	const seen = new Set<string>();
	return new Set(list.filter((name) => seen.size === seen.add(name).size));
}

/**
 * ONNX Runtime rejects it, but for Constants, which become initialisers first. TensorRT renames its layers, which blurs the
 * comparison of engines.
 */
function duplicateNodes(scope: Scope, subject: Subject): Finding[] {
	const named = scope.nodes.filter((node) => node.name !== "");
	const staying = repeated(
		named.filter((node) => node.op !== "Constant" || node.domain !== "").map((node) => node.name),
	);
	return [...repeated(named.map((node) => node.name))].map((name) => {
		const isRefused =
			subject.context.backend === "onnxruntime" && staying.has(name) && scope.kind !== "function";
		return finding(
			"node-name-duplicate",
			`More than one node is named ${quoteName(name)}${inScope(scope)}${isRefused ? ", which ONNX Runtime rejects" : ""}.`,
			{ severity: isRefused ? "error" : "warning" },
		);
	});
}

// Checks the graph as a whole: outputs, cycles, and the names of tensors and nodes.
import type { Finding } from "../../../../generated/result.ts";
import { quoteName } from "../quote.ts";
import { producersOf, runnable } from "../run-order.ts";
import { foundIn, type Scope } from "../walk.ts";
import { finding, inScope, nodeIn, type Rule } from "./subject.ts";

export const graphOutputs: Rule = ({ model }) =>
	model.onnx.graph.outputs.length > 0
		? []
		: [finding("graph-no-outputs", "The graph has no outputs: nothing can be computed or compared.")];

export const cycles: Rule = ({ scopes }) =>
	scopes.flatMap((scope) => {
		const node = nodeOnCycle(scope);
		if (node === undefined) return [];
		const message = `${nodeIn(node, scope)} waits for its own output: the graph has a cycle.`;
		return [finding("graph-cycle", message, { node })];
	});

function nodeOnCycle(scope: Scope) {
	const producers = producersOf(scope);
	const left = new Set(scope.nodes.keys());
	for (const index of runnable(producers)) left.delete(index);
	const seen = new Set<number>();
	let [at] = left;
	while (at !== undefined && !seen.has(at)) {
		seen.add(at);
		at = producers[at]?.find((from) => left.has(from)) ?? at;
	}
	return at === undefined ? undefined : scope.nodes[at];
}

export const names: Rule = ({ scopes, context }) => {
	const isOrt = context.backend === "onnxruntime";
	const given = new Map(scopes.map((scope) => [scope, namesGivenIn(scope)]));
	const knows = (scope: Scope, name: string): boolean => foundIn(given, scope, name) !== null;
	return scopes.flatMap((scope) => [
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
		...duplicateNodes(scope, isOrt),
	]);
};

function namesGivenIn({ inputs, initializers, nodes }: Scope): Map<string, true> {
	const weights = initializers.map(({ name }) => name);
	const all = [...inputs, ...weights, ...nodes.flatMap((node) => node.outputs)];
	return new Map(all.map((name) => [name, true]));
}

/** Old files (IR < 4) list initialisers as inputs too, and repeated initialisers are tolerated: neither is an error. */
function duplicateTensors(scope: Scope): Finding[] {
	const given = new Set([...scope.initializers.map(({ name }) => name), ...scope.inputs]);
	const made = scope.nodes.flatMap(({ outputs }) => outputs.filter((name) => name !== ""));
	const twice = [...repeated(scope.inputs), ...made.filter((name) => given.size === given.add(name).size)];
	return twice.map((name) =>
		finding("tensor-duplicate", `Tensor ${quoteName(name)} is defined more than once${inScope(scope)}.`),
	);
}

function repeated(list: readonly string[]): Set<string> {
	const seen = new Set<string>();
	return new Set(list.filter((name) => seen.size === seen.add(name).size));
}

/**
 * ONNX Runtime rejects it, but for Constants, which become initialisers first. TensorRT renames its layers, which blurs the
 * comparison of engines.
 */
function duplicateNodes(scope: Scope, isOrt: boolean): Finding[] {
	if (isOrt && scope.kind === "function") return [];
	const named = scope.nodes.filter(
		({ name, op, domain }) => name !== "" && !(isOrt && op === "Constant" && domain === ""),
	);
	const result = isOrt ? ", which ONNX Runtime rejects" : "";
	return [...repeated(named.map(({ name }) => name))].map((name) =>
		finding(
			"node-name-duplicate",
			`More than one node is named ${quoteName(name)}${inScope(scope)}${result}.`,
			{
				severity: isOrt ? "error" : "warning",
			},
		),
	);
}

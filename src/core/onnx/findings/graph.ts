// Checks the graph as a whole: outputs and cycles.
import type { Finding } from "../../schema/result.ts";
import type { OnnxGraph } from "../model.ts";
import { quoteName } from "../quote.ts";
import type { Scope } from "../walk.ts";
import { finding, inScope, nodeIn, type Rule, type Subject } from "./subject.ts";

export const graphOutputs: Rule = ({ model }) =>
	model.onnx.graph.outputs.length > 0
		? []
		: [finding("graph-no-outputs", "The graph has no outputs: nothing can be computed or compared.")];

export const cycles: Rule = ({ scopes }) => scopes.flatMap(cycleIn);

/** Nodes may stand in any order, so only a node that waits for itself is at fault (Kahn's algorithm). */
function cycleIn(scope: Scope): Finding[] {
	const needs = needsByNode(scope);
	// In order, as exporters write them.
	if (needs.every((from, index) => from.every((at) => at < index))) return [];
	const left = nodesInCycles(needs);
	const first = left.values().next().value;
	if (first === undefined) return [];
	const node = scope.nodes[onCycle(first, needs, left)];
	if (node === undefined) return [];
	return [finding("graph-cycle", `${nodeIn(node, scope)} waits for its own output: the graph has a cycle.`, { node })];
}

function needsByNode(scope: Scope): number[][] {
	const producer = new Map<string, number>();
	for (const [index, node] of scope.nodes.entries()) for (const name of node.outputs) if (name !== "") producer.set(name, index);
	const captured = new Map<number, string[]>();
	for (const { nodeIndex, graph } of scope.subgraphs) captured.set(nodeIndex, [...(captured.get(nodeIndex) ?? []), ...outerNames(graph)]);
	return scope.nodes.map((node, index) => {
		const producers = [...node.inputs, ...(captured.get(index) ?? [])].map((name) => producer.get(name));
		return producers.filter((at) => at !== undefined);
	});
}

/** What a subgraph reads from around it: everything that it does not give itself. */
function outerNames(graph: OnnxGraph): string[] {
	const own = new Set([...graph.inputs, ...graph.initializers].map((value) => value.name));
	for (const node of graph.nodes) for (const name of node.outputs) own.add(name);
	const read = [...graph.nodes.flatMap((node) => node.inputs), ...graph.outputs.map((value) => value.name)];
	for (const inner of graph.subgraphs) read.push(...outerNames(inner.graph));
	return read.filter((name) => name !== "" && !own.has(name));
}

/** The nodes on cycles and behind them. */
function nodesInCycles(needs: readonly (readonly number[])[]): Set<number> {
	const users: number[][] = needs.map(() => []);
	for (const [index, from] of needs.entries()) for (const at of from) users[at]?.push(index);
	const waits = needs.map((from) => from.length);
	const ready = waits.flatMap((count, index) => (count === 0 ? [index] : []));
	const left = new Set(needs.keys());
	for (let index = ready.pop(); index !== undefined; index = ready.pop()) {
		left.delete(index);
		for (const user of users[index] ?? []) {
			waits[user] = (waits[user] ?? 0) - 1;
			if (waits[user] === 0) ready.push(user);
		}
	}
	return left;
}

/** Walks back from a node that waits until a node comes again: that one is on the cycle. */
function onCycle(start: number, needs: readonly (readonly number[])[], left: ReadonlySet<number>): number {
	const seen = new Set<number>();
	let at = start;
	while (!seen.has(at)) {
		seen.add(at);
		at = needs[at]?.find((from) => left.has(from)) ?? at;
	}
	return at;
}

// Checks names: tensors that nothing defines, tensors defined twice, nodes that share a name.
export const names: Rule = (subject) => {
	const given = new Map(subject.scopes.map((scope) => [scope, givenBy(scope)]));
	const knows = (scope: Scope, name: string): boolean => {
		for (let at: Scope | null = scope; at !== null; at = at.outer) if (given.get(at)?.has(name)) return true;
		return false;
	};
	return subject.scopes.flatMap((scope) => [
		...undefinedTensors(scope, (name) => knows(scope, name)),
		...undefinedOutputs(scope, (name) => knows(scope, name)),
		...duplicateTensors(scope),
		...duplicateNodes(scope, subject),
	]);
};

function givenBy(scope: Scope): Set<string> {
	return new Set([...scope.inputs, ...scope.initializers.map((weight) => weight.name), ...scope.nodes.flatMap((node) => node.outputs)]);
}

function undefinedTensors(scope: Scope, isKnown: (name: string) => boolean): Finding[] {
	return scope.nodes.flatMap((node) =>
		[...new Set(node.inputs.filter((name) => name !== "" && !isKnown(name)))].map((name) =>
			finding("tensor-undefined", `${nodeIn(node, scope)} reads tensor ${quoteName(name)}, which no input, initialiser or node defines.`, {
				node,
			}),
		),
	);
}

function undefinedOutputs(scope: Scope, isKnown: (name: string) => boolean): Finding[] {
	return scope.outputs
		.filter((name) => !isKnown(name))
		.map((name) =>
			finding("output-undefined", `Output ${quoteName(name)} of ${scope.where} is not defined by any node, input or initialiser.`),
		);
}

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
	const staying = repeated(named.filter((node) => node.op !== "Constant" || node.domain !== "").map((node) => node.name));
	return [...repeated(named.map((node) => node.name))].map((name) => {
		const isRefused = subject.context.backend === "onnxruntime" && staying.has(name) && scope.kind !== "function";
		return finding(
			"node-name-duplicate",
			`More than one node is named ${quoteName(name)}${inScope(scope)}${isRefused ? ", which ONNX Runtime rejects" : ""}.`,
			{ severity: isRefused ? "error" : "warning" },
		);
	});
}

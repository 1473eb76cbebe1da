// Says which nodes were added to the ONNX graph or removed from it, if the layers that explain a change of time stem from them.

import { groupBy } from "../../core/group.ts";
import type { OnnxGraph, OnnxNode } from "../../core/onnx/model.ts";
import { cleanName } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import { precisionChange } from "./causes.ts";
import type { Judged } from "./changed.ts";
import type { Arm, Engines } from "./components.ts";
import type { EngineModel } from "./model.ts";

interface Edit {
	word: "added" | "removed";
	node: OnnxNode;
	groups: readonly Judged[];
}

/** Below this share of common names, another exporter named the nodes. */
const leastKept = 0.8;
/** Of the time that layers explain, and of the change of the engine. */
const [leastOfExplained, leastOfMeasured] = [0.8, 0.5];
const mostOperators = 2;

const keyOf = ({ name, outputs }: OnnxNode) => name || (outputs[0] ?? "");
const sumOf = (groups: Iterable<Judged>) => [...groups].reduce((sum, { delta }) => sum + delta.ms, 0);

/**
 * `2 added Transposes break 2 fusions`.
 * @param explaining the groups whose time changed as the engine's did.
 */
export function editText(
	{ base, head }: Engines,
	explaining: readonly Judged[],
	measuredMs: number,
): string | null {
	if (base.graph === null || head.graph === null) return null;
	const { added, removed } = editedNodes(base.graph, head.graph);
	const edits = [
		...editsOf("added", inLayers(added, head), { graph: head.graph, groups: groupsOf("head", explaining) }),
		...editsOf("removed", inLayers(removed, base), {
			graph: base.graph,
			groups: groupsOf("base", explaining),
		}),
	].filter(({ groups }) => groups.length > 0);
	const stemming = new Set(edits.flatMap(({ groups }) => groups));
	const ofStemming = sumOf(stemming) / measuredMs;
	if (!(ofStemming >= leastOfMeasured && ofStemming >= (leastOfExplained * sumOf(explaining)) / measuredMs))
		return null;
	const words = groupBy(edits, ({ word }) => word);
	const texts = [...words].map(([word, own]) =>
		nodesText(
			word,
			own.map(({ node }) => node),
		),
	);
	return `${texts.join(" and ")}${effectText([...stemming], edits.length === 1)}`;
}

/** Operators of which the builder kept nothing cost nothing; of many, all nodes are counted. */
function inLayers(nodes: readonly OnnxNode[], { layers }: EngineModel) {
	const named = new Set(layers.flatMap((layer) => layer.nodes));
	const kept = new Set(nodes.flatMap((node) => (named.has(keyOf(node)) ? [node.op] : [])));
	return kept.size > mostOperators ? nodes : nodes.filter(({ op }) => kept.has(op));
}

/** A node of which another of its kind was removed may only have a new name. */
function editedNodes(base: OnnxGraph, head: OnnxGraph) {
	const nodesIn = ({ nodes }: OnnxGraph) => new Map(nodes.map((node) => [keyOf(node), node]));
	const [before, after] = [nodesIn(base), nodesIn(head)];
	const missing = (nodes: typeof before, others: typeof before) =>
		[...nodes.values()].filter((node) => others.get(keyOf(node))?.op !== node.op);
	const [added, removed] = [missing(after, before), missing(before, after)];
	if (after.size - added.length < leastKept * Math.min(before.size, after.size))
		return { added: [], removed: [] };
	const opsOf = (nodes: readonly OnnxNode[]) => new Set(["Constant", ...nodes.map(({ op }) => op)]);
	const [addedOps, removedOps] = [opsOf(added), opsOf(removed)];
	return {
		added: added.filter(({ op }) => !removedOps.has(op)),
		removed: removed.filter(({ op }) => !addedOps.has(op)),
	};
}

function groupsOf(arm: Arm, groups: readonly Judged[]) {
	const named = groups.flatMap((group) =>
		[...new Set(group.component[arm].flatMap(({ nodes }) => nodes))].map((name) => ({ name, group })),
	);
	return new Map(
		[...groupBy(named, ({ name }) => name)].map(([name, own]) => [name, own.map(({ group }) => group)]),
	);
}

const mostReaders = 64;

/** A group stems from a node that it computes, or whose neighbour it computes in another way than before. */
function editsOf(
	word: Edit["word"],
	nodes: readonly OnnxNode[],
	{ graph, groups }: { graph: OnnxGraph; groups: ReadonlyMap<string, readonly Judged[]> },
) {
	const users = groupBy(
		graph.nodes.flatMap((node) => [...node.inputs, ...node.outputs].map((tensor) => ({ tensor, node }))),
		({ tensor }) => tensor,
	);
	return nodes.map((node) => {
		const beside = [...node.inputs, ...node.outputs]
			.flatMap((tensor) => users.get(tensor)?.slice(0, mostReaders) ?? [])
			.flatMap((user) => groups.get(keyOf(user.node)) ?? []);
		return {
			word,
			node,
			groups: [
				...(groups.get(keyOf(node)) ?? []),
				...beside.filter(({ isSameStructure }) => !isSameStructure),
			],
		};
	});
}

/** `2 added Transposes`; `7 added nodes in /layer1/layer1.4` of many operators. */
function nodesText(word: string, nodes: readonly OnnxNode[]) {
	const byOp = [...groupBy(nodes, ({ op }) => op)].sort(([, a], [, b]) => b.length - a.length);
	if (byOp.length > mostOperators) return `${counted(nodes.length, `${word} node`)}${scopeText(nodes)}`;
	return byOp
		.map(([op, { length }]) => {
			const one = `${word} ${cleanName(op, 40)}`;
			return counted(length, one, /(s|x|sh|ch)$/.test(op) ? `${one}es` : undefined);
		})
		.join(" and ");
}

function scopeText([first, ...others]: readonly OnnxNode[]) {
	const steps = first?.name.split("/").slice(0, -1) ?? [];
	const apart = steps.findIndex((_, at) => {
		const scope = steps.slice(0, at + 1).join("/");
		return !others.every(({ name }) => name.startsWith(`${scope}/`));
	});
	const scope = steps.slice(0, apart < 0 ? undefined : apart).join("/");
	return scope === "" ? "" : ` in ${cleanName(scope, 60)}`;
}

function effectText(groups: readonly Judged[], isOne: boolean) {
	const [largest] = [...groups].sort((a, b) => Math.abs(b.delta.ms) - Math.abs(a.delta.ms));
	const precision = largest === undefined ? null : precisionChange(largest);
	if (precision !== null) return ` (${precision})`;
	const broken = groups.filter(
		({ base, head }) => base.kernels.length > 0 && head.kernels.length > base.kernels.length,
	).length;
	return broken === 0 ? "" : ` ${isOne ? "breaks" : "break"} ${counted(broken, "fusion")}`;
}

// Finds the first tensor of a graph that diverges from its reference, and describes what was found.
import type { Bisection } from "../../../../generated/result.ts";
import type { OnnxDType, OnnxGraph, OnnxModel, OnnxNode } from "../../../core/onnx/model.ts";
import { findFixed } from "../../../core/onnx/rounding/rounding-nodes.ts";
import { factsOf } from "../../../core/onnx/static-shapes/infer.ts";
import { quoted } from "../../../core/text/escape.ts";
import { counted, listNames } from "../../../core/text/labels.ts";
import { formatValue } from "../../../core/text/units.ts";
import { toNumeric } from "../compare/checks.ts";

export interface BisectGraph {
	nodes: readonly OnnxNode[];
	writers: ReadonlyMap<string, number>;
	reads: readonly (readonly string[])[];
	comparable: ReadonlyMap<string, OnnxDType>;
}

const floats: ReadonlySet<OnnxDType> = new Set(["float", "float16", "bfloat16", "double"]);

export function bisectGraph(head: OnnxModel, reference: OnnxModel): BisectGraph {
	const own = floatTensors(head);
	const other = reference === head ? own : floatTensors(reference);
	const { nodes } = head.graph;
	const writers = new Map<string, number>();
	for (const [at, { outputs }] of nodes.entries())
		for (const name of outputs) if (!own.fixed.has(name)) writers.set(name, at);
	const reads = nodes.map((node, at) => {
		const bodies = head.graph.subgraphs.filter(({ nodeIndex }) => nodeIndex === at);
		const inner = bodies.flatMap(({ graph }) => readInside(graph));
		return [...new Set([...node.inputs, ...inner])].filter((name) => writers.has(name));
	});
	const shared = [...own.types].filter(([name]) => writers.has(name) && other.types.has(name));
	return { nodes, writers, reads, comparable: new Map(shared) };
}

function readInside({ nodes, subgraphs }: OnnxGraph): string[] {
	return [...nodes.flatMap(({ inputs }) => inputs), ...subgraphs.flatMap(({ graph }) => readInside(graph))];
}

function floatTensors(model: OnnxModel) {
	const { graph, types: typesOf } = factsOf(model);
	const { fixed } = findFixed(graph, null);
	const written = new Set(model.graph.nodes.flatMap(({ outputs }) => outputs));
	const types = [...(typesOf.get(graph) ?? [])].filter(
		([name, type]) => written.has(name) && floats.has(type) && !fixed.has(name),
	);
	return { types: new Map(types), fixed };
}

export interface TensorErrors {
	head: number;
	base: number | null;
}

export interface Search {
	bad: string;
	errors: ReadonlyMap<string, TensorErrors>;
	allowed: number;
}

/** If the base is about as far off, the head did not get worse. */
const growth = 2;

export function deviates({ head, base }: TensorErrors, allowed: number): boolean {
	return !(head <= Math.max(allowed, growth * (base ?? 0)));
}

/** An output that is only a little too far off has smaller errors before it. */
const shareOfOutput = 0.5;

export function beginSearch(output: string, errors: TensorErrors, limit: number): Search | null {
	const smaller = Math.min(limit, shareOfOutput * errors.head);
	const allowed = Number.isFinite(smaller) ? smaller : limit;
	if (!(errors.head > 0 && deviates(errors, allowed))) return null;
	return { bad: output, errors: new Map([[output, errors]]), allowed };
}

export function suspectNodes(graph: BisectGraph, { bad, errors, allowed }: Search): number[] {
	const last = graph.writers.get(bad);
	if (last === undefined) return [];
	const found = new Set([last]);
	for (const at of found) {
		for (const name of graph.reads[at] ?? []) {
			const known = errors.get(name);
			const writer = graph.writers.get(name);
			if (writer !== undefined && (known === undefined || deviates(known, allowed))) found.add(writer);
		}
	}
	return [...found].sort((a, b) => a - b);
}

/**
 * The tensors to compare next, at most so many; none: the first that diverges is found. First those that all paths to it lead
 * through, because one of them that is right clears everything before it.
 */
export function nextTensors(graph: BisectGraph, search: Search, most: number): string[] {
	const nodes = suspectNodes(graph, search);
	const lastReader = new Map<string, number>();
	for (const at of nodes) for (const name of graph.reads[at] ?? []) lastReader.set(name, at);
	const [open, narrow]: [string[], string[]] = [[], []];
	let reach = -1;
	for (const at of nodes) {
		const outputs = (graph.nodes[at]?.outputs ?? []).filter((name) => lastReader.has(name));
		const fresh = outputs.filter(
			(name) => name !== search.bad && graph.comparable.has(name) && !search.errors.has(name),
		);
		open.push(...fresh);
		const isBypassed = reach > at;
		for (const name of outputs) reach = Math.max(reach, lastReader.get(name) ?? -1);
		if (!isBypassed && outputs.length === 1) narrow.push(...fresh);
	}
	const names = narrow.length > 0 ? narrow : open;
	if (names.length <= most) return names;
	return Array.from({ length: most }, (_, at) => names[Math.floor(((at + 0.5) * names.length) / most)] ?? "");
}

export function settle(graph: BisectGraph, search: Search, found: ReadonlyMap<string, TensorErrors>): Search {
	const place = (name: string) => graph.writers.get(name) ?? Number.MAX_SAFE_INTEGER;
	const wrong = [...found].filter(([, own]) => deviates(own, search.allowed)).map(([name]) => name);
	const bad = wrong.reduce((first, name) => (place(name) < place(first) ? name : first), search.bad);
	return { ...search, bad, errors: new Map([...search.errors, ...found]) };
}

function errorBefore(graph: BisectGraph, search: Search) {
	const read = suspectNodes(graph, search).flatMap((at) => graph.reads[at] ?? []);
	const known = read.flatMap((name) => search.errors.get(name) ?? []);
	const right = known.filter((own) => !deviates(own, search.allowed));
	return right.reduce((most, { head }) => Math.max(most, head), 0);
}

interface Found {
	search: Search;
	graph: BisectGraph;
	head: OnnxModel;
	reference: OnnxModel;
}

export type Finding = Pick<Bisection, "state" | "message"> &
	Partial<Pick<Bisection, "node" | "tensor" | "error" | "before" | "allowed">>;

/** An error that grows by this factor in one step has a single cause; otherwise rounding adds up. */
const step = 4;

export function describeFound({ search, graph, head, reference }: Found): Finding {
	const { bad, allowed, errors } = search;
	const suspects = suspectNodes(graph, search);
	const node = graph.nodes[suspects.at(-1) ?? -1];
	const name = node === undefined ? bad : nodeName(node);
	const error = toNumeric(errors.get(bad)?.head ?? NaN);
	const before = errorBefore(graph, search);
	const facts = { node: name, tensor: bad, error, before: toNumeric(before), allowed };
	const shown = { error: formatValue(error), before: formatValue(toNumeric(before)) };
	if (before > 0 && Number(error) < step * before)
		return {
			...facts,
			state: "accumulates",
			message: `No single node: the error grows little by little, and passes ${formatValue(allowed)} at ${quoted(name)} (${shown.before} before it, ${shown.error} after).`,
		};
	const others = suspects.length - 1;
	const candidates = others === 1 ? "the node" : `one of ${others} nodes`;
	const vague = others > 0 ? ` It, or ${candidates} before it whose tensors cannot be compared.` : "";
	const apart = `${shown.error} from ONNX Runtime${reference === head ? "" : " on the base's model"}`;
	const op = node === undefined ? "" : ` (${node.op})`;
	const reads = before === 0 ? "agrees" : `is at most ${shown.before} off`;
	const cause =
		reference === head
			? "The engine computes it differently from ONNX Runtime on the same model: look at its precision, kernel and fusions."
			: changeOf(node, reference);
	return {
		...facts,
		state: "found",
		message: `${quoted(name)}${op} is the first node that diverges: its output ${quoted(bad)} is ${apart}; what it reads ${reads}.${vague} ${cause}`,
	};
}

function changeOf(node: OnnxNode | undefined, reference: OnnxModel) {
	const before = node && reference.graph.nodes.find(({ outputs }) => outputs.join() === node.outputs.join());
	return before !== undefined && shapeOf(before) === shapeOf(node)
		? "The base's model has the same node: its weights or constants changed, or the engine computes it differently."
		: "The base's model has a different node there.";
}

function shapeOf(node: OnnxNode | undefined) {
	const attributes = node?.attributes.map(({ name, value }) => [name, value]);
	return JSON.stringify([node?.op, node?.domain, node?.inputs, attributes]);
}

function nodeName({ name, outputs, op }: OnnxNode) {
	return name !== "" ? name : (outputs[0] ?? op);
}

export function describeAgreement(output: string, isOwnModel: boolean): Finding {
	const on = isOwnModel ? "the same model" : "the base's model";
	return {
		state: "agrees",
		message: `${quoted(output)} agrees with ONNX Runtime on ${on}: no node diverges, so it is the golden that differs from both.`,
	};
}

export function describeHealed(left: Pick<Found, "search" | "graph">, marked: readonly string[]): Finding {
	const names = listNames(marked.map(quoted), 3);
	const why = `With ${names} marked as outputs, the output no longer diverges: a fusion across them is the likely cause.`;
	return describeUnfinished(left, why);
}

export function describeUnfinished({ search, graph }: Pick<Found, "search" | "graph">, why: string): Finding {
	const left = suspectNodes(graph, search).flatMap((at) => graph.nodes[at] ?? []);
	const [first, last] = [left[0], left.at(-1)];
	const range =
		first === undefined || last === undefined
			? ""
			: ` The cause lies in ${counted(left.length, "node")} from ${quoted(nodeName(first))} to ${quoted(nodeName(last))}.`;
	return { state: "unfinished", message: `${why}${range}` };
}

// Finds the first tensor of a graph that diverges from its reference: chooses tensors to compare, and narrows the suspects by errors.
import type { OnnxDType, OnnxGraph, OnnxModel, OnnxNode } from "../../../core/onnx/model.ts";
import { factsOf, findFixed } from "../../../core/onnx/rounding/rounding-nodes.ts";

export interface BisectGraph {
	nodes: readonly OnnxNode[];
	/** Index of the node that writes each tensor, except constants and tensors computed from shapes. */
	writers: ReadonlyMap<string, number>;
	/** Tensors in `writers` that each node reads, including inside its bodies. */
	reads: readonly (readonly string[])[];
	/** Float tensors that both models compute, by name. */
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
	const { subject } = factsOf(model);
	const [graph] = subject.scopes;
	if (graph === undefined) return { types: new Map<string, OnnxDType>(), fixed: new Set<string>() };
	const { fixed } = findFixed(graph, null);
	const written = new Set(model.graph.nodes.flatMap(({ outputs }) => outputs));
	const types = [...(subject.types.get(graph) ?? [])].filter(
		([name, type]) => written.has(name) && floats.has(type) && !fixed.has(name),
	);
	return { types: new Map(types), fixed };
}

/** Relative L2 to the reference. */
export interface TensorErrors {
	head: number;
	/** The same figure for the base's engine; null if there is none. */
	base: number | null;
}

export interface Search {
	/** This tensor diverges, so everything that it is computed from is under suspicion. */
	bad: string;
	/** Tensors compared so far. */
	errors: ReadonlyMap<string, TensorErrors>;
	/** The error above which a tensor diverges. */
	allowed: number;
}

/** If the base is about as far off, the head did not get worse. */
const growth = 2;

export function deviates({ head, base }: TensorErrors, allowed: number): boolean {
	return !(head <= Math.max(allowed, growth * (base ?? 0)));
}

/** An output that is only a little too far off has smaller errors before it. */
const shareOfOutput = 0.5;

/** null if the output itself does not diverge from the reference. */
export function beginSearch(output: string, errors: TensorErrors, limit: number): Search | null {
	const smaller = Math.min(limit, shareOfOutput * errors.head);
	const allowed = Number.isFinite(smaller) ? smaller : limit;
	if (!(errors.head > 0 && deviates(errors, allowed))) return null;
	return { bad: output, errors: new Map([[output, errors]]), allowed };
}

/** Nodes between the tensor that diverges and those that do not, in the order of the graph. */
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
	// Evenly spread.
	return Array.from({ length: most }, (_, at) => names[Math.floor(((at + 0.5) * names.length) / most)] ?? "");
}

/** The next one is the first diverging tensor in the order of the graph. */
export function settle(graph: BisectGraph, search: Search, found: ReadonlyMap<string, TensorErrors>): Search {
	const place = (name: string): number => graph.writers.get(name) ?? Number.MAX_SAFE_INTEGER;
	const wrong = [...found].filter(([, own]) => deviates(own, search.allowed)).map(([name]) => name);
	const bad = wrong.reduce((first, name) => (place(name) < place(first) ? name : first), search.bad);
	return { ...search, bad, errors: new Map([...search.errors, ...found]) };
}

/** The largest error among the right tensors that the suspects read. */
export function errorBefore(graph: BisectGraph, search: Search): number {
	const read = suspectNodes(graph, search).flatMap((at) => graph.reads[at] ?? []);
	const known = read.flatMap((name) => search.errors.get(name) ?? []);
	const right = known.filter((own) => !deviates(own, search.allowed));
	return right.reduce((most, { head }) => Math.max(most, head), 0);
}

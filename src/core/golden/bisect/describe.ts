// What the search for the first tensor that deviates found, in words.

import type { Bisection, Numeric } from "../../../../generated/result.ts";
import type { OnnxModel, OnnxNode } from "../../onnx/model.ts";
import { quoted } from "../../text/escape.ts";
import { counted, listNames } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { type BisectGraph, errorBefore, type Search, suspectNodes } from "./search.ts";

export interface Found {
	search: Search;
	graph: BisectGraph;
	head: OnnxModel;
	reference: OnnxModel;
	/** How far the engine is from ONNX Runtime on its own model there; null: the reference is that model. */
	own: number | null;
}

export type Finding = Pick<Bisection, "state" | "message"> &
	Partial<Pick<Bisection, "node" | "tensor" | "error" | "before" | "allowed">>;

/** A step of this factor has one cause; less is rounding that adds up. */
const step = 4;

export function describeFound({ search, graph, head, reference, own }: Found): Finding {
	const suspects = suspectNodes(graph, search);
	const at = blamed(graph, suspects);
	const node = graph.nodes[at];
	const error = search.errors.get(search.bad)?.head ?? Number.NaN;
	const before = errorBefore(graph, search);
	const name = node === undefined ? search.bad : nodeName(node);
	const facts = {
		node: name,
		tensor: search.bad,
		error: numeric(error),
		before: numeric(before),
		allowed: search.allowed,
	};
	const apart = `${formatValue(numeric(error))} from ONNX Runtime${reference === head ? "" : " on the base's model"}`;
	if (before > 0 && error < step * before) {
		const says = `No single node: the error grows little by little, and passes ${formatValue(search.allowed)} at ${quoted(name)} (${formatValue(numeric(before))} before it, ${formatValue(numeric(error))} after).`;
		return { ...facts, state: "accumulates", message: says };
	}
	const others = suspects.filter((before) => before < at).length;
	const copied =
		node === undefined || node.outputs.includes(search.bad)
			? ` ${quoted(search.bad)}`
			: `, copied to ${quoted(search.bad)},`;
	const vague =
		others > 0
			? ` It, or ${others === 1 ? "the node" : `one of ${others} nodes`} before it whose tensors cannot be compared.`
			: "";
	return {
		...facts,
		state: "found",
		message: `${quoted(name)}${node === undefined ? "" : ` (${node.op})`} is the first node that diverges: its output${copied} is ${apart}; what it reads ${before === 0 ? "agrees" : `is at most ${formatValue(numeric(before))} off`}.${vague}${closedText(graph, suspects)} ${whose({ node, head, reference, own, allowed: search.allowed })}`,
	};
}

/** What only copies a tensor that cannot be compared is as wrong as the node that wrote it. */
function blamed({ nodes, writers }: BisectGraph, suspects: readonly number[]): number {
	const suspected = new Set(suspects);
	let at = suspects.at(-1) ?? -1;
	for (let node = nodes[at]; node?.domain === "" && copying.has(node.op); node = nodes[at]) {
		const writer = writers.get(node.inputs[0] ?? "") ?? at;
		if (writer >= at || !suspected.has(writer)) break;
		at = writer;
	}
	return at;
}

const copying: ReadonlySet<string> = new Set([
	"Identity",
	"Reshape",
	"Squeeze",
	"Unsqueeze",
	"Flatten",
	"Transpose",
]);

/** What the search cannot enter. */
function closedText({ nodes, inside }: BisectGraph, suspects: readonly number[]): string {
	const closed = suspects.flatMap((at) => {
		const [node, count] = [nodes[at], inside.get(at) ?? 0];
		return node === undefined || count === 0
			? []
			: [`${quoted(nodeName(node))} (${node.op}, ${counted(count, "node")})`];
	});
	return closed.length === 0
		? ""
		: ` The search cannot look inside ${listNames(closed.slice(0, 3))}: tensors of branches, loops and local functions cannot be marked as outputs.`;
}

interface Whose {
	node: OnnxNode | undefined;
	head: OnnxModel;
	reference: OnnxModel;
	own: number | null;
	allowed: number;
}

function whose({ node, head, reference, own, allowed }: Whose): string {
	if (reference === head)
		return "The engine computes it differently from ONNX Runtime on the same model: look at its precision, kernel and fusions.";
	if (own === null || own > allowed)
		return "The engine diverges from its own model there, so the model is not the only cause.";
	const before = node && reference.graph.nodes.find(({ outputs }) => outputs.join() === node.outputs.join());
	const isSame = before !== undefined && shape(before) === shape(node);
	return isSame
		? "The engine agrees with its own model, whose weights or constants differ there from the base's."
		: "The engine agrees with its own model, which has a different node there from the base's.";
}

/** Tensors may be large, and their values are not in the structure. */
const shape = (node: OnnxNode | undefined): string =>
	JSON.stringify(
		node && [node.op, node.domain, node.inputs, node.attributes.map(({ name, value }) => [name, value])],
	);

function nodeName({ name, outputs, op }: OnnxNode): string {
	return name !== "" ? name : (outputs[0] ?? op);
}

export function numeric(value: number): Numeric {
	if (Number.isFinite(value)) return value;
	return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

export function describeAgreement(output: string, isOwnModel: boolean): Finding {
	const on = isOwnModel ? "the same model" : "the base's model";
	return {
		state: "agrees",
		message: `${quoted(output)} agrees with ONNX Runtime on ${on}: no node diverges, so it is the golden that differs from both.`,
	};
}

/** With these tensors in memory the output is right again. */
export function describeHealed(left: Pick<Found, "search" | "graph">, marked: readonly string[]): Finding {
	const names = marked.map((name) => quoted(name));
	return describeUnfinished(
		left,
		`With ${listNames(names, 3)} marked as outputs, the output no longer diverges: a fusion across them is the likely cause.`,
	);
}

export function describeUnfinished({ search, graph }: Pick<Found, "search" | "graph">, why: string): Finding {
	const left = suspectNodes(graph, search);
	const [first, last] = [left[0], left.at(-1)].map((at) => graph.nodes[at ?? -1]);
	const range =
		first === undefined || last === undefined
			? ""
			: ` The cause lies in ${counted(left.length, "node")} from ${quoted(nodeName(first))} to ${quoted(nodeName(last))}.`;
	return { state: "unfinished", message: `${why}${range}${closedText(graph, left)}` };
}

// What the search for the first tensor that deviates found, in words.

import type { Bisection } from "../../../../generated/result.ts";
import type { OnnxModel, OnnxNode } from "../../onnx/model.ts";
import { quoted } from "../../text/escape.ts";
import { counted, listNames } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { toNumeric } from "../compare/checks.ts";
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
	const error = toNumeric(search.errors.get(search.bad)?.head ?? Number.NaN);
	const before = errorBefore(graph, search);
	const name = node === undefined ? search.bad : nodeName(node);
	const facts = { node: name, tensor: search.bad, error, before: toNumeric(before), allowed: search.allowed };
	const shownBefore = formatValue(toNumeric(before));
	if (before > 0 && Number(error) < step * before)
		return {
			...facts,
			state: "accumulates",
			message: `No single node: the error grows little by little, and passes ${formatValue(search.allowed)} at ${quoted(name)} (${shownBefore} before it, ${formatValue(error)} after).`,
		};
	const others = suspects.filter((earlier) => earlier < at).length;
	const isWritten = node === undefined || node.outputs.includes(search.bad);
	const copied = isWritten ? ` ${quoted(search.bad)}` : `, copied to ${quoted(search.bad)},`;
	const candidates = others === 1 ? "the node" : `one of ${others} nodes`;
	const vague = others > 0 ? ` It, or ${candidates} before it whose tensors cannot be compared.` : "";
	const apart = `${formatValue(error)} from ONNX Runtime${reference === head ? "" : " on the base's model"}`;
	const cause = causeOf(node, head, reference, own !== null && own <= search.allowed);
	return {
		...facts,
		state: "found",
		message: `${quoted(name)}${node === undefined ? "" : ` (${node.op})`} is the first node that diverges: its output${copied} is ${apart}; what it reads ${before === 0 ? "agrees" : `is at most ${shownBefore} off`}.${vague} ${cause}`,
	};
}

const copying: ReadonlySet<string> = new Set([
	"Identity",
	"Reshape",
	"Squeeze",
	"Unsqueeze",
	"Flatten",
	"Transpose",
]);

/** A node that only copies a tensor that cannot be compared is as wrong as the node that wrote it. */
function blamed({ nodes, writers }: BisectGraph, suspects: readonly number[]): number {
	let at = suspects.at(-1) ?? -1;
	for (let node = nodes[at]; node?.domain === "" && copying.has(node.op); node = nodes[at]) {
		const writer = writers.get(node.inputs[0] ?? "") ?? at;
		if (writer >= at || !suspects.includes(writer)) break;
		at = writer;
	}
	return at;
}

function causeOf(
	node: OnnxNode | undefined,
	head: OnnxModel,
	reference: OnnxModel,
	agreesWithOwn: boolean,
): string {
	if (reference === head)
		return "The engine computes it differently from ONNX Runtime on the same model: look at its precision, kernel and fusions.";
	if (!agreesWithOwn)
		return "The engine diverges from its own model there, so the model is not the only cause.";
	const before = node && reference.graph.nodes.find(({ outputs }) => outputs.join() === node.outputs.join());
	return before !== undefined && shape(before) === shape(node)
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
	return { state: "unfinished", message: `${why}${range}` };
}

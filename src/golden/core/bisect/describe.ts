// Describes the result of the search for the first diverging tensor.
import type { Bisection } from "../../../../generated/result.ts";
import type { OnnxModel, OnnxNode } from "../../../core/onnx/model.ts";
import { quoted } from "../../../core/text/escape.ts";
import { counted, listNames } from "../../../core/text/labels.ts";
import { formatValue } from "../../../core/text/units.ts";
import { toNumeric } from "../compare/checks.ts";
import { type BisectGraph, errorBefore, type Search, suspectNodes } from "./search.ts";

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
	const error = toNumeric(errors.get(bad)?.head ?? Number.NaN);
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

function changeOf(node: OnnxNode | undefined, reference: OnnxModel): string {
	const before = node && reference.graph.nodes.find(({ outputs }) => outputs.join() === node.outputs.join());
	return before !== undefined && shapeOf(before) === shapeOf(node)
		? "The base's model has the same node: its weights or constants changed, or the engine computes it differently."
		: "The base's model has a different node there.";
}

/** Omits the values of tensors, which may be large. */
function shapeOf(node: OnnxNode | undefined): string {
	const attributes = node?.attributes.map(({ name, value }) => [name, value]);
	return JSON.stringify([node?.op, node?.domain, node?.inputs, attributes]);
}

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

/** Explains that the output is right again once these tensors are marked as outputs. */
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

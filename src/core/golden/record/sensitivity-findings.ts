// Says where a golden notices too little of what the trial did, and what would help.

import type { SensitivityRecord } from "../../../../generated/golden.ts";
import type { OnnxGraph, OnnxNode } from "../../onnx/model.ts";
import { quoteName } from "../../onnx/quote.ts";
import { counted } from "../../text/labels.ts";
import { isFloating } from "../tensor/tensor.ts";
import { type LeastShares, namedMisses, sharesAt, shortfalls } from "./defects/record.ts";
import { type RunOutputs, referencePrecision } from "./noise-floor.ts";
import type { Weakness } from "./sensitivity.ts";

const minTested = 10;
/** Where a larger share of the weights moves nothing, the inputs are at fault more likely than the weights. */
const mostUnseenShare = 0.25;

export function findSensitivityWeaknesses(facts: {
	record: SensitivityRecord;
	/** null: the model is not available. */
	graph: OnnxGraph | null;
	reference: RunOutputs;
	least: LeastShares;
}): Weakness[] {
	const { record, graph, reference, least } = facts;
	const { unseen = [], tensors, tested } = record;
	const { weights, outputs } = sharesAt(record, referencePrecision);
	const found: Weakness[] = [];
	// Answers in integers hide most defects, whatever the limits are.
	const inNumbers = reference.some((of) => Object.values(of).some(({ dtype }) => isFloating(dtype)));
	if (!inNumbers && weights.tried >= minTested && 2 * weights.moving < weights.tried) {
		const names = [...new Set(reference.flatMap((of) => Object.keys(of)))];
		const inner = names.flatMap((name) => (graph === null ? [] : findInnerNumbers(graph, name)));
		const add =
			inner.length === 0
				? "the numbers that the answer is chosen from"
				: inner.map((name) => quoteName(name)).join(", ");
		found.push({
			kind: "hidden",
			severity: "refuse",
			message: `its outputs are integers, which show ${weights.moving} of ${weights.tried} defects of the weights`,
			fix: `Export the model with ${add} as an output, and record that: integers are chosen from it, and hide how far it is off.`,
		});
	}
	found.push(...findShortfalls(record, least));
	// Where right answers differ by as much as wrong ones, as boxes in any order do, the trial says nothing.
	if (weights.tried + outputs.tried >= minTested && weights.moving + outputs.moving === 0)
		found.push({
			kind: "unmeasured",
			severity: "warn",
			message:
				"no tried defect moves an output further than rounding does, so it is unknown what the golden notices",
			fix: "Give inputs on which the outputs depend more. Of boxes in any order, record the outputs before they are selected too.",
		});
	const begun = Math.min(tensors, tested);
	if (begun >= minTested && unseen.length > mostUnseenShare * begun)
		found.push({
			kind: "unseen",
			severity: "warn",
			message: `no tried defect of ${unseen.length} of ${counted(tensors, "weight tensor")} moves an output, such as ${quoteName(unseen[0] ?? "")}`,
			fix: "Give real inputs, or more of them, so that a fault there would show.",
		});
	return found;
}

function findShortfalls(record: SensitivityRecord, least: LeastShares): Weakness[] {
	return shortfalls(record, least).map(({ precision, share, least: wanted }) => {
		const { weights, outputs } = sharesAt(record, precision);
		const percent = Number((100 * wanted).toPrecision(4));
		return {
			kind: "unnoticed",
			severity: "refuse",
			message:
				`at ${precision} it notices ${weights.noticed + outputs.noticed} of ${weights.moving + outputs.moving} defects that move an output beyond rounding, ` +
				`and ${percent} % of those of outputs and of weights are needed; not: ${namedMisses(record, precision)}`,
			fix: `Tighten the limits at ${precision}, give inputs on which the outputs depend more, or accept less: --notice ${precision}=${Math.floor(100 * share) / 100}`,
		};
	});
}

const choosing: Readonly<Record<string, number>> = {
	ArgMax: 0,
	ArgMin: 0,
	TopK: 0,
	Greater: 0,
	GreaterOrEqual: 0,
	Less: 0,
	LessOrEqual: 0,
	Multinomial: 0,
	NonMaxSuppression: 1,
	Round: 0,
	Floor: 0,
	Ceil: 0,
};

/** The nearest numbers before the output that an answer in integers is chosen from; empty where no node of the main graph chooses. */
export function findInnerNumbers(graph: OnnxGraph, output: string): string[] {
	const producers = new Map(
		graph.nodes.flatMap((node) => node.outputs.map((name): [string, OnnxNode] => [name, node])),
	);
	const found = new Set<string>();
	const casts: string[] = [];
	const seen = new Set<OnnxNode>();
	const queue = [output];
	for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
		const node = producers.get(name);
		if (node === undefined || seen.has(node)) continue;
		seen.add(node);
		const { op, inputs } = node;
		const numbers = Object.hasOwn(choosing, op) ? inputs[choosing[op] ?? 0] : undefined;
		if (numbers !== undefined) found.add(numbers);
		else queue.push(...inputs);
		if (op === "Cast") casts.push(...inputs);
	}
	const all = found.size > 0 ? [...found] : casts.slice(0, 1);
	return all.filter((name) => producers.has(name));
}

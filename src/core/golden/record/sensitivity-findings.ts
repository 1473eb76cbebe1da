// Says where a golden notices too little of what the trial did, and what would help.

import type { SensitivityRecord } from "../../../../generated/golden.ts";
import type { OnnxGraph } from "../../onnx/model.ts";
import { quoteName } from "../../onnx/quote.ts";
import { counted } from "../../text/labels.ts";
import { isFloating } from "../tensor/tensor.ts";
import { namedMisses } from "./defects/describe.ts";
import { type LeastShares, sharesAt, shortfalls } from "./defects/share.ts";
import { findInnerNumbers } from "./inner-tensor.ts";
import { type RunOutputs, referencePrecision } from "./noise-floor.ts";
import type { Weakness } from "./weaknesses.ts";

export interface TrialFacts {
	record: SensitivityRecord;
	/** null: the model is not available. */
	graph: OnnxGraph | null;
	reference: RunOutputs;
	least: LeastShares;
}

export function findSensitivityWeaknesses(facts: TrialFacts): Weakness[] {
	return [...findHidden(facts), ...findShortfalls(facts), ...findUnmoved(facts), ...findUnseen(facts)];
}

function findShortfalls({ record, least }: TrialFacts): Weakness[] {
	return shortfalls(record, least).map(({ precision, share, least: wanted }) => {
		const { weights, outputs } = sharesAt(record, precision);
		const [moving, noticed] = [weights.moving + outputs.moving, weights.noticed + outputs.noticed];
		return {
			kind: "unnoticed",
			severity: "refuse",
			message:
				`at ${precision} it notices ${noticed} of ${moving} defects that move an output beyond rounding, ` +
				`and ${percent(wanted)} of those of outputs and of weights are needed; not: ${namedMisses(record, precision)}`,
			fix: `Tighten the limits at ${precision}, give inputs on which the outputs depend more, or accept less: --notice ${precision}=${roundedDown(share)}`,
		};
	});
}

/** Fewer defects say little about the others. */
const minTested = 10;

/** Answers in integers hide most defects, whatever the limits are. */
function findHidden({ record, graph, reference }: TrialFacts): Weakness[] {
	const outputs = [...new Set(reference.flatMap((of) => Object.keys(of)))];
	const inNumbers = reference.some((of) => Object.values(of).some(({ dtype }) => isFloating(dtype)));
	const { weights } = sharesAt(record, referencePrecision);
	if (inNumbers || weights.tried < minTested || 2 * weights.moving >= weights.tried) return [];
	const inner = outputs
		.flatMap((output) => (graph === null ? [] : findInnerNumbers(graph, output)))
		.map((name) => quoteName(name));
	const add = inner.length === 0 ? "the numbers that the answer is chosen from" : inner.join(", ");
	return [
		{
			kind: "hidden",
			severity: "refuse",
			message: `its outputs are integers, which show ${weights.moving} of ${weights.tried} defects of the weights`,
			fix: `Export the model with ${add} as an output, and record that: integers are chosen from it, and hide how far it is off.`,
		},
	];
}

/** Where right answers differ by as much as wrong ones, as boxes in any order do, the trial says nothing. */
function findUnmoved({ record }: TrialFacts): Weakness[] {
	const { weights, outputs } = sharesAt(record, referencePrecision);
	if (weights.tried + outputs.tried < minTested || weights.moving + outputs.moving > 0) return [];
	return [
		{
			kind: "unmeasured",
			severity: "warn",
			message:
				"no tried defect moves an output further than rounding does, so it is unknown what the golden notices",
			fix: "Give inputs on which the outputs depend more. Of boxes in any order, record the outputs before they are selected too.",
		},
	];
}

/** Where a larger share of the weights moves nothing, the inputs are at fault more likely than the weights. */
const mostUnseenShare = 0.25;

function findUnseen({ record }: TrialFacts): Weakness[] {
	const { unseen = [], tensors } = record;
	const begun = Math.min(tensors, record.tested);
	if (begun < minTested || unseen.length <= mostUnseenShare * begun) return [];
	return [
		{
			kind: "unseen",
			severity: "warn",
			message: `no tried defect of ${unseen.length} of ${counted(tensors, "weight tensor")} moves an output, such as ${quoteName(unseen[0] ?? "")}`,
			fix: "Give real inputs, or more of them, so that a fault there would show.",
		},
	];
}

function percent(share: number): string {
	return `${Number((100 * share).toPrecision(4))} %`;
}

function roundedDown(share: number): number {
	return Math.floor(100 * share) / 100;
}

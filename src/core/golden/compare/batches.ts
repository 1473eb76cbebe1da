// Cuts the cases of a golden into batches that fit into memory together.
import type { GoldenCase } from "../../schema/golden.ts";
import { tensorBytes } from "../tensor/tensor.ts";

export interface BatchLimits {
	/** Of the tensors of a batch as the manifest has them, inputs and outputs. */
	bytes: number;
	cases: number;
}

/** Each engine's outputs come to about as much again as the golden's; a process is started for each batch, so it should not be small. */
export const defaultBatchLimits: BatchLimits = { bytes: 64 * 1024 * 1024, cases: 2048 };

/** Each batch has at least one case; a case above the limit gets a batch of its own. */
export function* cutBatches(cases: readonly GoldenCase[], limits: BatchLimits): Generator<readonly GoldenCase[]> {
	let start = 0;
	let bytes = 0;
	for (const [index, golden] of cases.entries()) {
		const more = caseBytes(golden);
		if (index > start && (bytes + more > limits.bytes || index - start >= limits.cases)) {
			yield cases.slice(start, index);
			start = index;
			bytes = 0;
		}
		bytes += more;
	}
	if (start < cases.length) yield cases.slice(start);
}

function caseBytes({ inputs, outputs }: GoldenCase): number {
	return [...Object.values(inputs), ...Object.values(outputs)].reduce((sum, file) => sum + tensorBytes(file), 0);
}

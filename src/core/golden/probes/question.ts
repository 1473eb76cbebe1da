// What a probe sends through an engine, and which of the answers have to be one.
import type { Tensor } from "../tensor/tensor.ts";

export interface ProbeCase {
	id: string;
	inputs: Readonly<Record<string, Tensor>>;
	/** Rows of the batch; null where there is none. */
	batch: number | null;
}

/** Rows of an answer, in order and maybe more than once; null: all of it. */
export interface View {
	caseId: string;
	rows: readonly number[] | null;
}

/** Two views that have to hold the same. */
export interface Comparison {
	expected: View;
	got: View;
	/** same: the same kernels at the same place, which owe the same bits. other: another shape or place, where sums may be taken in another order. */
	arithmetic: "same" | "other";
	/** Of answers with padding: how many positions count, by their dimension. */
	positions?: Positions;
}

export interface Positions {
	/** The axis as the file declares it: a name, or a size. */
	axis: string | number;
	counted: number;
	/** With the padding. */
	padded: number;
}

/** What one probe asks. */
export interface Asked {
	cases: readonly ProbeCase[];
	comparisons: readonly Comparison[];
	/** A sentence beside the answer. */
	note?: string;
}

/** The answer that most others are held against, and its repetition. */
export const anchor = "anchor";
export const again = "again";

/** Last after all others, so that what an inference leaves behind in the engine shows too. */
export const repetition: Comparison = {
	expected: { caseId: anchor, rows: null },
	got: { caseId: again, rows: null },
	arithmetic: "same",
};

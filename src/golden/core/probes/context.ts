// The context of an engine's probes (batch, sizes, input rows), and what a probe sends and compares.
import { elementBytes, elementCount, type Tensor, tensorBytes } from "../tensor/tensor.ts";
import { makePool, type Pool, poolOf, type Tensors } from "./pool.ts";
import { type Batch, findBatch, type ProbeSubject, type Profile, shapeOf, sizesAt } from "./subject.ts";

export interface ProbeContext {
	subject: ProbeSubject;
	profile: Profile;
	/** A string says why there is none. */
	batch: Batch | string;
	/** Sizes of all dimensions except the batch. */
	sizes: ReadonlyMap<string, number>;
	pool: Pool;
	/** Rows of the batch that most probes send; 1 without a batch. */
	rows: number;
}

/** About a dozen cases are in memory at once. */
export const maxCaseBytes = 64 * 1024 * 1024;

export function batchOf({ batch }: Pick<ProbeContext, "batch">): Batch | null {
	return typeof batch === "string" ? null : batch;
}

/** A string says why there are no inputs. */
export function openProbeContext(subject: ProbeSubject, donors: readonly Tensors[]): ProbeContext | string {
	const holdsTwo = (candidate: Profile): boolean => {
		const found = findBatch(subject, candidate);
		return typeof found !== "string" && found.range.max > 1;
	};
	const profile = subject.profiles.find(holdsTwo) ?? subject.profiles[0] ?? {};
	const found = findBatch(subject, profile);
	const batch = batchOf({ batch: found });
	const donated = poolOf(subject, batch, donors);
	const usable =
		donated !== null &&
		donated.pool.rows > (batch === null ? 0 : 1) &&
		[...donated.sizes].every(([name, size]) => {
			const range = Object.hasOwn(profile, name) ? profile[name] : undefined;
			return range === undefined || (size >= range.min && size <= range.max);
		});
	const sizes = usable ? donated.sizes : sizesAt(profile, "opt");
	let rows = 1;
	if (batch !== null) {
		// Uses the size that the profile is fastest for, at least two, and fewer if that takes too much memory.
		const { min, opt, max } = batch.range;
		const least = Math.max(min, Math.min(2, max));
		rows = Math.max(least, opt);
		while (rows > least && caseBytes(subject, batch, sizes, rows) > maxCaseBytes)
			rows = Math.max(least, Math.floor(rows / 2));
	}
	if (caseBytes(subject, batch, sizes, rows) > maxCaseBytes)
		return `One batch takes more than ${maxCaseBytes / 2 ** 20} MiB.`;
	const pool = usable ? donated.pool : makePool(subject, batch, { sizes, rows: 2 * rows, caseIndex: 0 });
	return typeof pool === "string" ? pool : { subject, profile, batch: found, sizes, pool, rows };
}

/** Inputs, and outputs if the file declares them. */
export function caseBytes(
	subject: ProbeSubject,
	batch: Batch | null,
	sizesBeside: ReadonlyMap<string, number>,
	rows: number,
): number {
	const sizes = new Map(sizesBeside);
	if (batch !== null && batch.dim !== null) sizes.set(batch.dim, rows);
	let sum = 0;
	for (const { axes, dtype } of subject.inputs)
		sum += tensorBytes({ dtype, shape: shapeOf(axes, sizes) ?? [] });
	for (const { axes } of subject.outputs)
		sum += elementCount((axes && shapeOf(axes, sizes)) ?? []) * elementBytes.float32;
	return sum;
}

export interface ProbeCase {
	id: string;
	inputs: Readonly<Record<string, Tensor>>;
	/** Rows of the batch; null if there is none. */
	batch: number | null;
}

/** Rows of an output, in order, possibly repeated; null: all of it. */
interface View {
	caseId: string;
	rows: readonly number[] | null;
}

/** Two views that must be equal. */
export interface Comparison {
	expected: View;
	got: View;
	/** same: the same kernels and row, so the same bits. other: sums may run in another order. */
	arithmetic: "same" | "other";
	/** For outputs with padding: the axis as the file declares it, the positions that count, and the number of all positions. */
	positions?: { axis: string | number; counted: number; padded: number };
}

/** The cases and comparisons of one probe. */
export interface ProbeRequest {
	cases: readonly ProbeCase[];
	comparisons: readonly Comparison[];
	/** Appended to the message of the result. */
	note?: string;
}

/** The case that most others are compared with, and its repetition. */
export const anchor = "anchor";
export const again = "again";

export function compareViews(
	arithmetic: Comparison["arithmetic"],
	[expectedId, expectedRows]: readonly [string, View["rows"]],
	[gotId, gotRows]: readonly [string, View["rows"]],
): Comparison {
	const expected = { caseId: expectedId, rows: expectedRows };
	return { expected, got: { caseId: gotId, rows: gotRows }, arithmetic };
}

/** Runs last, so that it also shows state left in the engine by other inferences. */
export const repetition = compareViews("same", [anchor, null], [again, null]);

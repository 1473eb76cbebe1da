// The context of an engine's probes (batch, sizes, input rows), and what a probe sends and compares.
import { elementBytes, elementCount, type Tensor, tensorBytes } from "../tensor/tensor.ts";
import { makePool, type Pool, poolOf } from "./pool.ts";
import { type Batch, findBatch, type ProbeSubject, shapeOf, sizesAt } from "./subject.ts";

export interface ProbeContext {
	subject: ProbeSubject;
	profile: ProbeSubject["profiles"][number];
	batch: Batch | null;
	/** Why there is no batch. */
	noBatch: string;
	/** Of all dimensions but the batch. */
	sizes: ReadonlyMap<string, number>;
	pool: Pool;
	/** Rows of the batch that most probes send; 1 without a batch. */
	rows: number;
}

/** A dozen cases lie in memory together. */
export const maxCaseBytes = 64 * 1024 * 1024;

/** A string is the reason why there are no inputs. */
export function openProbeContext(
	subject: ProbeSubject,
	donors: readonly Readonly<Record<string, Tensor>>[],
): ProbeContext | string {
	const profile = profileOfRows(subject);
	const found = findBatch(subject, profile);
	const batch = typeof found === "string" ? null : found;
	const donated = poolOf(subject, batch, donors);
	const usable =
		donated !== null && donated.pool.rows > (batch === null ? 0 : 1) && holds(profile, donated.sizes, batch);
	const sizes = usable ? donated.sizes : sizesAt(profile, "opt");
	const rows =
		batch === null ? 1 : rowsOf(batch.range, (count) => caseBytes(subject, batch, { sizes, rows: count }));
	if (caseBytes(subject, batch, { sizes, rows }) > maxCaseBytes)
		return `One batch takes more than ${maxCaseBytes / 2 ** 20} MiB.`;
	const pool = usable ? donated.pool : makePool(subject, batch, { sizes, rows: 2 * rows, caseIndex: 0 });
	if (typeof pool === "string") return pool;
	return { subject, profile, batch, noBatch: typeof found === "string" ? found : "", sizes, pool, rows };
}

/** The first profile whose batch can hold two rows. */
function profileOfRows(subject: ProbeSubject): ProbeContext["profile"] {
	const first = subject.profiles[0] ?? {};
	const holdsTwo = (profile: ProbeContext["profile"]): boolean => {
		const batch = findBatch(subject, profile);
		return typeof batch !== "string" && batch.range.max > 1;
	};
	return subject.profiles.find(holdsTwo) ?? first;
}

function holds(
	profile: ProbeContext["profile"],
	sizes: ReadonlyMap<string, number>,
	batch: Batch | null,
): boolean {
	return [...sizes].every(([name, size]) => {
		const range = Object.hasOwn(profile, name) ? profile[name] : undefined;
		return name === batch?.dim || range === undefined || (size >= range.min && size <= range.max);
	});
}

/** What the profile is fastest for, at least two, and fewer where that is too much to hold. */
function rowsOf({ min, opt, max }: Batch["range"], bytesOf: (rows: number) => number): number {
	const least = Math.max(min, Math.min(2, max));
	let rows = Math.max(least, opt);
	while (rows > least && bytesOf(rows) > maxCaseBytes) rows = Math.max(least, Math.floor(rows / 2));
	return rows;
}

/** Inputs, and outputs as far as the file declares them. */
export function caseBytes(
	subject: ProbeSubject,
	batch: Batch | null,
	at: { sizes: ReadonlyMap<string, number>; rows: number },
): number {
	const sizes = new Map(at.sizes);
	if (batch?.dim !== null && batch?.dim !== undefined) sizes.set(batch.dim, at.rows);
	const inputs = subject.inputs.map(({ axes, dtype }) =>
		tensorBytes({ dtype, shape: shapeOf(axes, sizes) ?? [] }),
	);
	const outputs = subject.outputs.map(
		({ axes }) => elementCount((axes && shapeOf(axes, sizes)) ?? []) * elementBytes.float32,
	);
	return [...inputs, ...outputs].reduce((sum, bytes) => sum + bytes, 0);
}

export interface ProbeCase {
	id: string;
	inputs: Readonly<Record<string, Tensor>>;
	/** Rows of the batch; null where there is none. */
	batch: number | null;
}

/** Rows of an output, in order, possibly repeated; null: all of it. */
export interface View {
	caseId: string;
	rows: readonly number[] | null;
}

/** Two views that must be equal. */
export interface Comparison {
	expected: View;
	got: View;
	/** same: the same kernels and row, so the same bits. other: another shape or row, where sums may run in another order. */
	arithmetic: "same" | "other";
	/** For outputs with padding: how many positions count. */
	positions?: Positions;
}

export interface Positions {
	/** The axis as the file declares it: a name, or a size. */
	axis: string | number;
	counted: number;
	/** With the padding. */
	padded: number;
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

/** Runs last, so that state left in the engine by other inferences shows too. */
export const repetition: Comparison = {
	expected: { caseId: anchor, rows: null },
	got: { caseId: again, rows: null },
	arithmetic: "same",
};

// The context of an engine's probes (batch, sizes, input rows), and what a probe sends and compares.

import { positionsBeside } from "../record/generators/defaults.ts";
import { generateInput } from "../record/generators/generate.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import {
	cutRanges,
	hasSameData,
	joinTensors,
	own,
	type Tensor,
	type Tensors,
	tensorBytes,
} from "../tensor/tensor.ts";
import {
	type Batch,
	findBatch,
	type ProbeInput,
	type ProbeSubject,
	type Profile,
	shapeOf,
	sizesAt,
} from "./subject.ts";

export interface ProbeContext {
	subject: ProbeSubject;
	profile: Profile;
	batch: Batch | null;
	noBatch: string;
	sizes: ReadonlyMap<string, number>;
	pool: Pool;
	rows: number;
}

export const maxCaseBytes = 64 * 1024 * 1024;

export function openProbeContext(subject: ProbeSubject, donors: readonly Tensors[]): ProbeContext | string {
	const holdsTwo = (candidate: Profile) => {
		const found = findBatch(subject, candidate);
		return typeof found !== "string" && found.range.max > 1;
	};
	const profile = subject.profiles.find(holdsTwo) ?? subject.profiles[0] ?? {};
	const found = findBatch(subject, profile);
	const [batch, noBatch] = typeof found === "string" ? [null, found] : [found, ""];
	const donated = poolOf(subject, batch, donors);
	const usable =
		donated !== null &&
		donated.pool.rows > (batch === null ? 0 : 1) &&
		[...donated.sizes].every(([name, size]) => {
			const range = own(profile, name);
			return range === undefined || (size >= range.min && size <= range.max);
		});
	const sizes = usable ? donated.sizes : sizesAt(profile, "opt");
	let rows = 1;
	if (batch !== null) {
		// The size that the profile is fastest for, at least two, and fewer if that takes too much memory.
		const { min, opt, max } = batch.range;
		const least = Math.max(min, Math.min(2, max));
		rows = Math.max(least, opt);
		while (rows > least && caseBytes(subject, batch, sizes, rows) > maxCaseBytes)
			rows = Math.max(least, Math.floor(rows / 2));
	}
	if (caseBytes(subject, batch, sizes, rows) > maxCaseBytes)
		return `One batch takes more than ${maxCaseBytes / 2 ** 20} MiB.`;
	const pool = usable ? donated.pool : makePool(subject, batch, { sizes, rows: 2 * rows, caseIndex: 0 });
	return typeof pool === "string" ? pool : { subject, profile, batch, noBatch, sizes, pool, rows };
}

export function caseBytes(
	subject: ProbeSubject,
	batch: Batch | null,
	sizesBeside: ReadonlyMap<string, number>,
	rows: number,
): number {
	const sizes = new Map(sizesBeside);
	if (batch?.dim != null) sizes.set(batch.dim, rows);
	const outputs = subject.outputs.map(({ axes }) => ({ dtype: "float32" as const, axes: axes ?? [] }));
	return [...subject.inputs, ...outputs].reduce(
		(sum, { axes, dtype }) => sum + tensorBytes({ dtype, shape: shapeOf(axes, sizes) ?? [] }),
		0,
	);
}

export interface ProbeCase {
	id: string;
	inputs: Tensors;
	batch: number | null;
	/** In a process of its own it tells nothing. */
	needsOthers?: true;
	/** Runs at the same time as the case before it, on a stream of its own. */
	together?: true;
	/** Gives the engine these weights before the next case; has no inputs and no outputs. */
	refit?: "model" | "zeros";
}

export function caseOf(id: string, pool: Pool, rows: readonly number[]): ProbeCase {
	return { id, inputs: composeBatch(pool, rows), batch: pool.axes.size === 0 ? null : rows.length };
}

interface View {
	caseId: string;
	rows: readonly number[] | null;
}

export interface Comparison {
	expected: View;
	got: View;
	/** same: the same kernels and row, so the same bits. other: sums may run in another order. */
	arithmetic: "same" | "other";
	/** `alone`: the case of the counted ones without padding. */
	positions?: { axis: string | number; counted: number; padded: number; alone: string | undefined };
	isRepeated?: true;
	/** At a size that the profile holds, but that was not given. */
	isBetween?: boolean;
	/** The sizes, in words. Where nothing is repeated, values that are not finite count if the anchor has none. */
	at?: string;
}

export interface ProbeRequest {
	cases: readonly ProbeCase[];
	comparisons: readonly Comparison[];
	note?: string;
}

export const anchor = "anchor";
export const again = "again";
/** The anchor with inputs off by the rounding of the precision: how far that moves the outputs needs no other explanation. */
export const nudged = "nudged";

export function compareViews(
	arithmetic: Comparison["arithmetic"],
	[expectedId, expectedRows]: readonly [string, View["rows"]],
	[gotId, gotRows]: readonly [string, View["rows"]],
): Comparison {
	const expected = { caseId: expectedId, rows: expectedRows };
	return { expected, got: { caseId: gotId, rows: gotRows }, arithmetic };
}

export function repeat(first: string, second: string): Comparison {
	return { ...compareViews("same", [first, null], [second, null]), isRepeated: true };
}

export const repetition = repeat(anchor, again);
export const rounding = compareViews("same", [again, null], [nudged, null]);

interface Pool {
	rows: number;
	tensors: Tensors;
	axes: Batch["axes"];
}

const seed = 20;
const maxRows = 8;

export function makePool(
	subject: ProbeSubject,
	batch: Batch | null,
	at: { sizes: ReadonlyMap<string, number>; rows: number; caseIndex: number },
): Pool | string {
	const axes: Batch["axes"] = batch?.axes ?? new Map();
	const rows = batch === null ? 1 : Math.min(maxRows, at.rows);
	const sized: (ProbeInput & { shape: number[] })[] = [];
	for (const input of subject.inputs) {
		const shape = shapeOf(input.axes, at.sizes);
		if (shape === null) return `The config gives no size for an axis of input ${JSON.stringify(input.name)}.`;
		const axis = axes.get(input.name);
		sized.push({ ...input, shape: axis === undefined ? shape : shape.with(axis, rows) });
	}
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const [inputIndex, { name, dtype, shape, generator: specs }] of sized.entries()) {
		const input = { name, dtype, shape, specs, positions: positionsBeside(name, sized) };
		tensors[name] = generateInput(input, { seed, caseIndex: at.caseIndex, inputIndex }).tensor;
	}
	return { rows, tensors, axes };
}

/** The rows of golden cases that have the first case's sizes; null if the first does not fit the model. */
function poolOf(
	subject: ProbeSubject,
	batch: Batch | null,
	cases: readonly Tensors[],
): { pool: Pool; sizes: ReadonlyMap<string, number> } | null {
	const axes: Batch["axes"] = batch?.axes ?? new Map();
	const [first] = cases;
	const sizes = first === undefined ? null : bindSizes(subject, axes, first);
	if (first === undefined || sizes === null) return null;
	const isAlike = (other: Tensors) =>
		JSON.stringify(bindSizes(subject, axes, other)) === JSON.stringify(sizes) &&
		subject.inputs.every(({ name }) => axes.has(name) || hasSameData(first[name], other[name]));
	const alike = cases.slice(1).filter((other) => batch !== null && isAlike(other));
	const tensors: Record<string, Tensor> = Object.create(null);
	let rows = batch === null ? 1 : maxRows;
	for (const { name } of subject.inputs) {
		const axis = axes.get(name);
		const own = first[name] as Tensor;
		tensors[name] =
			axis === undefined ? own : joinTensors([own, ...alike.map((one) => one[name] as Tensor)], axis);
		if (axis !== undefined) rows = Math.min(rows, tensors[name].shape[axis] ?? 0);
	}
	return { pool: { rows, tensors, axes }, sizes: new Map(sizes.filter(([dim]) => !dim.startsWith("\0"))) };
}

/** Of all axes but the batch. null if sizes contradict the model or each other. */
function bindSizes(subject: ProbeSubject, rows: Batch["axes"], tensors: Tensors) {
	const sizes = new Map<string, number>();
	const fits = subject.inputs.every(({ name, dtype, axes }) => {
		const tensor = own(tensors, name);
		if (tensor?.dtype !== dtype || isPacked(dtype) || axes.length !== tensor.shape.length) return false;
		return axes.every((axis, index) => {
			const size = tensor.shape[index] ?? 0;
			if (index === rows.get(name)) return size > 0;
			const dim = typeof axis === "string" ? axis : `\0${name} ${index}`;
			const known = typeof axis === "number" ? axis : (sizes.get(dim) ?? size);
			sizes.set(dim, size);
			return known === size && size > 0;
		});
	});
	return fits ? [...sizes] : null;
}

export function composeBatch(pool: Pool, rows: readonly number[]): Record<string, Tensor> {
	const tensors: Record<string, Tensor> = Object.create(null);
	const places = rows.map((row) => row % pool.rows);
	for (const [name, tensor] of Object.entries(pool.tensors)) {
		const axis = pool.axes.get(name);
		tensors[name] = (axis === undefined ? null : pick(tensor, axis, places)) ?? tensor;
	}
	return tensors;
}

export function otherRow(pool: Pool, row: number, from: number): number | null {
	const names = [...pool.axes.keys()];
	const own = composeBatch(pool, [row]);
	const differs = (candidate: number) => {
		const other = composeBatch(pool, [candidate]);
		return names.some((name) => !hasSameData(own[name], other[name]));
	};
	const candidates = upTo(pool.rows).map((step) => (from + step) % pool.rows);
	return candidates.find(differs) ?? null;
}

/** null for 4-bit elements, which share bytes, and for indexes out of range. */
export function pick(tensor: Tensor, axis: number, places: readonly number[]): Tensor | null {
	const size = tensor.shape[axis];
	if (isPacked(tensor.dtype) || size === undefined || places.some((place) => !(place >= 0 && place < size)))
		return null;
	return cutRanges(
		tensor,
		axis,
		places.map((place) => [place, place + 1]),
	);
}

export function upTo(count: number): number[] {
	return Array.from({ length: count }, (_, index) => index);
}

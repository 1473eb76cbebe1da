// The input rows of probes: those of a golden if there is one, else generated from a seed.
import { positionsBeside } from "../record/generators/defaults.ts";
import { generateInput } from "../record/generators/generate.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import { elementBytes, elementCount, type Tensor } from "../tensor/tensor.ts";
import { type Batch, type ProbeSubject, shapeOf } from "./subject.ts";

export type Tensors = Readonly<Record<string, Tensor>>;

export interface Pool {
	/** Rows that lie in the tensors; 1 where the model has no batch. */
	rows: number;
	tensors: Tensors;
	axes: Batch["axes"];
}

/** The same inputs every night, so that two nights can be compared. */
const seed = 20;
/** More distinct rows find nothing more and take longer to generate. */
const maxRows = 8;

/** A string is the reason, such as a missing size. */
export function makePool(
	subject: ProbeSubject,
	batch: Batch | null,
	at: { sizes: ReadonlyMap<string, number>; rows: number; caseIndex: number },
): Pool | string {
	const axes: Batch["axes"] = batch?.axes ?? new Map();
	const rows = batch === null ? 1 : Math.min(maxRows, at.rows);
	const sized: (ProbeSubject["inputs"][number] & { shape: number[] })[] = [];
	for (const input of subject.inputs) {
		const shape = shapeOf(input.axes, at.sizes);
		if (shape === null) return `The config gives no size for an axis of input ${JSON.stringify(input.name)}.`;
		const axis = axes.get(input.name);
		if (axis !== undefined) shape[axis] = rows;
		sized.push({ ...input, shape });
	}
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const [inputIndex, { name, dtype, shape, generator: specs }] of sized.entries()) {
		const input = { name, dtype, shape, specs, positions: positionsBeside(name, sized) };
		tensors[name] = generateInput(input, { seed, caseIndex: at.caseIndex, inputIndex }).tensor;
	}
	return { rows, tensors, axes };
}

/** Rows of golden cases, as many as match the first in all other sizes; null where the first does not fit the model. */
export function poolOf(
	subject: ProbeSubject,
	batch: Batch | null,
	cases: readonly Tensors[],
): { pool: Pool; sizes: Map<string, number> } | null {
	const [first] = cases;
	const sizes = first === undefined ? null : bindSizes(subject, first);
	if (first === undefined || sizes === null) return null;
	if (batch === null) return { pool: { rows: 1, tensors: first, axes: new Map() }, sizes };
	const matching = cases.filter((other) => isAlike(subject, batch, first, other));
	const tensors: Record<string, Tensor> = Object.create(null);
	let rows = 0;
	for (const { name } of subject.inputs) {
		const axis = batch.axes.get(name);
		const [head, ...others] = matching.flatMap((other) => other[name] ?? []);
		if (head === undefined) return null;
		tensors[name] = head;
		if (axis === undefined) continue;
		const joined = join([head, ...others], axis);
		rows = Math.min(maxRows, joined.shape[axis] ?? 0);
		const cut = pick(joined, axis, upTo(rows));
		if (cut === null) return null;
		tensors[name] = cut;
	}
	return { pool: { rows, tensors, axes: batch.axes }, sizes };
}

/** The dimensions of a golden case; null where they contradict the model or each other. */
function bindSizes(subject: ProbeSubject, tensors: Tensors): Map<string, number> | null {
	const sizes = new Map<string, number>();
	const fits = subject.inputs.every(({ name, dtype, axes }) => {
		const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
		if (tensor === undefined || tensor.dtype !== dtype || isPacked(dtype)) return false;
		if (axes.length !== tensor.shape.length) return false;
		return axes.every((axis, index) => {
			const size = tensor.shape[index] ?? 0;
			const known = typeof axis === "string" ? (sizes.get(axis) ?? size) : (axis ?? size);
			if (typeof axis === "string") sizes.set(axis, size);
			return known === size && size > 0;
		});
	});
	return fits ? sizes : null;
}

/** Only rows may differ; inputs shared by all rows must be equal. */
function isAlike(subject: ProbeSubject, batch: Batch, first: Tensors, other: Tensors): boolean {
	if (bindSizes(subject, other) === null) return false;
	return subject.inputs.every(({ name }) => {
		const [left, right] = [first[name], other[name]];
		const axis = batch.axes.get(name);
		if (left === undefined || right === undefined) return false;
		if (axis === undefined) return isSame(left, right) && String(left.shape) === String(right.shape);
		return left.shape.every((size, index) => index === axis || size === right.shape[index]);
	});
}

/** Whether both are there and hold the same bytes. */
export function isSame(left: Tensor | null | undefined, right: Tensor | null | undefined): boolean {
	return left != null && right != null && Buffer.compare(left.data, right.data) === 0;
}

/** A batch of rows by their place in the pool, which wraps around at the end. */
export function composeBatch(pool: Pool, rows: readonly number[]): Record<string, Tensor> {
	const tensors: Record<string, Tensor> = Object.create(null);
	const places = rows.map((row) => row % pool.rows);
	for (const [name, tensor] of Object.entries(pool.tensors)) {
		const axis = pool.axes.get(name);
		tensors[name] = (axis === undefined ? null : pick(tensor, axis, places)) ?? tensor;
	}
	return tensors;
}

/** The first row from `from` on whose values differ from those of `row` in some input; null where all are equal. */
export function otherRow(pool: Pool, row: number, from: number): number | null {
	const rowOf = (name: string, axis: number, at: number): Tensor | null => {
		const tensor = pool.tensors[name];
		return tensor === undefined ? null : pick(tensor, axis, [at % pool.rows]);
	};
	const candidates = upTo(pool.rows).map((step) => (from + step) % pool.rows);
	const other = candidates.find((candidate) =>
		[...pool.axes].some(([name, axis]) => !isSame(rowOf(name, axis, row), rowOf(name, axis, candidate))),
	);
	return other ?? null;
}

/** null for 4-bit elements, which share bytes, and for places that are not there. */
export function pick(tensor: Tensor, axis: number, places: readonly number[]): Tensor | null {
	const { dtype, shape } = tensor;
	const size = shape[axis];
	if (isPacked(dtype) || size === undefined || places.some((place) => !(place >= 0 && place < size)))
		return null;
	const blockBytes = elementCount(shape.slice(axis + 1)) * elementBytes[dtype];
	const blocks = elementCount(shape.slice(0, axis));
	const data = new Uint8Array(blocks * places.length * blockBytes);
	let to = 0;
	for (let block = 0; block < blocks; block += 1) {
		for (const place of places) {
			const from = (block * size + place) * blockBytes;
			data.set(tensor.data.subarray(from, from + blockBytes), to);
			to += blockBytes;
		}
	}
	return { dtype, shape: shape.with(axis, places.length), data };
}

/** Of tensors that differ in nothing but their size along the axis. */
export function join(tensors: readonly [Tensor, ...Tensor[]], axis: number): Tensor {
	const { dtype, shape } = tensors[0];
	const sizes = tensors.map((tensor) => tensor.shape[axis] ?? 1);
	const innerBytes = elementCount(shape.slice(axis + 1)) * elementBytes[dtype];
	const blocks = elementCount(shape.slice(0, axis));
	const size = sizes.reduce((sum, length) => sum + length, 0);
	const data = new Uint8Array(blocks * size * innerBytes);
	let to = 0;
	for (let block = 0; block < blocks; block += 1) {
		for (const [index, tensor] of tensors.entries()) {
			const bytes = (sizes[index] ?? 1) * innerBytes;
			data.set(tensor.data.subarray(block * bytes, (block + 1) * bytes), to);
			to += bytes;
		}
	}
	return { dtype, shape: shape.map((length, index) => (index === axis ? size : length)), data };
}

/** 0, 1, … */
export function upTo(count: number): number[] {
	return Array.from({ length: count }, (_, index) => index);
}

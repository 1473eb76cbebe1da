// Several cases as one batch, and the batch's outputs as those of its cases: whether a case depends on its neighbours.
import { groupBy } from "../../group.ts";
import { feeds, type OnnxGraph } from "../../onnx/model.ts";
import { isPacked } from "../tensor/small-numbers.ts";
import { cutRanges, type Tensor } from "../tensor/tensor.ts";
import type { RunOutputs } from "./noise-floor.ts";

type Inputs = Readonly<Record<string, Tensor>>;

export interface CaseBatch {
	inputs: Inputs;
	members: readonly number[];
	rows: number;
}

const maxMembers = 8;

/** The cases of the most frequent shapes; null where the model's first axes are not open, or no two cases fit together. */
export function batchCases(graph: OnnxGraph, cases: readonly Inputs[]): CaseBatch | null {
	const stacked = stackedInputs(graph);
	if (stacked === null) return null;
	const layoutOf = (index: number): string =>
		JSON.stringify(
			Object.entries(cases[index] ?? {}).map(([name, { dtype, shape }]) => [name, dtype, shape]),
		);
	const groups = groupBy(cases.keys(), layoutOf);
	const [members = []] = [...groups.values()].toSorted((left, right) => right.length - left.length);
	const chosen = members.slice(0, maxMembers).map((index) => cases[index] ?? {});
	const inputs = chosen.length < 2 ? null : joinInputs(chosen, stacked);
	const rows = chosen[0]?.[stacked[0] ?? ""]?.shape[0] ?? 0;
	return inputs === null || rows === 0 ? null : { inputs, members: members.slice(0, maxMembers), rows };
}

/** Inputs whose first axis has the one open size that all inputs of some rank share. */
function stackedInputs(graph: OnnxGraph): string[] | null {
	const stacked = feeds(graph).filter(({ dims }) => dims === null || dims.length > 0);
	const sizes = new Set(stacked.map(({ dims }) => dims?.[0] ?? null));
	const [size] = sizes;
	return stacked.length > 0 && sizes.size === 1 && typeof size !== "number"
		? stacked.map(({ name }) => name)
		: null;
}

/** null: rows of different number, or scalars that differ. */
function joinInputs(members: readonly Inputs[], stacked: readonly string[]): Inputs | null {
	const joined: Record<string, Tensor> = Object.create(null);
	const rows = new Set<number | undefined>();
	for (const [name, tensor] of Object.entries(members[0] ?? {})) {
		const tensors = members.flatMap((inputs) => inputs[name] ?? []);
		if (isPacked(tensor.dtype)) return null;
		if (stacked.includes(name)) {
			rows.add(tensor.shape[0]);
			joined[name] = join(tensors);
		} else if (tensors.every(({ data }) => Buffer.compare(data, tensor.data) === 0)) joined[name] = tensor;
		else return null;
	}
	return rows.size === 1 ? joined : null;
}

function join(tensors: readonly Tensor[]): Tensor {
	const [first] = tensors as [Tensor];
	const data = new Uint8Array(tensors.reduce((sum, tensor) => sum + tensor.data.length, 0));
	let at = 0;
	for (const tensor of tensors) {
		data.set(tensor.data, at);
		at += tensor.data.length;
	}
	return {
		dtype: first.dtype,
		shape: [(first.shape[0] ?? 0) * tensors.length, ...first.shape.slice(1)],
		data,
	};
}

/** By case; empty for those that are not in the batch, and without outputs that do not lie along the first axis. */
export function splitBatch(
	{ members, rows }: CaseBatch,
	outputs: Readonly<Record<string, Tensor>>,
	cases: number,
): RunOutputs {
	const along = Object.entries(outputs).filter(
		([, { dtype, shape }]) => shape[0] === rows * members.length && !isPacked(dtype),
	);
	return Array.from({ length: cases }, (_, index) => {
		const member = members.indexOf(index);
		if (member < 0) return {};
		return Object.fromEntries(
			along.map(([name, tensor]) => [name, cutRanges(tensor, 0, [[member * rows, (member + 1) * rows]])]),
		);
	});
}

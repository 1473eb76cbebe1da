// Compares the inputs and outputs of two versions of a model: what a caller would notice.
import type { InterfaceRow, InterfaceValue } from "../schema/result.ts";
import { toDType } from "./element-type.ts";
import { feeds, type OnnxDim, type OnnxModel, type OnnxValue } from "./model.ts";
import { formatDims } from "./quote.ts";

type Side = InterfaceRow["side"];

/** A longer table is not read. */
const maxRows = 1000;

/** Empty where every caller of the base can call the head. Names of symbolic dimensions are no part of the interface. */
export function interfaceRows(base: OnnxModel, head: OnnxModel): InterfaceRow[] {
	const inputs = rowsOf("input", feeds(base.graph), feeds(head.graph));
	const outputs = rowsOf("output", base.graph.outputs, head.graph.outputs);
	return [...inputs, ...outputs].slice(0, maxRows);
}

function rowsOf(side: Side, before: readonly OnnxValue[], after: readonly OnnxValue[]): InterfaceRow[] {
	const changed = before.flatMap((base) => {
		const head = after.find(({ name }) => name === base.name);
		return head === undefined || !differs(side, base, head) ? [] : [row(side, base, head)];
	});
	const gone = before.filter(({ name }) => after.every((head) => head.name !== name));
	const added = new Set(after.filter(({ name }) => before.every((base) => base.name !== name)));
	const renamed = gone.map((base) => {
		const head = [...added].find((candidate) => !differs(side, base, candidate)) ?? null;
		if (head !== null) added.delete(head);
		return row(side, base, head);
	});
	return [...changed, ...renamed, ...[...added].map((head) => row(side, null, head))];
}

function row(side: Side, base: OnnxValue | null, head: OnnxValue | null): InterfaceRow {
	return { side, base: base && describe(base), head: head && describe(head) };
}

function describe({ name, kind, dtype, dims }: OnnxValue): InterfaceValue {
	const type = toDType(dtype) ?? dtype;
	return { name, dtype: kind === "tensor" ? type : kind, shape: dims === null ? "?" : formatDims(dims) };
}

function differs(side: Side, base: OnnxValue, head: OnnxValue): boolean {
	if (base.kind !== head.kind) return true;
	const known = [base, head].every(({ dtype }) => dtype !== "undefined" && dtype !== "unknown");
	if (known && base.dtype !== head.dtype) return true;
	if (base.dims === null || head.dims === null) return false;
	return base.dims.length !== head.dims.length || base.dims.some((dim, axis) => sizeDiffers(side, dim, head.dims?.[axis] ?? null));
}

/** An input that takes any size where it took one is no change; of an output a file need not tell the size. */
function sizeDiffers(side: Side, base: OnnxDim, head: OnnxDim): boolean {
	if (typeof head !== "number") return false;
	return typeof base === "number" ? base !== head : side === "input";
}

// Watches one output over all cases of a golden: whether it is constant, and whether it ever chooses another class.
import type { GoldenOutput } from "../../schema/golden.ts";
import { makePair } from "../compare/difference.ts";
import { sameBytes } from "../compare/kernels.ts";
import { topIndices } from "../metrics/top-k.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk } from "../tensor/values.ts";

export interface OutputWatch {
	see(tensor: Tensor): void;
	/** Of all tensors together. */
	elements(): number;
	/** The first value; NaN where there is none. */
	first(): number;
	/** Every value so far is the first. */
	isConstant(): boolean;
	isFloating(): boolean;
	/** The class that every row of all (at least two) tensors chooses; null where they differ or choose nothing. */
	onlyClass(): number | null;
}

export function watchOutput(spec: GoldenOutput | undefined): OutputWatch {
	const state = { elements: 0, first: Number.NaN, constant: true, floating: false };
	const classes = watchClasses(spec);
	return {
		see(tensor) {
			const count = elementCount(tensor.shape);
			if (state.elements === 0 && count > 0) state.first = float64Reader(tensor)(0, 1)[0] ?? Number.NaN;
			state.elements += count;
			state.floating ||= isFloating(tensor.dtype);
			// What was not constant once will not become it.
			state.constant &&= isAll(tensor, state.first);
			classes.see(tensor);
		},
		elements: () => state.elements,
		first: () => state.first,
		isConstant: () => state.constant,
		isFloating: () => state.floating,
		onlyClass: classes.only,
	};
}

function isAll(tensor: Tensor, value: number): boolean {
	const read = float64Reader(tensor);
	let same = true;
	forEachChunk(elementCount(tensor.shape), (start, count) => {
		same &&= read(start, count).every((other) => other === value);
	});
	return same;
}

interface ClassWatch {
	see(tensor: Tensor): void;
	only(): number | null;
}

const noClasses: ClassWatch = { see() {}, only: () => null };

/** Only of outputs that say they are logits or probabilities. */
function watchClasses(spec: GoldenOutput | undefined): ClassWatch {
	if (spec?.semantic !== "logits" && spec?.semantic !== "probabilities") return noClasses;
	const axis = spec.comparators?.find((comparator) => comparator.axis !== undefined)?.axis ?? -1;
	const chosen = new Set<number>();
	let tensors = 0;
	let choices = 0;
	return {
		see(tensor) {
			tensors += 1;
			if (chosen.size > 1) return;
			forEachRow(makePair(tensor, tensor), axis, (row) => {
				choices = Math.max(choices, row.length);
				if (chosen.size < 2) chosen.add(topIndices(row, 1)[0] ?? 0);
			});
		},
		only: () => (tensors >= 2 && choices >= 2 && chosen.size === 1 ? ([...chosen][0] ?? null) : null),
	};
}

/** Whether all cases have the same outputs; keeps those of the first, and only for as long as nothing differed. */
export function watchSameness(): { see(outputs: ReadonlyMap<string, Tensor>): void; same(): boolean } {
	let first: ReadonlyMap<string, Tensor> | null = null;
	let same = true;
	return {
		see(outputs) {
			if (!same) return;
			const known = first ?? outputs;
			first = known;
			same = outputs.size === known.size && [...outputs].every(([name, tensor]) => isSame(tensor, known.get(name)));
			if (!same) first = null;
		},
		same: () => same,
	};
}

function isSame(left: Tensor, right: Tensor | undefined): boolean {
	return right !== undefined && sameBytes(left.data, right.data);
}

// Selects what two outputs share: the same rows, and the positions that count.
import type { OnnxDim } from "../../onnx/model.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Comparison } from "./context.ts";
import type { ProbePlan } from "./plan.ts";
import { pick, type Tensors, upTo } from "./pool.ts";

/**
 * null where this output has no such rows, such as a sum over the batch.
 * @returns `axis`: along which rows lie; null: the whole is one.
 */
export function viewsOf(
	output: string,
	comparison: Comparison,
	plan: ProbePlan,
	outputs: { expected: Tensors; got: Tensors },
): { expected: Tensor; got: Tensor; axis: number | null } | null {
	const declared = plan.outputs.find(({ name }) => name === output)?.axes ?? null;
	const sides = (["expected", "got"] as const).map((side) => {
		const tensor = Object.hasOwn(outputs[side], output) ? outputs[side][output] : undefined;
		const { caseId, rows } = comparison[side];
		return { tensor, rows, batch: plan.cases.find(({ id }) => id === caseId)?.batch ?? null };
	});
	// The declared batch axis, else the first axis; in both outputs its size must equal the batch size.
	const { batch } = plan;
	const place = Math.max(0, batch?.dim == null ? 0 : (declared?.indexOf(batch.dim) ?? 0));
	const fits = sides.every((side) => side.batch !== null && side.tensor?.shape[place] === side.batch);
	const axis = batch !== null && fits ? place : null;
	const [expected, got] = sides.map(({ tensor, rows }) => {
		const cut = tensor === undefined ? null : cutPositions(tensor, declared, axis, comparison.positions);
		if (cut === null || rows === null) return cut;
		return axis === null ? null : pick(cut, axis, rows);
	});
	return expected == null || got == null ? null : { expected, got, axis };
}

/** The counted positions along every axis that holds positions. */
function cutPositions(
	tensor: Tensor,
	declared: readonly OnnxDim[] | null,
	rowsAxis: number | null,
	positions: Comparison["positions"],
): Tensor | null {
	if (positions === undefined) return tensor;
	const { counted, padded } = positions;
	let cut: Tensor | null = tensor;
	for (const [axis, size] of tensor.shape.entries()) {
		const name = declared?.[axis] ?? null;
		// A fixed size belongs to another axis; another name may have been chosen by the exporter.
		const isOther =
			name !== positions.axis && (typeof name === "number" || (size !== padded && size !== counted));
		if (axis === rowsAxis || size < counted || isOther) continue;
		cut = cut && pick(cut, axis, upTo(counted));
	}
	return cut;
}

// Selects what two outputs share: the same rows, and the positions that count.
import type { OnnxDim } from "../../onnx/model.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Comparison, View } from "./context.ts";
import type { ProbePlan } from "./plan.ts";
import { pick, upTo } from "./pool.ts";

export interface Views {
	expected: Tensor;
	got: Tensor;
	/** Along which rows lie; null: the whole is one. */
	axis: number | null;
}

type Outputs = Readonly<Record<string, Tensor>>;

/** null where this output has no such rows, such as a sum over the batch. */
export function viewsOf(
	output: string,
	comparison: Comparison,
	of: { plan: ProbePlan; expected: Outputs; got: Outputs },
): Views | null {
	const { plan } = of;
	const [expected, got] = [own(of.expected, output), own(of.got, output)];
	if (expected === undefined || got === undefined) return null;
	const declared = plan.outputs.find(({ name }) => name === output)?.axes ?? null;
	const rowsAxis = rowAxis(declared, {
		plan,
		sides: [[comparison.expected, expected] as const, [comparison.got, got] as const],
	});
	if (comparison.expected.rows !== null && rowsAxis === null) return null;
	const cut = (tensor: Tensor, view: View): Tensor | null => {
		const positioned = cutPositions(tensor, declared, { comparison, rowsAxis });
		return positioned === null || view.rows === null || rowsAxis === null
			? positioned
			: pick(positioned, rowsAxis, view.rows);
	};
	const [left, right] = [cut(expected, comparison.expected), cut(got, comparison.got)];
	if (left === null || right === null) return null;
	return { expected: left, got: right, axis: rowsAxis };
}

function own(outputs: Outputs, name: string): Tensor | undefined {
	return Object.hasOwn(outputs, name) ? outputs[name] : undefined;
}

/** The declared batch axis, else the first axis; in both outputs its size must equal the batch size. */
function rowAxis(
	declared: readonly OnnxDim[] | null,
	{ plan, sides }: { plan: ProbePlan; sides: readonly (readonly [View, Tensor])[] },
): number | null {
	if (plan.batch === null) return null;
	const named = plan.batch.dim === null ? -1 : (declared?.indexOf(plan.batch.dim) ?? -1);
	const axis = Math.max(0, named);
	const fits = sides.every(([{ caseId }, { shape }]) => {
		const rows = plan.cases.find(({ id }) => id === caseId)?.batch;
		return rows !== undefined && rows !== null && shape[axis] === rows;
	});
	return fits ? axis : null;
}

/** The counted positions along every axis that holds positions. */
function cutPositions(
	tensor: Tensor,
	declared: readonly OnnxDim[] | null,
	{ comparison, rowsAxis }: { comparison: Comparison; rowsAxis: number | null },
): Tensor | null {
	const { positions } = comparison;
	if (positions === undefined) return tensor;
	let cut: Tensor | null = tensor;
	for (const [axis, size] of tensor.shape.entries()) {
		if (axis === rowsAxis || !holdsPositions(declared?.[axis] ?? null, size, positions)) continue;
		cut = cut === null ? null : pick(cut, axis, upTo(positions.counted));
	}
	return cut;
}

function holdsPositions(
	declared: OnnxDim,
	size: number,
	positions: NonNullable<Comparison["positions"]>,
): boolean {
	if (size < positions.counted) return false;
	if (declared === positions.axis) return true;
	// A fixed size belongs to another axis; another name may have been chosen by the exporter.
	if (typeof declared === "number") return false;
	return size === positions.padded || size === positions.counted;
}

// A stand-in for the ONNX file of an engine that has none: its golden says what goes in and out.
import type { GoldenManifest, Sequence, TensorFile } from "../../../../generated/golden.ts";
import type { InputConfig } from "../../../core/config/config.ts";
import { fromDType } from "../../../core/onnx/element-type.ts";
import type { OnnxDim, OnnxModel, OnnxValue } from "../../../core/onnx/model.ts";
import { own } from "../tensor/tensor.ts";

/** Sizes that differ between cases are open, unless the config gives the input's shape. */
export function interfaceOf(
	{ cases, sequence }: GoldenManifest,
	configured: Readonly<Record<string, InputConfig>>,
): OnnxModel {
	const valuesOf = (side: "inputs" | "outputs"): OnnxValue[] =>
		Object.entries(cases[0]?.[side] ?? {}).map(([name, { dtype, shape }]) => {
			const given = side === "inputs" ? own(configured, name)?.shape : undefined;
			const shapes = cases.flatMap((one) => own(one[side], name) ?? []).map((file: TensorFile) => file.shape);
			return { name, kind: "tensor", dtype: fromDType(dtype), dims: given ?? commonSizes(shape, shapes) };
		});
	const carried = stateOf(sequence);
	const open = { ...sequence?.each, ...sequence?.all, ...sequence?.outputs };
	const perStep = (value: OnnxValue): OnnxValue => {
		const dims = value.dims?.map((dim, axis) =>
			axis === own(open, value.name) && typeof dim === "number" ? null : dim,
		);
		return { ...value, dims: dims ?? null };
	};
	const inputs = [...valuesOf("inputs").map(perStep), ...carried.inputs];
	const outputs = [...valuesOf("outputs").map(perStep), ...carried.outputs];
	return {
		...{ bytes: 0, irVersion: 0, producer: "", producerVersion: "", opsets: {}, functions: [] },
		graph: { name: "", inputs, outputs, nodes: [], initializers: [], valueInfo: [], subgraphs: [] },
	};
}

function stateOf(sequence: Sequence | undefined): Record<"inputs" | "outputs", OnnxValue[]> {
	const begun = Object.entries(sequence?.state ?? {}).flatMap(
		([input, { output, dtype, shape, axis, batch }]) => {
			if (dtype === undefined || shape === undefined) return [];
			const dims = shape.map((size, at) => (at === axis || at === batch ? null : size));
			const value = { kind: "tensor", dtype: fromDType(dtype), dims } as const;
			return [{ input: { name: input, ...value }, output: { name: output, ...value } }];
		},
	);
	return { inputs: begun.map(({ input }) => input), outputs: begun.map(({ output }) => output) };
}

/** null if even the number of axes differs. */
function commonSizes(
	first: readonly number[],
	all: readonly (readonly number[])[],
): readonly OnnxDim[] | null {
	if (all.some(({ length }) => length !== first.length)) return null;
	return first.map((size, axis) => (all.every((shape) => shape[axis] === size) ? size : null));
}

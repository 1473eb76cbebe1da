// Refuses a golden whose inputs and outputs are not the model's.

import type { GoldenManifest, TensorFile } from "../../../../generated/golden.ts";
import { ConfigError } from "../../../core/errors.ts";
import { toDType } from "../../../core/onnx/element-type.ts";
import { feeds, type OnnxModel, type OnnxValue } from "../../../core/onnx/model.ts";
import { formatDims, quoteName } from "../../../core/onnx/quote.ts";
import { formatShape } from "../tensor/tensor.ts";

type Side = "input" | "output";

/**
 * Checks names and dtypes on both sides, and ranks and fixed sizes of inputs; the verdict covers shapes of outputs and outputs
 * that only the model has.
 * @param sides inputs: the verdict also covers outputs that do not fit.
 * @throws ConfigError golden-other-model.
 */
export function validateAgainstModel(
	manifest: GoldenManifest,
	model: OnnxModel,
	sides: "inputs" | "both" = "both",
): void {
	const misfit =
		findInputMisfit(manifest, model) ?? (sides === "both" ? findOutputMisfit(manifest, model) : null);
	if (misfit === null) return;
	throw new ConfigError({
		code: "golden-other-model",
		message: `Golden ${manifest.goldenId} belongs to another model (${quoteName(manifest.model.path)}): ${misfit}.`,
		fix: "Point `golden:` at this model's manifest, or record the golden again.",
	});
}

export function findInputMisfit({ cases }: GoldenManifest, model: OnnxModel): string | null {
	const values = feeds(model.graph);
	for (const { id, inputs } of cases) {
		const where = `case ${quoteName(id)}`;
		const misfit = sideMisfit("input", where, inputs, values);
		if (misfit !== null) return misfit;
		const unfed = values.find(({ name }) => !Object.hasOwn(inputs, name));
		if (unfed) return `the model needs input ${quoteName(unfed.name)}, which ${where} does not have`;
	}
	return null;
}

function findOutputMisfit({ cases }: GoldenManifest, model: OnnxModel): string | null {
	const misfits = cases.map(({ id, outputs }) =>
		sideMisfit("output", `case ${quoteName(id)}`, outputs, model.graph.outputs),
	);
	return misfits.find((misfit) => misfit !== null) ?? null;
}

function sideMisfit(
	side: Side,
	where: string,
	files: Readonly<Record<string, TensorFile>>,
	values: readonly OnnxValue[],
): string | null {
	for (const [name, file] of Object.entries(files)) {
		const value = values.find((candidate) => candidate.name === name);
		if (value === undefined) {
			const names = values.map((candidate) => quoteName(candidate.name)).join(", ");
			return `${where} has ${side} ${quoteName(name)}; the model's ${side}s are ${names || "none"}`;
		}
		const misfit = valueMisfit(file, value, side);
		if (misfit !== null) return `${side} ${quoteName(name)} of ${where} ${misfit}`;
	}
	return null;
}

function valueMisfit({ dtype, shape }: TensorFile, value: OnnxValue, side: Side): string | null {
	if (value.kind !== "tensor") return `is a tensor; the model's is a ${value.kind}`;
	const known = value.dtype !== "undefined" && value.dtype !== "unknown";
	if (known && toDType(value.dtype) !== dtype)
		return `is ${dtype}; the model's is ${toDType(value.dtype) ?? value.dtype}`;
	const { dims } = value;
	// A file may declare its outputs wrongly, even their rank: the run decides.
	if (dims === null || side === "output") return null;
	const fits =
		dims.length === shape.length && dims.every((dim, axis) => typeof dim !== "number" || dim === shape[axis]);
	return fits ? null : `has shape ${formatShape(shape)}; the model's is ${formatDims(dims)}`;
}

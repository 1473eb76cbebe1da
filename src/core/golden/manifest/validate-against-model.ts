// Refuses a golden whose inputs and outputs are not the model's.

import type { GoldenManifest, TensorFile } from "../../../../generated/golden.ts";
import { ConfigError } from "../../errors.ts";
import { toDType } from "../../onnx/element-type.ts";
import { feeds, type OnnxDim, type OnnxModel, type OnnxValue } from "../../onnx/model.ts";
import { formatDims, quoteName } from "../../onnx/quote.ts";
import { formatShape } from "../tensor/tensor.ts";

type Side = "input" | "output";

/**
 * Checks what every case needs: names and dtypes on both sides, and ranks and fixed sizes of inputs. The verdict covers shapes of
 * outputs and outputs that only the model has.
 * @param sides inputs: the cases can be run, and the verdict reports outputs that do not fit.
 * @throws ConfigError golden-other-model.
 */
export function validateAgainstModel(
	manifest: GoldenManifest,
	model: OnnxModel,
	sides: "inputs" | "both" = "both",
): void {
	const problem =
		findInputMisfit(manifest, model) ?? (sides === "both" ? findOutputMisfit(manifest, model) : null);
	if (problem !== null) throw otherModel(manifest, problem);
}

/** What keeps the stored inputs from being run through the model; null: nothing. */
export function findInputMisfit({ cases }: GoldenManifest, model: OnnxModel): string | null {
	const values = feeds(model.graph);
	for (const golden of cases) {
		const where = `case ${quoteName(golden.id)}`;
		const problem = sideProblem("input", where, golden.inputs, values);
		if (problem !== null) return problem;
		const unfed = values.find((input) => !Object.hasOwn(golden.inputs, input.name));
		if (unfed) return `the model needs input ${quoteName(unfed.name)}, which ${where} does not have`;
	}
	return null;
}

function findOutputMisfit({ cases }: GoldenManifest, model: OnnxModel): string | null {
	const problems = cases.map(({ id, outputs }) =>
		sideProblem("output", `case ${quoteName(id)}`, outputs, model.graph.outputs),
	);
	return problems.find((problem) => problem !== null) ?? null;
}

function sideProblem(
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
		const problem = differenceOf(file, value, side);
		if (problem !== null) return `${side} ${quoteName(name)} of ${where} ${problem}`;
	}
	return null;
}

function differenceOf(file: TensorFile, value: OnnxValue, side: Side): string | null {
	if (value.kind !== "tensor") return `is a tensor; the model's is a ${value.kind}`;
	const known = value.dtype !== "undefined" && value.dtype !== "unknown";
	if (known && toDType(value.dtype) !== file.dtype)
		return `is ${file.dtype}; the model's is ${toDType(value.dtype) ?? value.dtype}`;
	// What a file declares of its outputs may be wrong, in rank too: the run decides.
	if (value.dims === null || side === "output") return null;
	const fits =
		value.dims.length === file.shape.length &&
		value.dims.every((dim, axis) => fitsDim(dim, file.shape[axis]));
	return fits ? null : `has shape ${formatShape(file.shape)}; the model's is ${formatDims(value.dims)}`;
}

function fitsDim(dim: OnnxDim, size: number | undefined): boolean {
	return typeof dim !== "number" || dim === size;
}

function otherModel(manifest: GoldenManifest, problem: string): ConfigError {
	return new ConfigError({
		code: "golden-other-model",
		message: `Golden ${manifest.goldenId} belongs to another model (${quoteName(manifest.model.path)}): ${problem}.`,
		fix: "Point `golden:` at this model's manifest, or record the golden again.",
	});
}

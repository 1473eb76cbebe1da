// Reuses the inputs of the existing golden, so that recording it again changes only its outputs.
import { join } from "node:path";
import type { GoldenCase, GoldenManifest, GoldenOutput } from "../../../generated/golden.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import type { Picture } from "../../core/golden/manifest/draft.ts";
import { findInputMisfit } from "../../core/golden/manifest/validate-against-model.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { shapeGivenFor } from "../../core/onnx/input-shapes/open-axes.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { counted } from "../../core/text/labels.ts";
import { readTensors } from "../../stages/load-goldens.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";
import type { FoundInputs } from "./inputs.ts";
import type { RecordOptions } from "./record-options.ts";
import type { StoredPorts } from "./stored.ts";

export function reusesInputs({ inputs, generators, cases }: RecordOptions): boolean {
	return inputs.length === 0 && generators.length === 0 && cases === undefined;
}

export function describeReuse({ goldenId, cases }: GoldenManifest): string {
	return `The ${counted(cases.length, "case")} of ${goldenId} ${cases.length === 1 ? "is" : "are"} recorded again with the stored inputs; --inputs, --generator or --cases use others.`;
}

function mapOutputs(
	outputs: GoldenManifest["outputs"],
	change: (output: GoldenOutput, name: string) => GoldenOutput,
): GoldenManifest["outputs"] {
	return Object.fromEntries(Object.entries(outputs).map(([name, output]) => [name, change(output, name)]));
}

/** Labels are read by accuracy alone: newly proposed limits keep it where the cases keep their labels. */
export function withAccuracy(outputs: GoldenManifest["outputs"], { outputs: before, cases }: GoldenManifest) {
	return mapOutputs(outputs, (output, name) => {
		const isLabelled = cases.some(({ labels }) => Object.hasOwn(labels ?? {}, name));
		const known = Object.hasOwn(before, name) ? (before[name]?.comparators ?? []) : [];
		const accuracy = known.filter(({ kind }) => kind === "accuracy");
		const [first, ...others] = [...(output.comparators ?? []), ...accuracy];
		return isLabelled && first !== undefined ? { ...output, comparators: [first, ...others] } : output;
	});
}

/** @throws ConfigError usage where the model has no such output. */
export function mustMatch(outputs: GoldenManifest["outputs"], names: readonly string[]) {
	const unknown = names.find((name) => !Object.hasOwn(outputs, name));
	if (unknown !== undefined) {
		const known = Object.keys(outputs).map((name) => quoteName(name));
		throw usageError(
			`--non-finite: there is no output ${quoteName(unknown)}.`,
			`The outputs are ${known.join(", ")}.`,
		);
	}
	return mapOutputs(outputs, (output, name) =>
		names.includes(name) ? { ...output, nonFinite: "must-match" } : output,
	);
}

interface ReuseRequest {
	old: GoldenManifest;
	folder: string;
	model: OnnxModel;
	given: RecordOptions["given"];
}

/** @throws ConfigError usage where the model or --dims asks for other inputs; golden-missing, tensor-invalid. */
export async function previousCases(
	{ old, folder, model, given }: ReuseRequest,
	ports: StoredPorts,
): Promise<FoundInputs> {
	const misfit = findInputMisfit(old, model);
	if (misfit !== null)
		throw usageError(
			`The inputs of ${old.goldenId} cannot be recorded again: ${misfit}.`,
			"Give real ones with --inputs, or have new ones made with --cases 8.",
		);
	const fix =
		"Leave --dims and --shape out to record the stored inputs again; or have new ones made with --cases 8.";
	for (const golden of old.cases) checkGiven(golden, model, { given, fix });
	const cases: CaseToRecord[] = [];
	for (const { id, tags, labels, inputs } of old.cases) {
		const tensors = await readTensors(inputs, folder, ports);
		cases.push({ id, tags, labels, inputs: tensors, pictures: await previousPictures(inputs, folder) });
	}
	const how =
		old.producer.inputs ?? Object.fromEntries(feeds(model.graph).map(({ name }) => [name, "given"]));
	return { cases, how, preprocess: old.producer.preprocess };
}

/** Inputs that were recorded from pictures stay pictures; undefined where there are none. */
async function previousPictures(files: GoldenCase["inputs"], folder: string) {
	const pictures: Record<string, Picture> = Object.create(null);
	for (const [name, { path, sha256, preprocess, tensorSha256 }] of Object.entries(files)) {
		if (preprocess === undefined || tensorSha256 === undefined) continue;
		const ending = /\.([^./]+)$/.exec(path)?.[1] ?? "png";
		const bytes = await readInput(join(folder, path), inputKinds.picture);
		pictures[name] = { bytes, sha256, ending, preprocess, tensorSha256 };
	}
	return Object.keys(pictures).length === 0 ? undefined : pictures;
}

/** @throws ConfigError usage where --dims or --shape asks for sizes other than those of the given inputs. */
export function checkGiven(
	{ id, inputs }: { id: string; inputs: Readonly<Record<string, { shape: readonly number[] }>> },
	model: OnnxModel,
	{ given, fix }: { given: RecordOptions["given"]; fix: string },
): void {
	for (const { name, dims } of feeds(model.graph)) {
		const stored = inputs[name]?.shape ?? [];
		const where = `the stored input ${quoteName(name)} of case ${quoteName(id)}`;
		for (const [axis, dim] of (dims ?? []).entries()) {
			if (typeof dim !== "string" || !Object.hasOwn(given.dims, dim) || given.dims[dim] === stored[axis])
				continue;
			const asked = `${quoteName(dim, "")}=${given.dims[dim]}`;
			throw usageError(`--dims asks for ${asked}, and ${where} has ${stored[axis] ?? "no such axis"}.`, fix);
		}
		const shape = shapeGivenFor(name, given.inputs);
		if (shape === undefined || shape.join() === stored.join()) continue;
		const asked = `${quoteName(name, "")}=${shape.join(",")}`;
		throw usageError(`--shape asks for ${asked}, and ${where} has ${stored.join(",")}.`, fix);
	}
}

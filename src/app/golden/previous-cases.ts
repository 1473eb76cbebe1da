// Reuses the inputs of the existing golden, so that recording it again changes only its outputs.
import { join } from "node:path";
import type { GoldenCase, GoldenManifest, GoldenOutput, TensorFile } from "../../../generated/golden.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import type { Picture } from "../../core/golden/manifest/draft.ts";
import { findInputMisfit } from "../../core/golden/manifest/validate-against-model.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { shapeGivenFor } from "../../core/onnx/input-shapes/open-axes.ts";
import { feeds, type OnnxDim, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { counted } from "../../core/text/labels.ts";
import { readTensors } from "../../stages/load-goldens.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";
import type { FoundInputs } from "./inputs.ts";
import type { RecordOptions } from "./record-options.ts";
import type { StoredPorts } from "./stored.ts";

interface ReuseRequest {
	old: GoldenManifest;
	/** Of the old manifest; absolute. */
	folder: string;
	model: OnnxModel;
	given: RecordOptions["given"];
}

/** The reviewed inputs are reused unless an option sets others. */
export function reusesInputs({ inputs, generators, cases }: RecordOptions): boolean {
	return inputs.length === 0 && generators.length === 0 && cases === undefined;
}

export function describeReuse({ goldenId, cases }: GoldenManifest): string {
	return `The ${counted(cases.length, "case")} of ${goldenId} ${cases.length === 1 ? "is" : "are"} recorded again with the stored inputs; --inputs, --generator or --cases use others.`;
}

/** Labels are read by accuracy alone: newly proposed limits keep it where the cases keep their labels. */
export function withAccuracy(
	outputs: GoldenManifest["outputs"],
	{ outputs: before, cases }: GoldenManifest,
): GoldenManifest["outputs"] {
	const entries = Object.entries(outputs).map(([name, output]): [string, GoldenOutput] => {
		const labelled = cases.some(({ labels }) => Object.hasOwn(labels ?? {}, name));
		const known = Object.hasOwn(before, name) ? (before[name]?.comparators ?? []) : [];
		const [first, ...others] = [
			...(output.comparators ?? []),
			...known.filter(({ kind }) => kind === "accuracy"),
		];
		return [name, labelled && first !== undefined ? { ...output, comparators: [first, ...others] } : output];
	});
	return Object.fromEntries(entries);
}

const otherwise = "Give real ones with --inputs, or have new ones made with --cases 8.";

/** @throws ConfigError usage where the model or --dims asks for other inputs; golden-missing, tensor-invalid. */
export async function previousCases(
	{ old, folder, model, given }: ReuseRequest,
	ports: StoredPorts,
): Promise<FoundInputs> {
	const misfit = findInputMisfit(old, model);
	if (misfit !== null)
		throw usageError(`The inputs of ${old.goldenId} cannot be recorded again: ${misfit}.`, otherwise);
	for (const golden of old.cases) checkGiven(golden, model, { given, fix: storedSizes });
	const boundary = Object.values(old.producer.inputs ?? {}).some((how) => how.includes("boundary"));
	const cases: CaseToRecord[] = [];
	for (const { id, tags, labels, inputs } of old.cases) {
		const pictures = await previousPictures(inputs, folder);
		cases.push({
			id,
			tags,
			labels,
			inputs: await readTensors(inputs, folder, ports),
			...(pictures === null ? {} : { pictures }),
			mayFail: boundary && tags?.includes("generated") === true,
		});
	}
	const how =
		old.producer.inputs ?? Object.fromEntries(feeds(model.graph).map(({ name }) => [name, "given"]));
	return { cases, how, preprocess: old.producer.preprocess };
}

const storedSizes =
	"Leave --dims and --shape out to record the stored inputs again; or have new ones made with --cases 8.";

interface SizedCase {
	id: string;
	inputs: Readonly<Record<string, { shape: readonly number[] }>>;
}

/** @throws ConfigError usage where --dims or --shape asks for sizes other than those of the given inputs. */
export function checkGiven(
	{ id, inputs }: SizedCase,
	model: OnnxModel,
	{ given, fix }: { given: RecordOptions["given"]; fix: string },
): void {
	for (const input of feeds(model.graph)) {
		const stored = inputs[input.name]?.shape ?? [];
		const where = `input ${quoteName(input.name)} of case ${quoteName(id)}`;
		const odd = (input.dims ?? []).findIndex(
			(dim, axis) => (sizeOf(dim, given.dims) ?? stored[axis]) !== stored[axis],
		);
		if (odd >= 0) {
			const [dim, has] = [String(input.dims?.[odd]), stored[odd] ?? "no such axis"];
			throw usageError(
				`--dims asks for ${quoteName(dim, "")}=${given.dims[dim]}, and the stored ${where} has ${has}.`,
				fix,
			);
		}
		const shape = shapeGivenFor(input.name, given.inputs);
		if (shape === undefined || shape.join() === stored.join()) continue;
		throw usageError(
			`--shape asks for ${quoteName(input.name, "")}=${shape.join(",")}, and the stored ${where} has ${stored.join(",")}.`,
			fix,
		);
	}
}

function sizeOf(dim: OnnxDim, dims: Readonly<Record<string, number>>): number | undefined {
	return typeof dim === "string" && Object.hasOwn(dims, dim) ? dims[dim] : undefined;
}

/** Inputs that were recorded from pictures stay pictures; null: none was. */
async function previousPictures(
	files: GoldenCase["inputs"],
	folder: string,
): Promise<Readonly<Record<string, Picture>> | null> {
	const pictures: Record<string, Picture> = Object.create(null);
	for (const [name, file] of Object.entries(files)) {
		const picture = await previousPicture(file, folder);
		if (picture !== null) pictures[name] = picture;
	}
	return Object.keys(pictures).length === 0 ? null : pictures;
}

async function previousPicture(
	{ path, sha256, preprocess, tensorSha256 }: TensorFile,
	folder: string,
): Promise<Picture | null> {
	if (preprocess === undefined || tensorSha256 === undefined) return null;
	const ending = /\.([^./]+)$/.exec(path)?.[1] ?? "png";
	return {
		bytes: await readInput(join(folder, path), inputKinds.picture),
		sha256,
		ending,
		preprocess,
		tensorSha256,
	};
}

/** @throws ConfigError usage where the model has no such output. */
export function mustMatch(
	outputs: GoldenManifest["outputs"],
	names: readonly string[],
): GoldenManifest["outputs"] {
	const unknown = names.find((name) => !Object.hasOwn(outputs, name));
	if (unknown !== undefined) {
		const known = Object.keys(outputs).map((name) => quoteName(name));
		throw usageError(
			`--non-finite: there is no output ${quoteName(unknown)}.`,
			`The outputs are ${known.join(", ")}.`,
		);
	}
	const entries = Object.entries(outputs).map(([name, output]): [string, GoldenOutput] => [
		name,
		names.includes(name) ? { ...output, nonFinite: "must-match" } : output,
	]);
	return Object.fromEntries(entries);
}

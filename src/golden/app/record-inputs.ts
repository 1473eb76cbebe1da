// Finds the inputs of the cases to record: stored, real or generated ones, and their sizes.
import { readdir, stat } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";
import type { GoldenCase, GoldenManifest } from "../../../generated/golden.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import {
	bindShapes,
	fillShapes,
	overConfig,
	refuseImpossible,
	type ShapeSource,
	shapeCheck,
} from "../../core/onnx/input-shapes/bind.ts";
import {
	labelAxes,
	lineToCopy,
	type OpenInputs,
	shapeGivenFor,
} from "../../core/onnx/input-shapes/open-axes.ts";
import {
	describeAttempts,
	describeChosen,
	missingSizes,
	type Sizes,
} from "../../core/onnx/input-shapes/search.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/text/escape.ts";
import { listNames } from "../../core/text/labels.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { trySizes } from "../../stages/try-sizes.ts";
import { findInputMisfit, type Picture } from "../core/manifest/draft.ts";
import { namedBatch } from "../core/probes/subject.ts";
import { tensorStatistics } from "../core/tensor/values.ts";
import type { RecordBudget } from "../stages/budget.ts";
import { readTensors } from "../stages/load-goldens.ts";
import type { CaseToRecord } from "../stages/record-runs.ts";
import type { GoldenPorts } from "./compose.ts";
import { isPicture, readPreprocessing } from "./input-files.ts";
import { type FoundInputs, generateCases, inputPorts, recipesOf } from "./inputs.ts";
import { defaultCases, type GivenSizes, type RecordOptions } from "./record-options.ts";
import { readCases } from "./stored-cases.ts";
import { noTimed, timedCases } from "./timed-cases.ts";

export interface RecordInputs extends FoundInputs {
	dims: Readonly<Record<string, number>>;
	sizes?: string;
	notes: string[];
}

interface Finding {
	options: RecordOptions;
	model: ModelOnDisk;
	reused: GoldenManifest | null;
	scratchFolder: string;
	budget: RecordBudget;
}

export async function findRecordInputs(finding: Finding, ports: GoldenPorts): Promise<RecordInputs> {
	const { options, model, reused } = finding;
	const { given } = options;
	if (reused !== null) {
		const found = await previousCases({ old: reused, folder: options.out, model: model.onnx, given }, ports);
		const { dims = {} } = reused.producer;
		const added = options.addsTimed
			? timedCases(finding, found.cases, new Map(Object.entries(dims)))
			: noTimed;
		return { ...found, cases: [...found.cases, ...added.cases], dims, notes: added.notes };
	}
	const isReal = options.inputs.length > 0;
	const configured = isReal ? options.configured : oneSample(model.onnx, options);
	const source = overConfig(model.onnx, configured, given);
	const bound = bindShapes(model.onnx, source);
	const areShown = isReal && (options.preprocess !== undefined || !(await leaveSizesOpen(options)));
	const chosen: { sizes: Sizes; text?: string; notes: string[] } = areShown
		? { sizes: new Map(), notes: [] }
		: await chooseSizes(finding, source, bound, ports);
	const found = isReal
		? await readReal(finding, bound, chosen.sizes)
		: generate(finding, source, bound, chosen.sizes);
	const named = bound.open.flatMap(({ name, isNamed }) =>
		isNamed && chosen.sizes.has(name) ? [[name, chosen.sizes.get(name) ?? 1]] : [],
	);
	const added = isReal && !options.addsTimed ? noTimed : timedCases(finding, found.cases, chosen.sizes);
	return {
		...found,
		cases: [...found.cases, ...added.cases],
		dims: { ...source.dims, ...Object.fromEntries(named) },
		sizes: chosen.text,
		notes: [...found.notes, ...chosen.notes, ...added.notes],
	};
}

/** @throws ConfigError usage if the model or --dims asks for other inputs; golden-missing, tensor-invalid. */
export async function previousCases(
	{ old, folder, model, given }: { old: GoldenManifest; folder: string; model: OnnxModel; given: GivenSizes },
	ports: Pick<GoldenPorts, "files" | "tensors">,
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
	const { inputs: how, preprocess } = old.producer;
	const cases: CaseToRecord[] = [];
	for (const { id, tags, labels, inputs } of old.cases)
		cases.push({
			...{ id, tags, labels },
			inputs: await readTensors(inputs, folder, ports),
			pictures: await previousPictures(inputs, folder),
		});
	const unknown = Object.fromEntries(feeds(model.graph).map(({ name }) => [name, "given"]));
	return { cases, how: how ?? unknown, preprocess };
}

/** Inputs that were recorded from pictures stay pictures; undefined if there are none. */
async function previousPictures(files: GoldenCase["inputs"], folder: string) {
	const pictures: Record<string, Picture> = Object.create(null);
	for (const [name, { path, sha256, preprocess, tensorSha256 }] of Object.entries(files)) {
		if (preprocess === undefined || tensorSha256 === undefined) continue;
		const bytes = await readInput(join(folder, path), inputKinds.picture);
		pictures[name] = { bytes, sha256, ending: extname(path).slice(1), preprocess, tensorSha256 };
	}
	return Object.keys(pictures).length === 0 ? undefined : pictures;
}

function checkGiven(
	{ id, inputs }: { id: string; inputs: Readonly<Record<string, { shape: readonly number[] }>> },
	model: OnnxModel,
	{ given, fix }: { given: GivenSizes; fix: string },
) {
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

/** A generated case is one sample, because eight would take eight times as long. */
function oneSample(model: OnnxModel, { configured, mayBeOne }: RecordOptions) {
	const labels = labelAxes(feeds(model.graph), configured.inputs);
	const inputs = feeds(model.graph).map(({ name }, index) => ({
		name,
		axes: labels[index]?.map((label) => (typeof label === "number" ? label : label.name)) ?? [],
	}));
	const rows = namedBatch(inputs);
	const dims = { ...configured.dims };
	for (const [name] of inputs.map(({ axes }) => axes))
		if (typeof name === "string" && mayBeOne.includes(name) && (name === rows || /batch/i.test(name)))
			dims[name] = 1;
	return { ...configured, dims };
}

function generating({ options, model }: Finding) {
	return { model: model.onnx, seed: options.seed, generators: options.generators };
}

function generate(finding: Finding, source: ShapeSource, bound: OpenInputs, sizes: Sizes) {
	const { onnx } = finding.model;
	const shapes = fillShapes(bound, sizes) ?? {};
	if (bound.open.length === 0) refuseImpossible(shapeCheck(onnx), shapes, source);
	const count = finding.options.cases ?? defaultCases;
	return { ...generateCases(inputPorts(onnx, shapes), count, generating(finding)), notes: [] };
}

async function readReal(finding: Finding, bound: OpenInputs, sizes: Sizes) {
	const { options, model } = finding;
	// A size is null if it is open; inputs of unknown rank are left out.
	const known: Record<string, (number | null)[]> = Object.create(null);
	for (const [index, { name }] of bound.inputs.entries()) {
		const axes = bound.labels[index]?.map((label) =>
			typeof label === "number" ? label : (sizes.get(label.name) ?? null),
		);
		if (axes !== undefined) known[name] = axes;
	}
	const inputs = inputPorts(model.onnx, known);
	const names = inputs.map(({ name }) => name);
	const { preprocess } = options;
	const found = await readCases(options.inputs, {
		cwd: options.cwd,
		modelFolder: dirname(options.model),
		preprocessing: preprocess === undefined ? undefined : await readPreprocessing(preprocess, names),
		recipes: recipesOf(inputs, generating(finding)),
	});
	checkShown(found.cases, finding);
	return { ...found, notes: [...found.notes, ...notFinite(found.cases)] };
}

function notFinite(cases: readonly CaseToRecord[]) {
	const found = cases.flatMap(({ id, inputs }) =>
		Object.entries(inputs).flatMap(([name, tensor]) => {
			const { nan, inf } = tensorStatistics(tensor);
			return nan + inf === 0 ? [] : [`${quoteName(name)} of case ${quoteName(id)}`];
		}),
	);
	return found.length === 0
		? []
		: [
				`Values are NaN or infinite in ${listNames(found, 3)}: leave these cases out, unless the model is made for them.`,
			];
}

function checkShown(cases: readonly CaseToRecord[], { options: { given }, model }: Finding) {
	const checked = new Set<string>();
	const check = shapeCheck(model.onnx);
	const fix = "Leave --dims and --shape out, or give inputs of this size.";
	for (const one of cases) {
		checkGiven(one, model.onnx, { given, fix });
		const inputs = Object.fromEntries(
			Object.entries(one.inputs).map(([name, { shape }]) => [name, { shape }]),
		);
		const key = JSON.stringify(inputs);
		if (checked.has(key)) continue;
		checked.add(key);
		const source = { dims: {}, inputs, shownBy: `case ${quoteName(one.id)}` };
		const shapes = fillShapes(bindShapes(model.onnx, source), new Map());
		if (shapes !== null) refuseImpossible(check, shapes, source);
	}
}

/** Pictures and raw bytes take their shape from the model. Looks one folder deep. */
async function leaveSizesOpen({ inputs, cwd }: RecordOptions) {
	const isOpen = (name: string) => isPicture(name) || /\.(raw|bin)$/i.test(name);
	const list = (path: string) => readdir(path).catch(() => []);
	for (const path of inputs.map((input) => resolve(cwd, input))) {
		const isFolder = (await stat(path).catch(() => null))?.isDirectory() === true;
		for (const name of isFolder ? await list(path) : [path])
			if (isOpen(name) || (isFolder && (await list(join(path, name))).some(isOpen))) return true;
	}
	return false;
}

const mostMs = 10_000;
const sizesShare = 0.25;

async function chooseSizes(finding: Finding, source: ShapeSource, bound: OpenInputs, ports: GoldenPorts) {
	const { model, scratchFolder, budget } = finding;
	const { onnx } = model;
	const limitMs = Math.min(mostMs, budget.evidence.part(sizesShare).leftMs());
	if (bound.labels.includes(null)) throw missingSizes(onnx, bound, source);
	if (bound.open.length === 0) return { sizes: new Map(), notes: [] };
	const feed = (shapes: Readonly<Record<string, readonly number[]>>) =>
		generateCases(inputPorts(onnx, shapes), 1, generating(finding)).cases[0]?.inputs ?? {};
	const tried = await trySizes({ model, bound, feed, limitMs, scratchFolder }, ports);
	if (tried.state === "none")
		throw missingSizes(onnx, bound, { ...source, tried: describeAttempts(bound, tried.attempts) });
	const text = describeChosen(onnx, bound, { ...tried, untried: tried.state === "ran" ? null : tried.why });
	const line = lineToCopy(bound, tried.sizes, "options");
	return { sizes: tried.sizes, text, notes: [`${text}. Give others with ${line}`] };
}

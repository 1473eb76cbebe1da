// Finds the inputs of the cases to record: stored, real or generated ones, and the sizes that were not given.
import { readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { looksLikePicture } from "../../core/golden/record/generators/defaults.ts";
import {
	type BoundShapes,
	bindShapes,
	fillShapes,
	overConfig,
	type ShapeSource,
	shapeCheck,
} from "../../core/onnx/input-shapes/bind.ts";
import { labelAxes } from "../../core/onnx/input-shapes/open-axes.ts";
import { missingSizes, refuseImpossible } from "../../core/onnx/input-shapes/resolve.ts";
import {
	describeAttempts,
	describeChosen,
	type Sizes,
	sameSizes,
} from "../../core/onnx/input-shapes/search.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";
import { trySizes } from "../../stages/try-sizes.ts";
import type { GoldenPorts } from "./compose.ts";
import { type FoundInputs, generateCases, inputPorts, recipesOf } from "./inputs.ts";
import { isPicture } from "./pictures.ts";
import { readPreprocessing } from "./preprocess-file.ts";
import { checkGiven, previousCases } from "./previous-cases.ts";
import { defaultCases, type GivenSizes, type RecordOptions } from "./record-options.ts";
import { readCases } from "./stored-cases.ts";

export interface RecordInputs extends FoundInputs {
	/** Sizes by name, for the manifest. */
	dims: Readonly<Record<string, number>>;
	/** How sizes that were not given were chosen. */
	sizes?: string;
	/** For the user. */
	notes: string[];
}

interface Finding {
	options: RecordOptions;
	model: ModelOnDisk;
	/** The golden whose inputs are recorded again. */
	reused: GoldenManifest | null;
	scratchFolder: string;
}

/** @throws ConfigError config-dims, usage and the errors of the files. */
export async function findRecordInputs(finding: Finding, ports: GoldenPorts): Promise<RecordInputs> {
	const { options, model, reused } = finding;
	if (reused !== null) {
		const found = await previousCases(
			{ old: reused, folder: options.out, model: model.onnx, given: options.given },
			ports,
		);
		return { ...found, dims: reused.producer.dims ?? {}, notes: [] };
	}
	const isReal = options.inputs.length > 0;
	const source = overConfig(
		model.onnx,
		isReal ? options.configured : oneSample(model.onnx, options),
		options.given,
	);
	const bound = bindShapes(model.onnx, source);
	return isReal ? readReal(finding, { source, bound }, ports) : generate(finding, { source, bound }, ports);
}

/** A generated case is one sample, as a file is, whatever the batch that engines are built for: eight take eight times as long. */
function oneSample(model: OnnxModel, { configured, mayBeOne = [] }: RecordOptions): GivenSizes {
	const inputs = feeds(model.graph);
	const ones = labelAxes(inputs, configured.inputs).flatMap((axes): [string, number][] => {
		const sizes =
			axes?.map((label) => (typeof label === "number" ? label : configured.dims[label.name])) ?? [];
		const [batch] = axes ?? [];
		if (typeof batch !== "object" || !mayBeOne.includes(batch.name)) return [];
		const isPicture = sizes.every((size) => size !== undefined) && looksLikePicture(sizes);
		return isPicture || /batch/i.test(batch.name) ? [[batch.name, 1]] : [];
	});
	return { ...configured, dims: { ...configured.dims, ...Object.fromEntries(ones) } };
}

interface Sources {
	source: ShapeSource;
	bound: BoundShapes;
}

async function generate(
	finding: Finding,
	{ source, bound }: Sources,
	ports: GoldenPorts,
): Promise<RecordInputs> {
	const { options, model } = finding;
	const chosen = await chooseSizes(finding, { source, bound }, ports);
	const shapes = fillShapes(bound, chosen.sizes) ?? {};
	if (bound.open.length === 0)
		refuseImpossible(model.onnx, { check: shapeCheck(model.onnx), shapes }, source);
	const found = generateCases(
		inputPorts(model.onnx, shapes),
		options.cases ?? defaultCases,
		generating(finding),
	);
	return { ...found, ...factsOf(source, bound, chosen) };
}

function generating({ options, model }: Finding) {
	return { model: model.onnx, seed: options.seed, generators: options.generators };
}

async function readReal(
	finding: Finding,
	{ source, bound }: Sources,
	ports: GoldenPorts,
): Promise<RecordInputs> {
	const { options, model } = finding;
	const isShown = options.preprocess !== undefined || !(await leaveSizesOpen(options));
	const chosen: Chosen = isShown
		? { sizes: new Map(), notes: [] }
		: await chooseSizes(finding, { source, bound }, ports);
	const inputs = inputPorts(model.onnx, sizesByInput(bound, chosen.sizes));
	const names = inputs.map(({ name }) => name);
	const preprocessing =
		options.preprocess === undefined ? undefined : await readPreprocessing(options.preprocess, names);
	const recipes = recipesOf(inputs, generating(finding));
	const from = {
		cwd: options.cwd,
		ports,
		modelFolder: dirname(options.model),
		preprocessing,
		recipes,
		seed: options.seed,
	};
	const found = await readCases(options.inputs, inputs, from);
	checkShown(found.cases, finding);
	return { ...found, ...factsOf(source, bound, chosen), notes: [...found.notes, ...chosen.notes] };
}

/** null where a size is open; inputs of unknown rank are left out. */
function sizesByInput({ inputs, labels }: BoundShapes, sizes: Sizes): Record<string, (number | null)[]> {
	const known: Record<string, (number | null)[]> = Object.create(null);
	for (const [index, { name }] of inputs.entries()) {
		const axes = labels[index]?.map((label) =>
			typeof label === "number" ? label : (sizes.get(label.name) ?? null),
		);
		if (axes !== undefined) known[name] = axes;
	}
	return known;
}

/** @throws ConfigError config-dims where real inputs contradict the options, the model, or each other. */
function checkShown(cases: readonly CaseToRecord[], { options, model }: Finding): void {
	const checked = new Set<string>();
	const check = shapeCheck(model.onnx);
	for (const one of cases) {
		checkGiven(one, model.onnx, {
			given: options.given,
			fix: "Leave --dims and --shape out, or give inputs of this size.",
		});
		const inputs = Object.fromEntries(
			Object.entries(one.inputs).map(([name, { shape }]) => [name, { shape }]),
		);
		const key = JSON.stringify(inputs);
		if (checked.has(key)) continue;
		checked.add(key);
		const source = { dims: {}, inputs, shownBy: `case ${quoteName(one.id)}` };
		const shapes = fillShapes(bindShapes(model.onnx, source), new Map());
		if (shapes !== null) refuseImpossible(model.onnx, { check, shapes }, source);
	}
}

/** Whether a file takes its shape from the model: pictures and raw bytes, at most one folder deep. */
async function leaveSizesOpen({ inputs, cwd }: RecordOptions): Promise<boolean> {
	const isOpen = (name: string): boolean => isPicture(name) || /\.(raw|bin)$/i.test(name);
	for (const path of inputs.map((input) => resolve(cwd, input))) {
		const folder = (await stat(path).catch(() => null))?.isDirectory() === true;
		const names = folder ? await readdir(path).catch(() => []) : [path];
		for (const name of names) {
			if (isOpen(name) || (folder && (await readdir(join(path, name)).catch(() => [])).some(isOpen)))
				return true;
		}
	}
	return false;
}

interface Chosen {
	sizes: Sizes;
	text?: string;
	notes: string[];
}

/** Trying sizes out takes at most this long. */
const limitMs = 10_000;

/** @throws ConfigError config-dims where no sizes run. */
async function chooseSizes(
	finding: Finding,
	{ source, bound }: Sources,
	ports: GoldenPorts,
): Promise<Chosen> {
	const { model, scratchFolder } = finding;
	if (bound.labels.includes(null)) throw missingSizes(model.onnx, bound, source);
	if (bound.open.length === 0) return { sizes: new Map(), notes: [] };
	const feed = (shapes: Readonly<Record<string, readonly number[]>>) =>
		generateCases(inputPorts(model.onnx, shapes), 1, generating(finding)).cases[0]?.inputs ?? {};
	const tried = await trySizes({ model, bound, feed, limitMs, scratchFolder }, ports);
	if (tried.state === "none")
		throw missingSizes(model.onnx, bound, { ...source, tried: describeAttempts(bound, tried.attempts) });
	const untried = tried.state === "ran" ? null : tried.why;
	const text = describeChosen(model.onnx, bound, { ...tried, untried });
	return { sizes: tried.sizes, text, notes: [`${text}. Give others with ${sameSizes(bound, tried.sizes)}`] };
}

function factsOf(
	{ dims }: ShapeSource,
	{ open }: BoundShapes,
	{ sizes, text, notes }: Chosen,
): Omit<RecordInputs, keyof FoundInputs> {
	const named = open.flatMap(({ name, isNamed }) =>
		isNamed && sizes.has(name) ? [[name, sizes.get(name) ?? 1] as const] : [],
	);
	return { dims: { ...dims, ...Object.fromEntries(named) }, sizes: text, notes };
}

// Reads the cases to record from files: one folder per case, or files with one or several cases.
import { readdir, stat } from "node:fs/promises";
import { basename, extname, join, relative, resolve } from "node:path";
import { usageError } from "../../core/errors.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { Tensor } from "../core/tensor/tensor.ts";
import type { CaseToRecord } from "../stages/record-reference.ts";
import {
	type CasePart,
	type FileKind,
	type FileReading,
	fileKind,
	pictureEndings,
	readPart,
} from "./input-files.ts";
import {
	dataInputs,
	describeInputs,
	type FoundInputs,
	fillInputs,
	type InputPort,
	type Recipes,
} from "./inputs.ts";
import { fileNamesOf, findTensor, mayHoldSeveral, plainName, readStored, storedEndings } from "./stored.ts";
import { readTextCases } from "./text-cases.ts";

export interface CaseSource extends Pick<FileReading, "modelFolder" | "preprocessing"> {
	cwd: string;
	recipes: Recipes;
	seed: number;
}

interface Reading extends CaseSource, FileReading {
	inputs: readonly InputPort[];
	how: Map<string, string>;
	cases: CaseToRecord[];
}

/** Each path is a file (with one or several cases), a folder of files, or a folder with one folder per case. */
export async function readCases(
	paths: readonly string[],
	inputs: readonly InputPort[],
	from: CaseSource,
): Promise<FoundInputs & { notes: string[] }> {
	const files = { tokenizers: new Map(), used: new Map(), notes: new Set<string>() };
	const reading: Reading = { ...from, ...files, inputs, how: new Map(), cases: [] };
	const { cases, how, notes, used } = reading;
	for (const path of paths) await readPath(resolve(from.cwd, path), reading);
	const seen = new Set<string>();
	for (const { id } of cases) {
		if (seen.has(id))
			throw usageError(`Two cases are called ${quoteName(id)}.`, "Rename one of the files or folders.");
		seen.add(id);
	}
	return {
		cases,
		how: describeInputs(inputs, from.recipes, how),
		notes: [...notes],
		preprocess: used.size === 0 ? undefined : Object.fromEntries(used),
	};
}

async function readPath(path: string, reading: Reading): Promise<void> {
	const facts = await stat(path).catch(() => null);
	if (facts === null) throw usageError(`--inputs: there is nothing at ${path}.`, "Check the path.");
	if (!facts.isDirectory()) return readFile(path, relative(reading.cwd, path), reading);
	const entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !name.startsWith("."));
	const [folders = [], files = []] = [true, false].map((isFolder) =>
		entries
			.filter((entry) => entry.isDirectory() === isFolder)
			.map(({ name }) => name)
			.sort((left, right) => left.localeCompare(right, "en", { numeric: true })),
	);
	for (const folder of folders) await readCase(join(path, folder), folder, reading);
	const shown = relative(reading.cwd, path) || ".";
	for (const file of filesToRead(files, reading))
		await readFile(join(path, file), `${shown}/*${extname(file)}`, reading);
	if (reading.cases.length > 0) return;
	const endings = [...storedEndings, ...pictureEndings, "txt"].map((ending) => `.${ending}`);
	throw usageError(
		`--inputs: ${path} contains no inputs.`,
		`Give files that end in ${endings.join(", ")}, or a folder of them for each case.`,
	);
}

const folderEndings: readonly string[] = storedEndings.filter((ending) => ending !== "json");

/** JSON in a folder is rarely Polygraphy's and must be named. So must text beside other files, unless --preprocess asks for text. */
function filesToRead(names: readonly string[], reading: Reading): readonly string[] {
	const texts = names.filter((name) => fileKind(name) === "text");
	const others = names.filter((name) => {
		const kind = fileKind(name);
		return kind === "tensor" ? folderEndings.includes(extname(name).slice(1).toLowerCase()) : kind !== "text";
	});
	const readsText = others.length === 0 || reading.preprocessing?.all?.kind === "text";
	return readsText ? [...others, ...texts] : others;
}

/** The only input whose values a file has to give; null if there are several. */
function targetOf({ inputs, recipes, preprocessing }: Reading): InputPort | null {
	const described = inputs.filter(({ name }) => preprocessing?.byInput.has(name));
	const found = [described, dataInputs(inputs, recipes), inputs].find((some) => some.length > 0) ?? [];
	return found.length === 1 ? (found[0] ?? null) : null;
}

const shownKinds: Readonly<Record<FileKind, string>> = { image: "pictures", text: "texts", tensor: "" };

async function readFile(path: string, pattern: string, reading: Reading): Promise<void> {
	const { inputs } = reading;
	const kind = fileKind(path);
	const id = basename(path, extname(path));
	const how = kind === "tensor" ? "given" : `given as ${shownKinds[kind]} (${pattern})`;
	if (kind === "text") {
		const lines = await readTextCases(path, inputs, reading);
		for (const [at, tensors] of lines.entries())
			addCase({ id: lines.length === 1 ? id : `${id}-${at + 1}`, path, how }, { tensors }, reading);
		return;
	}
	if (kind === "tensor" && mayHoldSeveral(path)) {
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const input of inputs) tensors[input.name] = await readStored(path, input);
		return addCase({ id, path, how }, { tensors }, reading);
	}
	const target = targetOf(reading);
	if (target === null)
		throw usageError(
			`--inputs: ${path} is one file, and the model has ${inputs.length} inputs.`,
			"Give a folder for each case, with one file for each input, named as the input is; or give the others by --generator.",
		);
	addCase({ id, path, how }, await readPart(path, target, reading), reading);
}

async function readCase(folder: string, id: string, reading: Reading): Promise<void> {
	const whole: CasePart = { tensors: Object.create(null), pictures: Object.create(null) };
	const names = reading.inputs.map(({ name }) => name);
	for (const [index, input] of reading.inputs.entries()) {
		const own = fileNamesOf(names, index, "in");
		// A picture next to a tensor is only for viewing.
		const path = (await findTensor(folder, own)) ?? (await findTensor(folder, own, pictureEndings));
		if (path === null && dataInputs([input], reading.recipes).length > 0)
			throw usageError(
				`--inputs: ${folder} has no file for input ${quoteName(input.name)}.`,
				`Call it ${plainName(input.name)}.npy.`,
			);
		if (path === null) continue;
		const part = await readPart(path, input, reading);
		Object.assign(whole.tensors, part.tensors);
		Object.assign(whole.pictures, part.pictures);
	}
	addCase({ id, path: folder, how: "given" }, whole, reading);
}

function addCase(
	{ id, path, how }: { id: string; path: string; how: string },
	{ tensors, pictures = {} }: Pick<CasePart, "tensors"> & Partial<CasePart>,
	reading: Reading,
): void {
	const { inputs, recipes, seed, cases } = reading;
	const filled = fillInputs(tensors, inputs, { recipes, seed, caseIndex: cases.length, from: path });
	for (const name of Object.keys(tensors)) if (!reading.how.has(name)) reading.how.set(name, how);
	const isPictured = Object.keys(pictures).length > 0;
	cases.push({ id, inputs: filled, pictures: isPictured ? pictures : undefined });
}

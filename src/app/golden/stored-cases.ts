// Reads the cases to record from files: a case a folder, a case a file (or several), or the test data sets beside an ONNX model.
import { readdir, stat } from "node:fs/promises";
import { basename, extname, join, relative, resolve } from "node:path";
import { usageError } from "../../core/errors.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { listTestDataSets, type TestDataSet } from "../../formats/tensor/test-data-sets.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";
import {
	byNumber,
	type CasePart,
	type FileKind,
	type FileReading,
	fileKind,
	findInput,
	pictureEndings,
	preprocessOf,
	readParts,
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

export interface CaseSource extends Pick<FileReading, "ports" | "modelFolder" | "preprocessing"> {
	cwd: string;
	recipes: Recipes;
	seed: number;
}

interface Reading extends CaseSource, FileReading {
	inputs: readonly InputPort[];
	how: Map<string, string>;
	cases: CaseToRecord[];
}

/** Each path is a file (a case, or several), a folder of files, or a folder of one folder for each case. */
export async function readCases(
	paths: readonly string[],
	inputs: readonly InputPort[],
	from: CaseSource,
): Promise<FoundInputs & { notes: string[] }> {
	const how = new Map<string, string>();
	const files = { tokenizers: new Map(), used: new Map(), notes: new Set<string>() };
	const reading: Reading = { ...from, ...files, inputs, how, cases: [] };
	for (const path of paths) await readPath(resolve(from.cwd, path), reading);
	const seen = new Set<string>();
	for (const { id } of reading.cases) {
		if (seen.has(id))
			throw usageError(`Two cases are called ${quoteName(id)}.`, "Rename one of the files or folders.");
		seen.add(id);
	}
	return {
		cases: reading.cases,
		how: describeInputs(inputs, from.recipes, how),
		notes: [...reading.notes],
		preprocess: reading.used.size === 0 ? undefined : Object.fromEntries(reading.used),
	};
}

async function readPath(path: string, reading: Reading): Promise<void> {
	const facts = await stat(path).catch(() => null);
	if (facts === null) throw usageError(`--inputs: there is nothing at ${path}.`, "Check the path.");
	if (!facts.isDirectory()) return readSingle(path, relative(reading.cwd, path), reading);
	const entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !name.startsWith("."));
	const namesOf = (directories: boolean): string[] =>
		entries
			.filter((entry) => entry.isDirectory() === directories)
			.map(({ name }) => name)
			.sort(byNumber);
	const folders = namesOf(true);
	const sets = folders.filter((folder) => /^test_data_set_\d+$/.test(folder));
	if (sets.length > 0) {
		for (const set of await listSets(path, sets)) await readDataSet(path, set, reading);
		return;
	}
	for (const folder of folders) await readCase(join(path, folder), folder, reading);
	if (folders.length === 0 && (await holdsAll(path, reading.inputs)))
		return readCase(path, basename(path), reading);
	for (const file of filesToRead(namesOf(false), reading)) {
		// Bytes may end in anything.
		const ending = kindOfSingle(file, reading) === "bytes" ? "" : extname(file);
		await readSingle(join(path, file), `${relative(reading.cwd, path) || "."}/*${ending}`, reading);
	}
	if (reading.cases.length > 0) return;
	throw usageError(
		`--inputs: ${path} contains no inputs.`,
		`Give files that end in ${[...storedEndings, ...pictureEndings, "wav", "txt"].map((ending) => `.${ending}`).join(", ")}, or a folder of them for each case.`,
	);
}

/** JSON files in a folder are rarely Polygraphy's, and text beside other files is rarely input: both must be named. */
function filesToRead(names: readonly string[], reading: Reading): readonly string[] {
	const texts = names.filter((name) => kindOfSingle(name, reading) === "text");
	const readable = names.filter((name) => {
		const kind = kindOfSingle(name, reading);
		if (kind === "text") return reading.preprocessing?.all?.kind === "text";
		const isStored = storedEndings.some((one) => one !== "json" && name.toLowerCase().endsWith(`.${one}`));
		return kind !== "tensor" || isStored;
	});
	return readable.length > 0 ? readable : texts;
}

function kindOfSingle(path: string, reading: Reading): FileKind {
	return fileKind(path, preprocessOf(targetOf(reading)?.name ?? null, reading));
}

/** The one input whose values a file has to give; null where there are several. */
function targetOf({ inputs, recipes, preprocessing }: Reading): InputPort | null {
	const wanted = dataInputs(inputs, recipes);
	const described = inputs.filter(({ name }) => preprocessing?.byInput.has(name));
	const found = described.length > 0 ? described : wanted.length > 0 ? wanted : inputs;
	return found.length === 1 ? (found[0] ?? null) : null;
}

async function holdsAll(folder: string, inputs: readonly InputPort[]): Promise<boolean> {
	const names = inputs.map(({ name }) => name);
	for (const index of inputs.keys())
		if ((await findTensor(folder, fileNamesOf(names, index, "in"))) === null) return false;
	return true;
}

async function readSingle(path: string, pattern: string, reading: Reading): Promise<void> {
	const { inputs } = reading;
	const kind = kindOfSingle(path, reading);
	const id = kind === "bytes" ? basename(path) : basename(path).replace(/\.[^.]+$/, "");
	if (kind === "tensor" && mayHoldSeveral(path)) {
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const input of inputs) tensors[input.name] = await readStored(path, input, reading.ports);
		return addCase({ id, path, how: "given" }, { tensors }, reading);
	}
	const target = targetOf(reading);
	if (target === null && kind !== "text")
		throw usageError(
			`--inputs: ${path} is one file, and the model has ${inputs.length} inputs.`,
			"Give a folder for each case, with one file for each input, named as the input is; or give the others by --generator.",
		);
	const parts =
		kind === "text" || target === null
			? await readTextCases(path, inputs, reading)
			: await readParts(path, target, reading);
	const words = shownKinds[kind];
	const how = words === null ? "given" : `given as ${words} (${pattern})`;
	for (const part of parts) addCase({ id: `${id}${part.suffix}`, path, how }, part, reading);
}

const shownKinds: Readonly<Record<FileKind, string | null>> = {
	image: "pictures",
	audio: "recordings",
	bytes: "files",
	text: "texts",
	tensor: null,
};

async function readCase(folder: string, id: string, reading: Reading): Promise<void> {
	const whole = { tensors: Object.create(null), pictures: Object.create(null) };
	const names = reading.inputs.map(({ name }) => name);
	for (const [index, input] of reading.inputs.entries()) {
		const path = await findInput(folder, fileNamesOf(names, index, "in"), reading);
		if (path === null && dataInputs([input], reading.recipes).length > 0)
			throw usageError(
				`--inputs: ${folder} has no file for input ${quoteName(input.name)}.`,
				`Call it ${plainName(input.name)}.npy.`,
			);
		if (path === null) continue;
		const [part, ...others] = await readParts(path, input, reading);
		if (others.length > 0)
			throw usageError(
				`${path} contains ${others.length + 1} cases, but is in the folder of a single case.`,
				'Remove "windows", or give the file alone.',
			);
		Object.assign(whole.tensors, part?.tensors);
		Object.assign(whole.pictures, part?.pictures);
	}
	addCase({ id, path: folder, how: "given" }, whole, reading);
}

function addCase(
	{ id, path, how }: { id: string; path: string; how: string },
	part: Pick<CasePart, "tensors"> & Partial<CasePart>,
	reading: Reading,
): void {
	const { inputs, recipes, seed, cases } = reading;
	const tensors = fillInputs(part.tensors, inputs, { recipes, seed, caseIndex: cases.length, from: path });
	for (const name of Object.keys(part.tensors)) if (!reading.how.has(name)) reading.how.set(name, how);
	const pictures = Object.keys(part.pictures ?? {}).length === 0 ? undefined : part.pictures;
	cases.push({ id, inputs: tensors, pictures });
}

/** Test data beside a model of ONNX's own tests: files are numbered as the graph's inputs are. */
async function listSets(path: string, folders: readonly string[]): Promise<TestDataSet[]> {
	const paths: string[] = [];
	for (const folder of folders)
		paths.push(...(await readdir(join(path, folder))).map((name) => `${folder}/${name}`));
	return listTestDataSets(paths);
}

async function readDataSet(path: string, set: TestDataSet, reading: Reading): Promise<void> {
	const { inputs } = reading;
	if (set.inputs.length !== inputs.length)
		throw usageError(
			`--inputs: ${set.id} has ${set.inputs.length} inputs, and the model ${inputs.length}.`,
			"Give the sets of this model.",
		);
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const [index, input] of inputs.entries())
		tensors[input.name] = await readStored(join(path, set.inputs[index] ?? ""), input, reading.ports);
	addCase({ id: set.id, path, how: "given" }, { tensors }, reading);
}

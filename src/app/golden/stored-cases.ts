// Reads the cases to record from files: a case a folder, a case a file (or several), or the test data sets beside an ONNX model.
import { readdir, stat } from "node:fs/promises";
import { basename, extname, join, relative, resolve } from "node:path";
import type { InputPreprocess } from "../../../generated/golden.ts";
import { usageError } from "../../core/errors.ts";
import type { Picture } from "../../core/golden/manifest/draft.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { listTestDataSets, type TestDataSet } from "../../formats/tensor/test-data-sets.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";
import { dataInputs, describeFilled, fillInputs, type Recipes } from "./fill-inputs.ts";
import { byNumber, fileNamesOf, findInput, findTensor, plainName } from "./find-files.ts";
import {
	type CasePart,
	type FileKind,
	type FileReading,
	fileKind,
	preprocessOf,
	readParts,
} from "./input-files.ts";
import type { FoundInputs, InputPort } from "./inputs.ts";
import { pictureEndings } from "./pictures.ts";
import type { Preprocessing } from "./preprocess-file.ts";
import { mayHoldSeveral, readStored, type StoredPorts, storedEndings } from "./stored.ts";
import { readTextCases } from "./text-cases.ts";

export interface CaseSource {
	cwd: string;
	ports: StoredPorts;
	modelFolder: string;
	/** How files become tensors; undefined: as their names and the inputs' shapes say. */
	preprocessing: Preprocessing | undefined;
	/** Of the inputs that no file gives. */
	recipes: Recipes;
	seed: number;
}

interface Reading extends CaseSource, FileReading {
	inputs: readonly InputPort[];
	/** How each input came about. */
	how: Map<string, string>;
	cases: CaseToRecord[];
}

/** Each path is a file (a case, or several), a folder of files, or a folder of one folder for each case. */
export async function readCases(
	paths: readonly string[],
	inputs: readonly InputPort[],
	from: CaseSource,
): Promise<FoundInputs & { notes: string[] }> {
	const reading: Reading = {
		...from,
		inputs,
		how: new Map(),
		cases: [],
		tokenizers: new Map(),
		used: new Map(),
		notes: new Set(),
	};
	for (const path of paths) await readPath(resolve(from.cwd, path), reading);
	const seen = new Set<string>();
	for (const { id } of reading.cases) {
		if (seen.has(id))
			throw usageError(`Two cases are called ${quoteName(id)}.`, "Rename one of the files or folders.");
		seen.add(id);
	}
	const found = {
		cases: reading.cases,
		how: describeFilled(inputs, from.recipes, reading.how),
		notes: [...reading.notes],
	};
	return reading.used.size === 0
		? found
		: { ...found, preprocess: Object.fromEntries<InputPreprocess>(reading.used) };
}

async function readPath(path: string, reading: Reading): Promise<void> {
	const { inputs } = reading;
	const facts = await stat(path).catch(() => null);
	if (facts === null) throw usageError(`--inputs: there is nothing at ${path}.`, "Check the path.");
	if (!facts.isDirectory()) return readSingle(path, relative(reading.cwd, path), reading);
	const entries = (await readdir(path, { withFileTypes: true })).filter(
		(entry) => !entry.name.startsWith("."),
	);
	const named = (directories: boolean): string[] =>
		entries
			.filter((entry) => entry.isDirectory() === directories)
			.map((entry) => entry.name)
			.sort(byNumber);
	const folders = named(true);
	const sets = folders.some((folder) => testDataSet.test(folder)) ? await dataSets(path, folders) : null;
	if (sets !== null) {
		for (const set of sets) await readDataSet(path, set, reading);
		return;
	}
	for (const folder of folders) await readCase(join(path, folder), folder, reading);
	if (folders.length === 0 && (await holdsAll(path, inputs))) return readCase(path, basename(path), reading);
	const files = filesToRead(named(false), reading);
	for (const file of files) await readSingle(join(path, file), patternOf(path, file, reading), reading);
	if (reading.cases.length > 0) return;
	throw usageError(
		`--inputs: ${path} contains no inputs.`,
		`Give files that end in ${[...storedEndings, ...pictureEndings, "wav", "txt"].map((ending) => `.${ending}`).join(", ")}, or a folder of them for each case.`,
	);
}

/** `pages/*.png`; of bytes, which may end in anything, `pages/*`. */
function patternOf(folder: string, file: string, reading: Reading): string {
	const ending = kindOfSingle(file, reading) === "bytes" ? "" : extname(file);
	return `${relative(reading.cwd, folder) || "."}/*${ending}`;
}

/** JSON files in a folder are rarely Polygraphy's, and text beside other files is rarely input: both must be named. */
function filesToRead(names: readonly string[], reading: Reading): readonly string[] {
	const kinds = names.map((name) => kindOfSingle(name, reading));
	const readable = names.filter((name, at) => {
		if (kinds[at] === "text") return reading.preprocessing?.all?.kind === "text";
		return (
			kinds[at] !== "tensor" ||
			storedEndings.some((ending) => ending !== "json" && name.toLowerCase().endsWith(`.${ending}`))
		);
	});
	return readable.length > 0 ? readable : names.filter((_, at) => kinds[at] === "text");
}

/** Of a file that gives a whole case. */
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
		return addCase({ id, path, part: { suffix: "", tensors, pictures: {} } }, reading, null);
	}
	const target = kind === "text" ? null : targetOf(reading);
	if (target === null && kind !== "text") {
		throw usageError(
			`--inputs: ${path} is one file, and the model has ${inputs.length} inputs.`,
			"Give a folder for each case, with one file for each input, named as the input is; or give the others by --generator.",
		);
	}
	const parts =
		target === null ? await readTextCases(path, inputs, reading) : await readParts(path, target, reading);
	for (const part of parts) addCase({ id, path, part }, reading, { kind, pattern });
}

async function readCase(folder: string, id: string, reading: Reading): Promise<void> {
	const tensors: Record<string, Tensor> = Object.create(null);
	const pictures: Record<string, Picture> = Object.create(null);
	const names = reading.inputs.map(({ name }) => name);
	for (const [index, input] of reading.inputs.entries()) {
		const path = await findInput(folder, fileNamesOf(names, index, "in"), reading);
		if (path !== null) await readPart(path, input, { tensors, pictures, reading });
		else if (dataInputs([input], reading.recipes).length > 0)
			throw usageError(
				`--inputs: ${folder} has no file for input ${quoteName(input.name)}.`,
				`Call it ${plainName(input.name)}.npy.`,
			);
	}
	addCase({ id, path: folder, part: { suffix: "", tensors, pictures } }, reading, null);
}

interface Gathering {
	tensors: Record<string, Tensor>;
	pictures: Record<string, Picture>;
	reading: Reading;
}

async function readPart(
	path: string,
	input: InputPort,
	{ tensors, pictures, reading }: Gathering,
): Promise<void> {
	const [part, ...others] = await readParts(path, input, reading);
	if (others.length > 0)
		throw usageError(
			`${path} contains ${others.length + 1} cases, but is in the folder of a single case.`,
			'Remove "windows", or give the file alone.',
		);
	Object.assign(tensors, part?.tensors);
	Object.assign(pictures, part?.pictures);
}

const shownKinds: Readonly<Record<FileKind, string | null>> = {
	image: "pictures",
	audio: "recordings",
	bytes: "files",
	text: "texts",
	tensor: null,
};

/** The part of a case that files give, with the inputs that none does. */
function addCase(
	{ id, path, part }: { id: string; path: string; part: CasePart },
	reading: Reading,
	from: { kind: FileKind; pattern: string } | null,
): void {
	const { inputs, recipes, seed, cases, how } = reading;
	const tensors = fillInputs(part.tensors, { inputs, recipes, seed, caseIndex: cases.length, path });
	const words = from === null ? null : shownKinds[from.kind];
	for (const name of Object.keys(part.tensors))
		if (!how.has(name)) how.set(name, words === null ? "given" : `given as ${words} (${from?.pattern})`);
	const pictures = Object.keys(part.pictures).length === 0 ? {} : { pictures: part.pictures };
	cases.push({ id: `${id}${part.suffix}`, inputs: tensors, ...pictures, mayFail: false });
}

const testDataSet = /^test_data_set_\d+$/;

/** Those that lie beside a model of ONNX's own tests: files by the place of their input in the graph. */
async function dataSets(path: string, folders: readonly string[]): Promise<TestDataSet[]> {
	const paths: string[] = [];
	for (const folder of folders) {
		if (testDataSet.test(folder))
			paths.push(...(await readdir(join(path, folder))).map((name) => `${folder}/${name}`));
	}
	return listTestDataSets(paths);
}

/** As many inputs as the set has; the graph's others would be missing. */
async function readDataSet(path: string, set: TestDataSet, reading: Reading): Promise<void> {
	const { inputs } = reading;
	if (set.inputs.length !== inputs.length) {
		throw usageError(
			`--inputs: ${set.id} has ${set.inputs.length} inputs, and the model ${inputs.length}.`,
			"Give the sets of this model.",
		);
	}
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const [index, input] of inputs.entries())
		tensors[input.name] = await readStored(join(path, set.inputs[index] ?? ""), input, reading.ports);
	addCase({ id: set.id, path, part: { suffix: "", tensors, pictures: {} } }, reading, null);
}

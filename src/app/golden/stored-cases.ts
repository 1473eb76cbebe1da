// Reads the inputs of the cases to record from files: a case a folder, a case a file, or the test data sets beside an ONNX model.
import { readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { folderName } from "../../core/config/identity.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Picture } from "../../core/golden/manifest/draft.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { Preprocess } from "../../core/schema/golden.ts";
import { listTestDataSets, type TestDataSet } from "../../formats/tensor/test-data-sets.ts";
import type { CaseToRecord } from "../../stages/record-reference.ts";
import type { FoundInputs, InputPort } from "./inputs.ts";
import { isPicture, pictureEndings, readPicture } from "./pictures.ts";
import { mayHoldSeveral, readStored, type StoredPorts, storedEndings } from "./stored.ts";

/** Each path is a file (one case of a model with one input), a folder of files, or a folder of one folder for each case. */
export async function readCases(
	paths: readonly string[],
	inputs: readonly InputPort[],
	from: { cwd: string } & Reading,
): Promise<FoundInputs> {
	const cases: CaseToRecord[] = [];
	for (const path of paths) cases.push(...(await readPath(resolve(from.cwd, path), inputs, from)));
	const seen = new Set<string>();
	for (const { id } of cases) {
		if (seen.has(id)) throw usage(`Two cases are called ${quoteName(id)}.`, "Rename one of the files or folders.");
		seen.add(id);
	}
	return { cases, how: Object.fromEntries(inputs.map(({ name }) => [name, "given"])) };
}

interface Reading {
	ports: StoredPorts;
	/** How pictures become tensors; absent: from the input's shape. */
	preprocess?: Preprocess | undefined;
}

async function readPath(path: string, inputs: readonly InputPort[], from: Reading): Promise<CaseToRecord[]> {
	const facts = await stat(path).catch(() => null);
	if (facts === null) throw usage(`--inputs: there is nothing at ${path}.`, "Check the path.");
	if (!facts.isDirectory()) return [await readSingle(path, inputs, from)];
	const entries = (await readdir(path, { withFileTypes: true })).filter((entry) => !entry.name.startsWith("."));
	const folders = entries
		.filter((entry) => entry.isDirectory())
		.map((entry) => entry.name)
		.sort(byNumber);
	const sets = folders.some((folder) => testDataSet.test(folder)) ? await dataSets(path, folders) : null;
	if (sets !== null) return Promise.all(sets.map((set) => readDataSet(path, set, { inputs, ...from })));
	const cases: CaseToRecord[] = [];
	for (const folder of folders) cases.push(await readCase(join(path, folder), folder, { inputs, ...from }));
	const files = entries
		.filter((entry) => !entry.isDirectory() && isTensor(entry.name))
		.map((entry) => entry.name)
		.sort(byNumber);
	if (folders.length === 0 && (await holdsAll(path, inputs))) return [await readCase(path, basename(path), { inputs, ...from })];
	for (const file of files) cases.push(await readSingle(join(path, file), inputs, from));
	if (cases.length > 0) return cases;
	throw usage(
		`--inputs: ${path} contains no tensors.`,
		`Give files that end in ${[...storedEndings, ...pictureEndings].map((ending) => `.${ending}`).join(", ")}, or a folder of them for each case.`,
	);
}

/** `case-2` before `case-10`. */
function byNumber(left: string, right: string): number {
	return left.localeCompare(right, "en", { numeric: true });
}

/** JSON files in a folder are rarely Polygraphy's, so they must be named explicitly. */
function isTensor(name: string): boolean {
	return isPicture(name) || storedEndings.some((ending) => ending !== "json" && name.toLowerCase().endsWith(`.${ending}`));
}

async function holdsAll(folder: string, inputs: readonly InputPort[]): Promise<boolean> {
	const names = inputs.map(({ name }) => name);
	for (const index of inputs.keys()) if ((await findInput(folder, fileNamesOf(names, index, "in"))) === null) return false;
	return true;
}

async function readSingle(path: string, inputs: readonly InputPort[], from: Reading): Promise<CaseToRecord> {
	const id = basename(path).replace(/\.[^.]+$/, "");
	if (mayHoldSeveral(path)) {
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const input of inputs) tensors[input.name] = await readStored(path, input, from.ports);
		return { id, inputs: tensors, mayFail: false };
	}
	const [input, ...others] = inputs;
	if (input === undefined || others.length > 0) {
		throw usage(
			`--inputs: ${path} is one file, and the model has ${inputs.length} inputs.`,
			"Give a folder for each case, with one file for each input, named as the input is.",
		);
	}
	return caseOf(id, [[input, path]], from);
}

async function readCase(folder: string, id: string, from: { inputs: readonly InputPort[] } & Reading): Promise<CaseToRecord> {
	const found: [InputPort, string][] = [];
	const names = from.inputs.map(({ name }) => name);
	for (const [index, input] of from.inputs.entries()) {
		const path = await findInput(folder, fileNamesOf(names, index, "in"));
		if (path === null)
			throw usage(`--inputs: ${folder} has no file for input ${quoteName(input.name)}.`, `Call it ${plainName(input.name)}.npy.`);
		found.push([input, path]);
	}
	return caseOf(id, found, from);
}

async function caseOf(id: string, files: readonly (readonly [InputPort, string])[], { ports, preprocess }: Reading): Promise<CaseToRecord> {
	const tensors: Record<string, Tensor> = Object.create(null);
	const pictures: Record<string, Picture> = Object.create(null);
	for (const [input, path] of files) {
		if (isPicture(path)) {
			const { tensor, picture } = await readPicture(path, input, preprocess);
			tensors[input.name] = tensor;
			pictures[input.name] = picture;
		} else tensors[input.name] = await readStored(path, input, ports);
	}
	return { id, inputs: tensors, ...(Object.keys(pictures).length === 0 ? {} : { pictures }), mayFail: false };
}

const testDataSet = /^test_data_set_\d+$/;

/** Those that lie beside a model of ONNX's own tests: files by the place of their input in the graph. */
async function dataSets(path: string, folders: readonly string[]): Promise<TestDataSet[]> {
	const paths: string[] = [];
	for (const folder of folders) {
		if (testDataSet.test(folder)) paths.push(...(await readdir(join(path, folder))).map((name) => `${folder}/${name}`));
	}
	return listTestDataSets(paths);
}

/** As many inputs as the set has; the graph's others would be missing. */
function readDataSet(path: string, set: TestDataSet, from: { inputs: readonly InputPort[] } & Reading): Promise<CaseToRecord> {
	if (set.inputs.length !== from.inputs.length) {
		throw usage(
			`--inputs: ${set.id} has ${set.inputs.length} inputs, and the model ${from.inputs.length}.`,
			"Give the sets of this model.",
		);
	}
	const files = from.inputs.map((input, index) => [input, join(path, set.inputs[index] ?? "")] as const);
	return caseOf(set.id, files, from);
}

/** Tensors first: a picture next to a tensor is only for viewing. */
async function findInput(folder: string, names: readonly string[]): Promise<string | null> {
	return (await findTensor(folder, names)) ?? findTensor(folder, names, pictureEndings);
}

/** The names that a tensor's file may have: its own, those of `golden record` and of ONNX's test data, and its own with `_` for what file names lack. */
export function fileNamesOf(names: readonly string[], index: number, kind: "in" | "out"): string[] {
	const name = names[index] ?? "";
	const plain = plainName(name);
	const isShared = names.some((other) => other !== name && plainName(other) === plain);
	const ordinal = kind === "in" ? `input_${index}` : `output_${index}`;
	return [name, `${kind}-${folderName(name)}`, ordinal, ...(isShared ? [] : [plain])];
}

/** As trtexec names files after tensors. */
export function plainName(name: string): string {
	return name.replace(/[^A-Za-z0-9._,-]/g, "_");
}

/** The first of the names that a file in the folder has, with any ending; names that lead elsewhere are none. */
export async function findTensor(
	folder: string,
	names: readonly string[],
	endings: readonly string[] = storedEndings,
): Promise<string | null> {
	for (const name of [...names, ...names.slice(0, 1).map(folderName)]) {
		if (/[\\/\0]/.test(name) || name.startsWith(".")) continue;
		for (const ending of endings) {
			const path = join(folder, `${name}.${ending}`);
			if ((await stat(path).catch(() => null))?.isFile() === true) return path;
		}
	}
	return null;
}

function usage(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, details: { fix } });
}

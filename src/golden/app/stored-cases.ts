// Reads the cases to record from files: tensors, pictures, and text with a case per line.
import { isUtf8 } from "node:buffer";
import { readdir, stat } from "node:fs/promises";
import { basename, extname, join, relative, resolve } from "node:path";
import type { InputPreprocess, TextPreprocess } from "../../../generated/golden.ts";
import { readTokenizer, type TextTokenizer } from "../../adapters/files/tokenizer.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/text/escape.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import { encodeTensor } from "../core/record/generators/encode.ts";
import { fitTokens, type TokenRow } from "../core/record/tokens.ts";
import { isFloating, type Tensor } from "../core/tensor/tensor.ts";
import type { CaseToRecord } from "../stages/record-runs.ts";
import {
	type CasePart,
	type FileKind,
	fileKind,
	fileNamesOf,
	findTensor,
	lineOf,
	mayHoldSeveral,
	type Preprocessing,
	pictureEndings,
	plainName,
	preprocessOf,
	readPart,
	readStored,
	storedEndings,
} from "./input-files.ts";
import {
	dataInputs,
	describeInputs,
	type FoundInputs,
	fillInputs,
	type InputPort,
	type Recipes,
} from "./inputs.ts";

interface CaseSource {
	cwd: string;
	modelFolder: string;
	preprocessing: Preprocessing | undefined;
	recipes: Recipes;
}

interface Reading extends CaseSource {
	tokenizers: Map<string, TextTokenizer>;
	used: Map<string, InputPreprocess>;
	notes: Set<string>;
	how: Map<string, string>;
	cases: CaseToRecord[];
}

export async function readCases(
	paths: readonly string[],
	from: CaseSource,
): Promise<FoundInputs & { notes: string[] }> {
	const found = { tokenizers: new Map(), used: new Map(), notes: new Set<string>(), how: new Map() };
	const reading: Reading = { ...from, ...found, cases: [] };
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
		how: describeInputs(from.recipes, how),
		notes: [...notes],
		preprocess: used.size === 0 ? undefined : Object.fromEntries(used),
	};
}

async function readPath(path: string, reading: Reading) {
	const facts = await stat(path).catch(() => null);
	if (facts === null) throw usageError(`--inputs: there is nothing at ${path}.`, "Check the path.");
	if (!facts.isDirectory()) return readFile(path, relative(reading.cwd, path), reading);
	const names = (await readdir(path)).filter((name) => !name.startsWith("."));
	names.sort((left, right) => left.localeCompare(right, "en", { numeric: true }));
	const found = await Promise.all(names.map((name) => stat(join(path, name)).catch(() => null)));
	const folders = names.filter((_, at) => found[at]?.isDirectory() === true);
	const files = names.filter((name) => !folders.includes(name));
	if (folders.length === 0 && isTestData(files, reading.recipes.inputs.length))
		return readCase(path, basename(path), reading);
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

/** ONNX's test_data_set_N: outputs beside no more inputs than the model has. */
function isTestData(files: readonly string[], inputs: number) {
	const places = files.map((file) => /^(?:output|input(?=_(\d+)))_\d+\.\w+$/.exec(file));
	return files.length > 0 && places.every((place) => place !== null && Number(place[1] ?? 0) < inputs);
}

const folderEndings: readonly string[] = storedEndings.filter((ending) => ending !== "json");

/** JSON in a folder is rarely Polygraphy's and must be named. So must text beside other files, unless --preprocess asks for it. */
function filesToRead(names: readonly string[], reading: Reading) {
	const texts = names.filter((name) => fileKind(name) === "text");
	const others = names.filter((name) => {
		const kind = fileKind(name);
		return kind === "tensor" ? folderEndings.includes(extname(name).slice(1).toLowerCase()) : kind !== "text";
	});
	const readsText = others.length === 0 || reading.preprocessing?.all?.kind === "text";
	return readsText ? [...others, ...texts] : others;
}

function targetOf({ recipes, preprocessing }: Reading) {
	const { inputs } = recipes;
	const described = inputs.filter(({ name }) => preprocessing?.byInput.has(name));
	const found = [described, dataInputs(recipes), inputs].find((some) => some.length > 0) ?? [];
	return found.length === 1 ? (found[0] ?? null) : null;
}

const shownKinds: Readonly<Record<FileKind, string>> = { image: "pictures", text: "texts", tensor: "" };

async function readFile(path: string, pattern: string, reading: Reading) {
	const { inputs } = reading.recipes;
	const kind = fileKind(path);
	const id = basename(path, extname(path));
	const how = kind === "tensor" ? "given" : `given as ${shownKinds[kind]} (${pattern})`;
	if (kind === "text") {
		const lines = await readTextCases(path, reading);
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
			"Give a folder for each case with a file for each input, or the other inputs by --generator.",
		);
	addCase({ id, path, how }, await readPart(path, target, reading.preprocessing), reading);
}

async function readCase(folder: string, id: string, reading: Reading) {
	const whole = { tensors: Object.create(null), pictures: Object.create(null) };
	const { inputs } = reading.recipes;
	const names = inputs.map(({ name }) => name);
	for (const [index, input] of inputs.entries()) {
		const own = fileNamesOf(names, index, "in");
		// A picture next to a tensor is only for viewing.
		const path = (await findTensor([folder], own)) ?? (await findTensor([folder], own, pictureEndings));
		if (path === null && dataInputs(reading.recipes).includes(input))
			throw usageError(
				`--inputs: ${folder} has no file for input ${quoteName(input.name)}.`,
				`Call it ${plainName(input.name)}.npy.`,
			);
		if (path === null) continue;
		const part = await readPart(path, input, reading.preprocessing);
		Object.assign(whole.tensors, part.tensors);
		Object.assign(whole.pictures, part.pictures);
	}
	addCase({ id, path: folder, how: "given" }, whole, reading);
}

function addCase(
	{ id, path, how }: { id: string; path: string; how: string },
	{ tensors, pictures = {} }: CasePart,
	{ recipes, cases, how: described }: Reading,
) {
	for (const { name, dtype } of recipes.inputs) {
		const own = tensors[name]?.dtype ?? dtype;
		const text = `--inputs: ${path} gives ${own} for input ${quoteName(name)}, and the model takes ${dtype}.`;
		if (own !== dtype) throw usageError(text, `Save it as ${dtype}, as by NumPy's astype.`);
	}
	const filled = fillInputs(tensors, recipes, { caseIndex: cases.length, from: path });
	for (const name of Object.keys(tensors)) if (!described.has(name)) described.set(name, how);
	cases.push({
		id,
		inputs: filled,
		pictures: Object.keys(pictures).length > 0 ? pictures : undefined,
	});
}

const rowsByName: readonly (readonly [RegExp, keyof TokenRow | "positions"])[] = [
	[/mask/i, "mask"],
	[/(token_?)?type|segment/i, "types"],
	[/position/i, "positions"],
	[/ids?$|tokens?$|^(input|text|src|source)s?$|inputs$/i, "ids"],
];

/** The integer inputs that a tokenizer fills; generators fill those with other names. */
function rowsOf(inputs: readonly InputPort[]) {
	const whole = inputs.filter(({ dtype }) => !isFloating(dtype));
	return new Map(
		whole.flatMap((input) => {
			const row = whole.length === 1 ? "ids" : rowsByName.find(([pattern]) => pattern.test(input.name))?.[1];
			return row === undefined ? [] : [[input, row]];
		}),
	);
}

async function readTextCases(path: string, reading: Reading) {
	const rows = rowsOf(reading.recipes.inputs);
	const ids = [...rows].find(([, row]) => row === "ids")?.[0];
	if (ids === undefined)
		throw usageError(
			`--inputs: ${path} is text, and no input of the model is named like token ids.`,
			"Give tensors (.npy), in a folder for each case.",
		);
	const preprocess = preprocessOf(ids.name, reading.preprocessing);
	if (preprocess !== undefined && preprocess.kind !== "text")
		throw usageError(
			`--preprocess does not describe text, and ${path} is text.`,
			'Write { "kind": "text", "tokenizer": "tokenizer.json" }.',
		);
	const lines = linesOf(await readInput(path, inputKinds.text), path);
	const from = await findTokenizer(preprocess, reading);
	const tokenizer = reading.tokenizers.get(from) ?? (await readTokenizer(from));
	reading.tokenizers.set(from, tokenizer);
	const length = preprocess?.length ?? lineOf(ids, path).length;
	const padding = { ...tokenizer.padding, id: preprocess?.padding ?? tokenizer.padding.id };
	const shown = relative(reading.modelFolder, from).split("\\").join("/");
	reading.used.set(ids.name, {
		kind: "text",
		tokenizer: shown.startsWith("..") ? (preprocess?.tokenizer ?? shown) : shown,
		sha256: tokenizer.sha256,
		length: length ?? undefined,
		padding: padding.id,
	});
	return lines.map((line) => {
		const tokens = fitTokens(tokenizer.encode(line), length, padding);
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const [input, row] of rows) {
			const values = row === "positions" ? tokens.ids.map((_, at) => at) : tokens[row];
			const shape = lineOf(input, path).shapeOf(values.length);
			tensors[input.name] = encodeTensor(input.dtype, shape, (at) => values[at] ?? 0);
		}
		return tensors;
	});
}

/** A tokenizer's patterns may take time quadratic in a line's length, or worse. */
const maxLineChars = 20_000;
const maxLines = 10_000;

function linesOf(bytes: Uint8Array, path: string) {
	const all = new TextDecoder().decode(bytes).split(/\r?\n/);
	if (!isUtf8(bytes)) {
		const line = all.findIndex((one) => one.includes("\ufffd")) + 1;
		throw tensorInvalid({ path }, "text in UTF-8", `other bytes in line ${line}`, "Save it as UTF-8.");
	}
	const long = all.findIndex((line) => line.length > maxLineChars && line.trim() !== "");
	if (long >= 0)
		throw tensorInvalid(
			{ path },
			`at most ${maxLineChars} characters in a line`,
			`${all[long]?.length} in line ${long + 1}`,
			"Each line is a case: break it up.",
		);
	const lines = all.filter((line) => line.trim() !== "");
	if (lines.length > 0 && lines.length <= maxLines) return lines;
	const expected = `1 to ${maxLines} lines that are not empty`;
	throw tensorInvalid({ path }, expected, `${lines.length}`, "Write one case a line.");
}

async function findTokenizer(
	preprocess: TextPreprocess | undefined,
	{ preprocessing, modelFolder, notes }: Reading,
) {
	if (preprocess?.tokenizer !== undefined) return resolve(preprocessing?.folder ?? "", preprocess.tokenizer);
	const beside = join(modelFolder, "tokenizer.json");
	if ((await stat(beside).catch(() => null))?.isFile() !== true)
		throw usageError(
			`There is no tokenizer for text among --inputs: ${quoteName(beside, "")} does not exist.`,
			'Name one with --preprocess FILE.json: { "kind": "text", "tokenizer": "tokenizer.json", "length": 128 }.',
		);
	notes.add("Text goes through the tokenizer.json beside the model.");
	return beside;
}

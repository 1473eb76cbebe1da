// Finds the inputs of the cases to record: stored ones by folder and file, or generated ones.
import { readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { folderName } from "../../core/config/identity.ts";
import { ConfigError } from "../../core/errors.ts";
import { canEncode } from "../../core/golden/generators/encode.ts";
import { defaultGenerator, type GeneratedInput, generateInput } from "../../core/golden/generators/generate.ts";
import { formatGenerator, type GeneratorSpec, parseGenerator } from "../../core/golden/generators/spec.ts";
import { vocabularyOf } from "../../core/golden/generators/vocabulary.ts";
import type { Tensor } from "../../core/golden/tensor.ts";
import { toDType } from "../../core/onnx/dtype.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { DType } from "../../core/schema/golden.ts";
import type { CaseToRecord } from "../../stages/record.ts";
import { mayHoldSeveral, readStored, type StoredPorts, storedEndings } from "./stored.ts";

export interface InputPort {
	name: string;
	dtype: DType;
	/** null where a size is not known. */
	shape: readonly number[] | null;
}

export interface FoundInputs {
	cases: CaseToRecord[];
	/** How each input was made, for the manifest. */
	how: Record<string, string>;
}

/** @throws ConfigError usage where an input's type cannot be held by a tensor file. */
export function inputPorts(model: OnnxModel, shapes: Readonly<Record<string, readonly number[]>> | null): InputPort[] {
	return feeds(model.graph).map((feed) => {
		const dtype = feed.kind === "tensor" ? toDType(feed.dtype) : null;
		if (dtype === null) {
			throw usage(
				`Input ${quoteName(feed.name)} is ${feed.kind === "tensor" ? feed.dtype : `a ${feed.kind}`}, which no golden can hold.`,
				"Export the model with tensors of plain numbers.",
			);
		}
		return { name: feed.name, dtype, shape: shapes?.[feed.name] ?? null };
	});
}

export interface Generating {
	model: OnnxModel;
	cases: number;
	seed: number;
	generators: readonly string[];
}

export function generateCases(ports: readonly InputPort[], { model, cases, seed, generators }: Generating): FoundInputs {
	const specs = parseGenerators(generators, ports);
	const inputs: GeneratedInput[] = ports.map((port) => {
		const shape = port.shape ?? [];
		if (!canEncode(port.dtype))
			throw usage(`No values are made for input ${quoteName(port.name)}, which is ${port.dtype}.`, "Give real ones with --inputs.");
		const vocabulary = vocabularyOf(model, port.name);
		const own = specs.get(port.name) ?? defaultGenerator({ ...port, shape }, vocabulary);
		return { name: port.name, dtype: port.dtype, shape, specs: own.map((spec) => withVocabulary(spec, port, vocabulary)) };
	});
	const made = Array.from({ length: cases }, (_, caseIndex): CaseToRecord => {
		const drawn = inputs.map((input, inputIndex) => ({ input, ...generateInput(input, { seed, caseIndex, inputIndex }) }));
		const kinds = [...new Set(drawn.map(({ kind }) => kind))];
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const { input, tensor } of drawn) tensors[input.name] = tensor;
		const mayFail = inputs.some(({ specs: own }) => own[caseIndex % own.length]?.kind === "boundary");
		return { id: `${caseIndex + 1}-${kinds.join("-")}`, tags: ["generated"], inputs: tensors, mayFail };
	});
	return { cases: made, how: Object.fromEntries(inputs.map(({ name, specs: own }) => [name, `${formatGenerator(own)}, SplitMix64`])) };
}

/** Tokens without a range lie in the table that the model looks them up in. */
function withVocabulary(spec: GeneratorSpec, port: InputPort, vocabulary: number | undefined): GeneratorSpec {
	const wants = (spec.kind === "tokens" || spec.kind === "boundary") && spec.range === undefined;
	if (!wants) return spec;
	if (vocabulary !== undefined) return { ...spec, range: [0, vocabulary - 1] };
	if (spec.kind === "boundary") return spec;
	throw usage(
		`The model does not tell how many tokens input ${quoteName(port.name)} may hold.`,
		`Give the range: --generator ${quoteName(port.name, "")}=tokens:0..30521`,
	);
}

function parseGenerators(texts: readonly string[], ports: readonly InputPort[]): Map<string, readonly GeneratorSpec[]> {
	const specs = new Map<string, readonly GeneratorSpec[]>();
	for (const text of texts) {
		const parsed = parseGenerator(text);
		if (parsed.state === "wrong") throw usage(`--generator: ${parsed.says}.`, parsed.fix);
		if (!ports.some(({ name }) => name === parsed.input)) {
			throw usage(
				`--generator: the model has no input ${quoteName(parsed.input)}.`,
				`Its inputs are ${ports.map(({ name }) => quoteName(name)).join(", ")}.`,
			);
		}
		specs.set(parsed.input, parsed.specs);
	}
	return specs;
}

/** Each path is a file (one case of a model with one input), a folder of files, or a folder of one folder for each case. */
export async function readCases(
	paths: readonly string[],
	inputs: readonly InputPort[],
	from: { cwd: string; ports: StoredPorts },
): Promise<FoundInputs> {
	const cases: CaseToRecord[] = [];
	for (const path of paths) cases.push(...(await readPath(resolve(from.cwd, path), inputs, from.ports)));
	const seen = new Set<string>();
	for (const { id } of cases) {
		if (seen.has(id)) throw usage(`Two cases are called ${quoteName(id)}.`, "Rename one of the files or folders.");
		seen.add(id);
	}
	return { cases, how: Object.fromEntries(inputs.map(({ name }) => [name, "given"])) };
}

async function readPath(path: string, inputs: readonly InputPort[], ports: StoredPorts): Promise<CaseToRecord[]> {
	const facts = await stat(path).catch(() => null);
	if (facts === null) throw usage(`--inputs: there is nothing at ${path}.`, "Check the path.");
	if (!facts.isDirectory()) return [await readSingle(path, inputs, ports)];
	const entries = (await readdir(path, { withFileTypes: true })).filter((entry) => !entry.name.startsWith("."));
	const folders = entries
		.filter((entry) => entry.isDirectory())
		.map((entry) => entry.name)
		.sort(byNumber);
	const cases: CaseToRecord[] = [];
	for (const folder of folders) cases.push(await readCase(join(path, folder), folder, { inputs, ports }));
	const files = entries
		.filter((entry) => !entry.isDirectory() && isTensor(entry.name))
		.map((entry) => entry.name)
		.sort(byNumber);
	if (folders.length === 0 && (await holdsAll(path, inputs))) return [await readCase(path, basename(path), { inputs, ports })];
	for (const file of files) cases.push(await readSingle(join(path, file), inputs, ports));
	if (cases.length > 0) return cases;
	throw usage(
		`--inputs: ${path} holds no tensors.`,
		`Give files that end in ${storedEndings.map((ending) => `.${ending}`).join(", ")}, or a folder of them for each case.`,
	);
}

/** `case-2` before `case-10`. */
function byNumber(left: string, right: string): number {
	return left.localeCompare(right, "en", { numeric: true });
}

/** Among other files, JSON is mostly none of Polygraphy's: it has to be named itself. */
function isTensor(name: string): boolean {
	return storedEndings.some((ending) => ending !== "json" && name.toLowerCase().endsWith(`.${ending}`));
}

async function holdsAll(folder: string, inputs: readonly InputPort[]): Promise<boolean> {
	for (const [index, { name }] of inputs.entries())
		if ((await findTensor(folder, [name, `in-${folderName(name)}`, `input_${index}`])) === null) return false;
	return true;
}

async function readSingle(path: string, inputs: readonly InputPort[], ports: StoredPorts): Promise<CaseToRecord> {
	const id = basename(path).replace(/\.[^.]+$/, "");
	if (mayHoldSeveral(path)) {
		const tensors: Record<string, Tensor> = Object.create(null);
		for (const input of inputs) tensors[input.name] = await readStored(path, input, ports);
		return { id, inputs: tensors, mayFail: false };
	}
	const [input, ...others] = inputs;
	if (input === undefined || others.length > 0) {
		throw usage(
			`--inputs: ${path} is one file, and the model has ${inputs.length} inputs.`,
			"Give a folder for each case, with one file for each input, named as the input is.",
		);
	}
	return { id, inputs: { [input.name]: await readStored(path, input, ports) }, mayFail: false };
}

async function readCase(folder: string, id: string, from: { inputs: readonly InputPort[]; ports: StoredPorts }): Promise<CaseToRecord> {
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const [index, input] of from.inputs.entries()) {
		const path = await findTensor(folder, [input.name, `in-${folderName(input.name)}`, `input_${index}`]);
		if (path === null)
			throw usage(`--inputs: ${folder} has no file for input ${quoteName(input.name)}.`, `Call it ${folderName(input.name)}.npy.`);
		tensors[input.name] = await readStored(path, input, from.ports);
	}
	return { id, inputs: tensors, mayFail: false };
}

/** The first of the names that a file in the folder has, with any ending; names that lead elsewhere are none. */
export async function findTensor(folder: string, names: readonly string[]): Promise<string | null> {
	for (const name of [...names, ...names.slice(0, 1).map(folderName)]) {
		if (/[\\/\0]/.test(name) || name.startsWith(".")) continue;
		for (const ending of storedEndings) {
			const path = join(folder, `${name}.${ending}`);
			if ((await stat(path).catch(() => null))?.isFile() === true) return path;
		}
	}
	return null;
}

function usage(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, details: { fix } });
}

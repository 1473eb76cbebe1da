// Finds and reads files that no manifest describes: tensors, pictures, and `--preprocess FILE`.

import { stat } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import type { InputPreprocess, Preprocess } from "../../../generated/golden.ts";
import { image, text as textValidator } from "../../../generated/preprocess-validator.js";
import goldenSchema from "../../../golden-schema/golden.schema.json" with { type: "json" };
import { inflate, preprocessFile } from "../../adapters/files/tensor-reader.ts";
import {
	digestOf,
	fileSource,
	readInput,
	readInputText,
	readWhole,
	withInput,
} from "../../adapters/process/input-file.ts";
import { folderName } from "../../core/config/values.ts";
import { parseYaml } from "../../core/config/yaml.ts";
import { usageError } from "../../core/errors.ts";
import { describeFound, isObject, toProblem } from "../../core/found.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/text/escape.ts";
import { readImageHeader } from "../../formats/image/header.ts";
import { imageShape } from "../../formats/image/preprocess.ts";
import {
	checkFileSize,
	decodeOwn,
	decodeTensor,
	ownEndings,
	refuseLfsPointer,
} from "../../formats/tensor/decode.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import { describeTensorProto } from "../../formats/tensor/tensor-proto.ts";
import type { Picture } from "../core/manifest/draft.ts";
import type { Tensor } from "../core/tensor/tensor.ts";
import type { InputPort } from "./inputs.ts";

export interface CasePart {
	tensors: Record<string, Tensor>;
	pictures?: Record<string, Picture>;
}

export type FileKind = "image" | "text" | "tensor";

/**
 * @param preprocessing undefined: as the files' names and the inputs' shapes say.
 * @throws ConfigError usage if the input or the preprocessing does not fit the file; tensor-invalid if it is damaged.
 */
export async function readPart(
	path: string,
	input: InputPort,
	preprocessing: Preprocessing | undefined,
): Promise<CasePart> {
	if (fileKind(path) === "tensor") return { tensors: { [input.name]: await readStored(path, input) } };
	const preprocess = preprocessOf(input.name, preprocessing);
	if (preprocess?.kind !== "text") return readPicture(path, input, preprocess);
	throw usageError(
		`--preprocess describes text for input ${quoteName(input.name)}, and ${path} is an image.`,
		"Give files of this kind.",
	);
}

export function preprocessOf(input: string, preprocessing: Preprocessing | undefined) {
	return preprocessing?.byInput.get(input) ?? preprocessing?.all;
}

export function fileKind(path: string): FileKind {
	return isPicture(path) ? "image" : extname(path).toLowerCase() === ".txt" ? "text" : "tensor";
}

export const pictureEndings = ["png", "jpg", "jpeg"] as const;

export function isPicture(path: string): boolean {
	return pictureEndings.some((ending) => path.toLowerCase().endsWith(`.${ending}`));
}

async function readPicture(
	path: string,
	port: InputPort,
	requested: Preprocess | undefined,
): Promise<CasePart> {
	const input = port.sizes?.length === 4 ? oneSample(port) : port;
	const { name, dtype, sizes } = input;
	const bytes = await readInput(path, inputKinds.picture);
	const own = readImageHeader(bytes) ?? { width: 1, height: 1 };
	const preprocess = requested ?? fittingPreprocess(input, own);
	const shape = imageShape(own, preprocess);
	const fits =
		sizes === null ||
		(sizes.length === shape.length && sizes.every((size, axis) => size === null || size === shape[axis]));
	if (!fits)
		throw usageError(
			`Input ${quoteName(name)} takes ${formatSizes(sizes)}, and ${path} becomes [${shape.join(", ")}].`,
			"Correct layout, resize or crop in --preprocess.",
		);
	const file = { path, sha256: "", dtype, shape, format: "image" as const, preprocess };
	const { tensor, sha256: tensorSha256 } = await preprocessFile(bytes, file);
	const sha256 = digestOf(bytes);
	const ending = extname(path).slice(1).toLowerCase();
	return {
		tensors: { [name]: tensor },
		pictures: { [name]: { bytes, sha256, ending, preprocess, tensorSha256 } },
	};
}

/** Takes the picture's own size where the input's is open. Values are from 0 to 1, for uint8 the pixels'. */
function fittingPreprocess(
	{ name, dtype, sizes }: InputPort,
	own: { height: number; width: number },
): Preprocess {
	const isChannels = (size?: number | null) => size === 1 || size === 3;
	const batched = sizes?.length === 4;
	const axes = batched && (sizes[0] ?? 1) === 1 ? sizes.slice(1) : (sizes ?? []);
	const channelsFirst = isChannels(axes[0]);
	const channels = channelsFirst ? axes[0] : axes[2];
	if (axes.length !== 3 || !isChannels(channels))
		throw usageError(
			`Input ${quoteName(name)} of shape ${formatSizes(sizes)} cannot take an image directly.`,
			"Give tensors (.npy), bind the batch to 1 with --dims, or describe with --preprocess how images become tensors.",
		);
	const [height, width] = channelsFirst ? axes.slice(1) : axes;
	return {
		colour: channels === 1 ? "grey" : "rgb",
		resize: [height ?? own.height, width ?? own.width],
		...(dtype === "uint8" ? { scale: 1 } : {}),
		layout: `${batched ? "n" : ""}${channelsFirst ? "chw" : "hwc"}` as Preprocess["layout"],
	};
}

function formatSizes(sizes: readonly (number | null)[] | null) {
	return sizes === null
		? "that the model does not state"
		: `[${sizes.map((size) => size ?? "?").join(", ")}]`;
}

function oneSample<Port extends Pick<InputPort, "axes" | "sizes">>(port: Port) {
	if (typeof port.axes?.[0] === "number" || port.sizes === null) return port;
	return { ...port, sizes: [1, ...port.sizes.slice(1)] };
}

function longAxes(sizes: InputPort["sizes"]) {
	return (sizes ?? []).flatMap((size, axis) => (size !== null && size > 1 ? [axis] : []));
}

/** For a tensor in which one axis is long and the others are 1. @throws ConfigError usage if two are long. */
export function lineOf(input: Pick<InputPort, "name" | "axes" | "sizes">, path: string) {
	const { name, sizes } = longAxes(input.sizes).length > 1 ? oneSample(input) : input;
	if (sizes === null) return { length: null, shapeOf: (elements: number) => [1, elements] };
	const long = longAxes(sizes);
	const open = sizes.lastIndexOf(null);
	if (long.length > 1 || sizes.length === 0)
		throw usageError(
			`Input ${quoteName(name)} of shape ${formatSizes(sizes)} cannot take ${path}: it has to have one long axis.`,
			"Bind the batch to 1 with --dims, or give tensors (.npy).",
		);
	const at = long[0] ?? (open >= 0 ? open : sizes.length - 1);
	const length = sizes[at] ?? null;
	return {
		length,
		shapeOf(elements: number) {
			if (length !== null && length !== elements)
				throw usageError(
					`Input ${quoteName(name)} takes ${length} values, and --preprocess makes ${elements} of ${path}.`,
					`Make it ${length}.`,
				);
			return sizes.map((_, axis) => (axis === at ? elements : 1));
		},
	};
}

const { preprocess, textPreprocess } = goldenSchema.$defs;
const kinds = {
	image: { validate: image, schema: preprocess },
	text: { validate: textValidator, schema: textPreprocess },
};
const kindNames = Object.keys(kinds).join(", ");

export interface Preprocessing {
	folder: string;
	all: InputPreprocess | undefined;
	byInput: ReadonlyMap<string, InputPreprocess>;
}

/** @throws ConfigError usage if the file breaks the schema, or names an input that the model does not have. */
export async function readPreprocessing(path: string, inputs: readonly string[]): Promise<Preprocessing> {
	const parsed = parseYaml(await readInputText(path, inputKinds.argument), path);
	if (parsed.state !== "ok") throw parsed.errors[0];
	const { value } = parsed;
	if (!isObject(value)) throw wrong(path, "", { expected: "an object", got: describeFound(value, "") });
	const folder = dirname(path);
	if (!("inputs" in value)) return { folder, all: checked(value, path, ""), byInput: new Map() };
	const byInput = new Map<string, InputPreprocess>();
	for (const [name, one] of Object.entries(Object(value["inputs"]))) {
		const pointer = `/inputs/${name}`;
		if (!inputs.includes(name)) {
			const known = inputs.map((input) => quoteName(input)).join(", ");
			throw wrong(path, pointer, { expected: `one of the model's inputs ${known}`, got: quoteName(name) });
		}
		byInput.set(name, checked(one, path, pointer));
	}
	return { folder, all: undefined, byInput };
}

function checked(value: unknown, path: string, pointer: string) {
	const kind = isObject(value) && "kind" in value ? value["kind"] : "image";
	if (typeof kind !== "string" || !Object.hasOwn(kinds, kind)) {
		const got = typeof kind === "string" ? quoteName(kind) : describeFound(kind, "");
		throw wrong(path, `${pointer}/kind`, { expected: `one of ${kindNames}`, got });
	}
	const { validate, schema } = kinds[kind as keyof typeof kinds];
	if (validate(value)) return value as InputPreprocess;
	const problem = toProblem(validate.errors ?? [], value, { schema, what: "an object" });
	throw wrong(path, `${pointer}${problem.pointer}`, problem);
}

function wrong(
	path: string,
	pointer: string,
	{ expected, got, fix }: { expected: string; got: string; fix?: string },
) {
	const place = pointer === "" ? "" : ` ${quoteName(pointer, "")}:`;
	const message = `--preprocess: ${path}:${place} expected ${expected}, got ${got}.`;
	return usageError(message, fix ?? `docs/goldens-reference.md has the keys: ${kindNames}.`);
}

export const severalEndings = ["npz", "safetensors", "json"] as const;
export const storedEndings = ["npy", "raw", "bin", "pb", ...severalEndings] as const;

export function mayHoldSeveral(path: string): boolean {
	return severalEndings.some((ending) => path.toLowerCase().endsWith(`.${ending}`));
}

/** The tensor's own name, those of `golden record` and of ONNX's test data, and `plainName`. */
export function fileNamesOf(names: readonly string[], index: number, kind: "in" | "out"): string[] {
	const name = names[index] ?? "";
	const plain = plainName(name);
	const isShared = names.some((other) => other !== name && plainName(other) === plain);
	return [name, `${kind}-${folderName(name)}`, `${kind}put_${index}`, ...(isShared ? [] : [plain])];
}

export function plainName(name: string): string {
	return name.replace(/[^A-Za-z0-9._,-]/g, "_");
}

export function namesOnDisk(names: readonly string[]): string[] {
	return [...names, ...names.slice(0, 1).map(folderName)].filter((name) => !/^\.|[\\/\0]/.test(name));
}

export async function findTensor(
	folders: readonly string[],
	names: readonly string[],
	endings: readonly string[] = storedEndings,
): Promise<string | null> {
	for (const folder of folders)
		for (const name of namesOnDisk(names))
			for (const ending of endings) {
				const path = join(folder, `${name}.${ending}`);
				if ((await stat(path).catch(() => null))?.isFile() === true) return path;
			}
	return null;
}

const maxProtoBytes = 2 ** 31 - 1;
const headBytes = 512;

/** In the file's own layout if it states one, so that the judge sees a wrong shape. @throws ConfigError golden-missing, tensor-invalid. */
export function readStored(
	path: string,
	{ name, dtype, shape }: Pick<InputPort, "name" | "dtype" | "shape">,
): Promise<Tensor> {
	const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
	return withInput(path, inputKinds.tensor, async ({ file, facts: { size } }) => {
		const source = fileSource(file, size);
		const own = ownEndings.find((known) => known === ending);
		if (own !== undefined) return decodeOwn(source, { path, member: name, dtype }, own, inflate);
		const found = { path, sha256: "" };
		refuseLfsPointer(source.read(0, headBytes), found);
		if (ending === "pb") {
			if (size > maxProtoBytes) throw tensorInvalid(found, `at most ${maxProtoBytes} bytes`, `${size}`);
			const bytes = await readWhole(file, size);
			return decodeTensor(bytes, { ...found, ...describeTensorProto(bytes, found) });
		}
		if (shape === null)
			throw tensorInvalid(
				found,
				"a file that states its shape",
				"raw bytes",
				"Save it as .npy, or bind the model's dimensions with --dims.",
			);
		const raw = { ...found, dtype, shape: [...shape] };
		checkFileSize(size, raw);
		return decodeTensor(await readWhole(file, size), raw);
	});
}

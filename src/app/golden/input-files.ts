// Reads the files that hold an input's values: tensors, pictures, sound, bytes and text, by ending or as --preprocess says.

import type {
	AudioPreprocess,
	BytesPreprocess,
	InputPreprocess,
	Preprocess,
} from "../../../generated/golden.ts";
import { readTokenizer, type TextTokenizer } from "../../adapters/files/tokenizer.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import type { Picture } from "../../core/golden/manifest/draft.ts";
import { isFloating, type Tensor } from "../../core/golden/tensor/tensor.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { preprocessSound } from "../../formats/audio/preprocess.ts";
import { readWav } from "../../formats/audio/wav.ts";
import { tensorOfBytes } from "../../formats/tensor/decode.ts";
import type { InputPort } from "./inputs.ts";
import { formatSizes, isPicture, readPicture } from "./pictures.ts";
import { kindOf, type Preprocessing, type PreprocessKind } from "./preprocess-file.ts";
import { readStored, type StoredPorts } from "./stored.ts";

/** A case, or what one file gives of it. */
export interface CasePart {
	/** Follows the file's name where the file gives several cases. */
	suffix: string;
	tensors: Record<string, Tensor>;
	pictures: Record<string, Picture>;
}

export interface FileReading {
	ports: StoredPorts;
	preprocessing: Preprocessing | undefined;
	/** The model's: where a tokenizer.json is looked for. */
	modelFolder: string;
	tokenizers: Map<string, TextTokenizer>;
	/** How files became tensors, by input; for the manifest. */
	used: Map<string, InputPreprocess>;
	/** What was inferred, in sentences. */
	notes: Set<string>;
}

export type FileKind = PreprocessKind | "tensor";

export function preprocessOf(
	input: string | null,
	{ preprocessing }: Pick<FileReading, "preprocessing">,
): InputPreprocess | undefined {
	return (input === null ? undefined : preprocessing?.byInput.get(input)) ?? preprocessing?.all;
}

/** Bytes can be any file, so they have to be asked for; the other kinds follow from the name. */
export function fileKind(path: string, preprocess: InputPreprocess | undefined): FileKind {
	if (preprocess !== undefined && kindOf(preprocess) === "bytes") return "bytes";
	if (isPicture(path)) return "image";
	if (/\.wav$/i.test(path)) return "audio";
	return /\.txt$/i.test(path) ? "text" : "tensor";
}

/** @throws ConfigError usage where the input or the preprocessing does not fit the file; tensor-invalid where the file is damaged. */
export async function readParts(path: string, input: InputPort, reading: FileReading): Promise<CasePart[]> {
	const preprocess = preprocessOf(input.name, reading);
	const kind = fileKind(path, preprocess);
	if (preprocess !== undefined && kind !== "tensor" && kind !== kindOf(preprocess)) {
		throw usageError(
			`--preprocess describes ${kindOf(preprocess)} for input ${quoteName(input.name)}, and ${path} is ${kind}.`,
			"Give files of this kind.",
		);
	}
	switch (kind) {
		case "image": {
			const sample = input.sizes?.length === 4 ? oneSample(input) : input;
			const { tensor, picture } = await readPicture(path, sample, preprocess as Preprocess | undefined);
			return [{ suffix: "", tensors: { [input.name]: tensor }, pictures: { [input.name]: picture } }];
		}
		case "audio":
			return partsOf(
				input,
				await readSound(path, input, { preprocess: preprocess as AudioPreprocess | undefined, reading }),
			);
		case "bytes":
			return partsOf(input, [
				await readBytes(path, input, { preprocess: preprocess as BytesPreprocess, reading }),
			]);
		case "text":
			throw usageError(
				`${path} is text, which gives whole cases.`,
				"Name the text file itself with --inputs, not a folder for each case.",
			);
		case "tensor":
			return partsOf(input, [await readStored(path, input, reading.ports)]);
	}
}

/** A file is one sample, whatever the batch that engines are built for. */
function oneSample<Port extends Pick<InputPort, "axes" | "sizes">>(port: Port): Port {
	return typeof port.axes?.[0] === "number" || port.sizes === null
		? port
		: { ...port, sizes: [1, ...port.sizes.slice(1)] };
}

function partsOf({ name }: InputPort, tensors: readonly Tensor[]): CasePart[] {
	return tensors.map((tensor, index) => ({
		suffix: tensors.length === 1 ? "" : `-${index + 1}`,
		tensors: { [name]: tensor },
		pictures: {},
	}));
}

interface How<T> {
	preprocess: T;
	reading: FileReading;
}

async function readSound(
	path: string,
	input: InputPort,
	{ preprocess, reading }: How<AudioPreprocess | undefined>,
): Promise<Tensor[]> {
	if (!isFloating(input.dtype))
		throw usageError(
			`Input ${quoteName(input.name)} is ${input.dtype}, and ${path} is audio.`,
			"Give tensors (.npy).",
		);
	const line = lineOf(input, path);
	const sound = readWav(await readInput(path, inputKinds.sound), path);
	const how: AudioPreprocess = { kind: "audio", rate: sound.rate, ...preprocess };
	if (preprocess?.rate === undefined) {
		reading.notes.add(
			`Audio is used at its own rate, ${sound.rate} Hz; another rate needs --preprocess with \`{ "kind": "audio", "rate": 16000 }\`.`,
		);
	}
	const tensors = preprocessSound(sound, { dtype: input.dtype, ...line }, { ...how, path });
	reading.used.set(input.name, how);
	return tensors;
}

async function readBytes(
	path: string,
	input: InputPort,
	{ preprocess, reading }: How<BytesPreprocess>,
): Promise<Tensor> {
	const { name, dtype } = input;
	const padding = preprocess.padding ?? 0;
	const fits =
		dtype === "uint8"
			? padding >= 0 && padding <= 255
			: ["int16", "uint16", "int32", "uint32", "int64", "float32"].includes(dtype);
	if (!fits)
		throw usageError(
			`Input ${quoteName(name)} is ${dtype}, which cannot hold bytes with padding ${padding}.`,
			"Give tensors (.npy), or another padding.",
		);
	const line = lineOf(input, path);
	const tensor = tensorOfBytes(await readInput(path, inputKinds.bytes), { dtype, ...line }, preprocess);
	reading.used.set(name, preprocess);
	return tensor;
}

interface Line {
	/** null: any. */
	length: number | null;
	shapeOf(elements: number): number[];
}

/** Of a tensor in which one axis is long and the others are 1. @throws ConfigError usage where two are long. */
export function lineOf(input: Pick<InputPort, "name" | "axes" | "sizes">, path: string): Line {
	const longIn = (all: InputPort["sizes"]): number[] =>
		(all ?? []).flatMap((size, axis) => (size !== null && size > 1 ? [axis] : []));
	const { name, sizes } = longIn(input.sizes).length > 1 ? oneSample(input) : input;
	if (sizes === null) return { length: null, shapeOf: (elements) => [1, elements] };
	const long = longIn(sizes);
	const open = sizes.lastIndexOf(null);
	if (long.length > 1 || sizes.length === 0) {
		throw usageError(
			`Input ${quoteName(name)} of shape ${formatSizes(sizes)} cannot take ${path}: it has to have one long axis.`,
			"Bind the batch to 1 with --dims, or give tensors (.npy).",
		);
	}
	const at = long[0] ?? (open >= 0 ? open : sizes.length - 1);
	return {
		length: sizes[at] ?? null,
		shapeOf(elements) {
			const size = sizes[at] ?? null;
			if (size !== null && size !== elements) {
				throw usageError(
					`Input ${quoteName(name)} takes ${size} values, and --preprocess makes ${elements} of ${path}.`,
					`Make it ${size}.`,
				);
			}
			return sizes.map((_, axis) => (axis === at ? elements : 1));
		},
	};
}

/** One tokenizer for all files of a recording. */
export async function tokenizerAt(path: string, reading: FileReading): Promise<TextTokenizer> {
	const known = reading.tokenizers.get(path) ?? (await readTokenizer(path));
	reading.tokenizers.set(path, known);
	return known;
}

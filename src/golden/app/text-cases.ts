// Reads text files as cases: each line that is not empty, as token ids, mask, types and positions by the inputs' names.
import { isUtf8 } from "node:buffer";
import { stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { TextPreprocess } from "../../../generated/golden.ts";
import { readTokenizer } from "../../adapters/files/tokenizer.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import { encodeTensor } from "../core/record/generators/encode.ts";
import { fitTokens, type TokenRow } from "../core/record/tokens.ts";
import { isFloating, type Tensor } from "../core/tensor/tensor.ts";
import { type FileReading, lineOf, preprocessOf } from "./input-files.ts";
import type { InputPort } from "./inputs.ts";

type Row = keyof TokenRow | "positions";

const rowsByName: readonly (readonly [RegExp, Row])[] = [
	[/mask/i, "mask"],
	[/(token_?)?type|segment/i, "types"],
	[/position/i, "positions"],
	[/ids?$|tokens?$|^(input|text|src|source)s?$|inputs$/i, "ids"],
];

/** The integer inputs that a tokenizer fills; those with other names are left to the generators. */
function rowsOf(inputs: readonly InputPort[]): Map<InputPort, Row> {
	const whole = inputs.filter(({ dtype }) => !isFloating(dtype));
	return new Map(
		whole.flatMap((input): [InputPort, Row][] => {
			const row = whole.length === 1 ? "ids" : rowsByName.find(([pattern]) => pattern.test(input.name))?.[1];
			return row === undefined ? [] : [[input, row]];
		}),
	);
}

/** Reads one case per line. @throws ConfigError usage, tensor-invalid, tokenizer-invalid. */
export async function readTextCases(
	path: string,
	inputs: readonly InputPort[],
	reading: FileReading,
): Promise<Record<string, Tensor>[]> {
	const rows = rowsOf(inputs);
	const ids = [...rows].find(([, row]) => row === "ids")?.[0];
	if (ids === undefined)
		throw usageError(
			`--inputs: ${path} is text, and no input of the model is named like token ids.`,
			"Give tensors (.npy), in a folder for each case.",
		);
	const preprocess = preprocessOf(ids.name, reading);
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

/** A tokenizer's patterns can take time that grows with the square of a line's length, or worse. */
const maxLineChars = 20_000;
const maxLines = 10_000;

/** @throws ConfigError tensor-invalid if it is not UTF-8 in lines. */
function linesOf(bytes: Uint8Array, path: string): string[] {
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
	{ preprocessing, modelFolder, notes }: FileReading,
): Promise<string> {
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

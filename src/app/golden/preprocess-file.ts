// `--preprocess FILE`: how pictures, sound, bytes and text become tensors; for all inputs, or for each by name.
import { dirname } from "node:path";
import type { InputPreprocess } from "../../../generated/golden.ts";
import { audio, bytes, image, text as textValidator } from "../../../generated/preprocess-validator.js";
import goldenSchema from "../../../golden-schema/golden.schema.json" with { type: "json" };
import { readInputText } from "../../adapters/process/input-file.ts";
import { parseYaml } from "../../core/config/yaml.ts";
import { type ConfigError, usageError } from "../../core/errors.ts";
import { describeFound, describeJsonFault } from "../../core/found.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { toProblem } from "../../core/schema-errors.ts";

export type PreprocessKind = "image" | "audio" | "bytes" | "text";
const kinds = ["image", "audio", "bytes", "text"] as const satisfies readonly PreprocessKind[];

const validators = { image, audio, bytes, text: textValidator };
const definitions = {
	image: "preprocess",
	audio: "audioPreprocess",
	bytes: "bytesPreprocess",
	text: "textPreprocess",
} as const;

export interface Preprocessing {
	/** Of the file: paths in it are relative to this. */
	folder: string;
	/** undefined: each input by its name. */
	all: InputPreprocess | undefined;
	byInput: ReadonlyMap<string, InputPreprocess>;
}

/** @throws ConfigError usage where the file is not as the schema says, or names an input that the model does not have. */
export async function readPreprocessing(path: string, inputs: readonly string[]): Promise<Preprocessing> {
	const text = await readInputText(path, inputKinds.argument);
	const value = parse(text, path);
	if (typeof value !== "object" || value === null || Array.isArray(value))
		throw wrong(path, "", { expected: "an object", got: describeFound(value, "") });
	const folder = dirname(path);
	if (!("inputs" in value)) return { folder, all: checked(value, path, ""), byInput: new Map() };
	const named = Object.entries(Object(value.inputs));
	for (const [name] of named) {
		if (!inputs.includes(name)) {
			const known = inputs.map((input) => quoteName(input)).join(", ");
			throw wrong(path, `/inputs/${name}`, {
				expected: `one of the model's inputs ${known}`,
				got: quoteName(name),
			});
		}
	}
	return {
		folder,
		all: undefined,
		byInput: new Map(named.map(([name, one]) => [name, checked(one, path, `/inputs/${name}`)])),
	};
}

export function kindOf(preprocess: InputPreprocess): PreprocessKind {
	return preprocess.kind ?? "image";
}

function parse(text: string, path: string): unknown {
	if (/\.ya?ml$/i.test(path)) {
		const parsed = parseYaml(text, path);
		if (parsed.state === "ok") return parsed.value;
		throw parsed.errors[0];
	}
	try {
		return JSON.parse(text);
	} catch (cause) {
		throw usageError(`--preprocess: ${path} is not JSON: ${describeJsonFault(cause)}.`, "Correct the file.");
	}
}

function checked(value: unknown, path: string, pointer: string): InputPreprocess {
	const kind = typeof value === "object" && value !== null && "kind" in value ? value.kind : "image";
	const known = kinds.find((one) => one === kind);
	if (known === undefined)
		throw wrong(path, `${pointer}/kind`, {
			expected: `one of ${kinds.join(", ")}`,
			got: typeof kind === "string" ? quoteName(kind) : describeFound(kind, ""),
		});
	const validate = validators[known];
	if (validate(value)) return value as InputPreprocess;
	const problem = toProblem(validate.errors ?? [], value, {
		schema: goldenSchema.$defs[definitions[known]],
		what: "an object",
	});
	throw wrong(path, `${pointer}${problem.pointer}`, problem);
}

function wrong(
	path: string,
	pointer: string,
	{ expected, got, fix }: { expected: string; got: string; fix?: string },
): ConfigError {
	const place = pointer === "" ? "" : ` ${quoteName(pointer, "")}:`;
	return usageError(
		`--preprocess: ${path}:${place} expected ${expected}, got ${got}.`,
		fix ?? `docs/goldens-reference.md has the keys: ${kinds.join(", ")}.`,
	);
}

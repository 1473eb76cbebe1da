// `--preprocess FILE`: how images and text become tensors; for all inputs, or for each by name.
import { dirname } from "node:path";
import type { InputPreprocess } from "../../../generated/golden.ts";
import { image, text as textValidator } from "../../../generated/preprocess-validator.js";
import goldenSchema from "../../../golden-schema/golden.schema.json" with { type: "json" };
import { readInputText } from "../../adapters/process/input-file.ts";
import { parseYaml } from "../../core/config/yaml.ts";
import { type ConfigError, usageError } from "../../core/errors.ts";
import { describeFound, isObject } from "../../core/found.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { toProblem } from "../../core/schema-errors.ts";

const { preprocess, textPreprocess } = goldenSchema.$defs;
const kinds = {
	image: { validate: image, schema: preprocess },
	text: { validate: textValidator, schema: textPreprocess },
};
const kindNames = Object.keys(kinds).join(", ");

export interface Preprocessing {
	/** That of the file. */
	folder: string;
	/** undefined: each input by its name. */
	all: InputPreprocess | undefined;
	byInput: ReadonlyMap<string, InputPreprocess>;
}

/** @throws ConfigError usage if the file does not follow the schema, or names an input that the model does not have. */
export async function readPreprocessing(path: string, inputs: readonly string[]): Promise<Preprocessing> {
	// JSON is YAML.
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

function checked(value: unknown, path: string, pointer: string): InputPreprocess {
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
): ConfigError {
	const place = pointer === "" ? "" : ` ${quoteName(pointer, "")}:`;
	return usageError(
		`--preprocess: ${path}:${place} expected ${expected}, got ${got}.`,
		fix ?? `docs/goldens-reference.md has the keys: ${kindNames}.`,
	);
}

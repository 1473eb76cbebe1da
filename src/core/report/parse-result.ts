// Reads a result.json that may come from another job, another version or an untrusted source.

import type { Result } from "../../../generated/result.ts";
import { validate } from "../../../generated/result-validator.js";
import resultSchema from "../../../golden-schema/result.schema.json" with { type: "json" };
import { ConfigError } from "../errors.ts";
import { isObject, readJson, type SchemaProblem, toProblem } from "../found.ts";
import { cleanText, shorten } from "../text/escape.ts";

const schemaVersion = 1;

function invalid(path: string, { pointer, expected, got, fix, cause }: SchemaProblem & { cause?: unknown }) {
	const where = pointer === "" ? path : `${path} at ${cleanText(shorten(pointer, 200))}`;
	return new ConfigError({
		code: "result-invalid",
		message: `${where} is not a result: expected ${expected}, got ${got}.`,
		cause,
		location: { path },
		pointer,
		fix: fix ?? "Give the result.json that a run of trtgate wrote, unchanged.",
	});
}

function checkVersion(value: unknown, path: string) {
	const version =
		isObject(value) && Object.hasOwn(value, "schemaVersion") ? value["schemaVersion"] : undefined;
	if (version === schemaVersion || version === undefined) return;
	throw invalid(path, {
		pointer: "/schemaVersion",
		expected: `schemaVersion ${schemaVersion}`,
		got: `schemaVersion ${cleanText(shorten(JSON.stringify(version), 80))}`,
		fix: "Use the trtgate that wrote this file, or run the gate again with this one.",
	});
}

export function parseResult(text: string, path: string): Result {
	const fix = "The file may be truncated: run again, or fetch the artifact again.";
	const value = readJson(text, (got, cause) =>
		invalid(path, { pointer: "", expected: "JSON", got, cause, fix: cause === undefined ? undefined : fix }),
	);
	checkVersion(value, path);
	if (validate(value)) return value as Result;
	// Nobody writes a result by hand, so advice on keys would not help.
	const { fix: _, ...problem } = toProblem(validate.errors ?? [], value, {
		schema: resultSchema,
		what: "a result",
	});
	throw invalid(path, problem);
}

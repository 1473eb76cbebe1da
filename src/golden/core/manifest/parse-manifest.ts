// Entry of manifest/: parses a golden manifest, first by its schema, then by the rules beyond it.

import type { GoldenManifest } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/golden-validator.js";
import goldenSchema from "../../../../golden-schema/golden.schema.json" with { type: "json" };
import { ConfigError } from "../../../core/errors.ts";
import { describeJsonFault } from "../../../core/found.ts";
import { type SchemaProblem, toProblem } from "../../../core/schema-errors.ts";
import { findRuleProblem } from "./rules.ts";

const maxChars = 64 * 1024 * 1024;

/**
 * @param path names the file in errors.
 * @throws ConfigError golden-invalid with the JSON pointer, what was expected and what is there.
 */
export function parseManifest(text: string, path: string): GoldenManifest {
	if (text.length > maxChars) {
		throw invalid(path, {
			pointer: "",
			expected: `at most ${maxChars} characters`,
			got: `${text.length}`,
			fix: "Split the golden set.",
		});
	}
	const value = parseJson(text, path);
	if (!validate(value))
		throw invalid(
			path,
			toProblem(validate.errors ?? [], value, { schema: goldenSchema, what: "a golden manifest" }),
		);
	const manifest = value as GoldenManifest;
	const problem = findRuleProblem(manifest);
	if (problem !== null) throw invalid(path, problem);
	return manifest;
}

function parseJson(text: string, path: string): unknown {
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ""));
	} catch (cause) {
		const lfs = text.startsWith("version https://git-lfs");
		const fix = lfs
			? "Run `git lfs pull`; in a workflow, check out with `lfs: true`."
			: "Restore the file, or record the golden again.";
		const got = lfs ? "a Git LFS pointer" : describeJsonFault(cause);
		throw invalid(path, { pointer: "", expected: "JSON", got, fix });
	}
}

function invalid(path: string, problem: SchemaProblem): ConfigError {
	const { pointer, expected, got, fix } = problem;
	const place = pointer === "" ? "the golden manifest" : pointer;
	return new ConfigError({
		code: "golden-invalid",
		message: `${path}: ${place}: expected ${expected}, got ${got}.${fix === undefined ? "" : ` ${fix}`}`,
		location: { path },
		pointer,
		fix: fix ?? `Write ${expected}.`,
	});
}

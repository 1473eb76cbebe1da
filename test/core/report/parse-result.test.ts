import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ConfigError } from "../../../src/core/errors.ts";
import { parseResult } from "../../../src/core/report/parse-result.ts";
import { resultCases } from "../../support/result-cases.ts";

const folder = "golden-schema/examples/result";
const read = (path: string) => readFileSync(`${folder}/${path}`, "utf8");

function refusal(text: string) {
	try {
		parseResult(text, "out/result.json");
	} catch (error) {
		if (error instanceof ConfigError) return error;
		throw error;
	}
	throw new Error("It was accepted.");
}

it.each(readdirSync(`${folder}/valid`))("parseResult reads the example %s", (name) => {
	const text = read(`valid/${name}`);
	expect(parseResult(text, name)).toEqual(JSON.parse(text));
});

const invalid: Record<string, [pointer: string, expected: string]> = {
	"another-version.json": ["/schemaVersion", "schemaVersion 1"],
	"missing-gates.json": ["/gates", "a value, got missing"],
	"unknown-field.json": ["/backend/gpu", 'got the key "gpu"'],
	"unknown-outcome.json": ["/outcome", "one of pass, warn, fail, inconclusive, error"],
	"interval-of-one.json": ["/workloads/0/latency/interval", "at least 2 entries"],
	"cut-short.json": ["", "JSON"],
	"array.json": ["", "object"],
	"negative-pair.json": ["/workloads/0/runs/0/pair", "at least 0"],
};

it.each(readdirSync(`${folder}/invalid`))("parseResult refuses the example %s", (name) => {
	const [pointer, expected] = invalid[name]!;
	const error = refusal(read(`invalid/${name}`));
	expect(error).toMatchObject({ code: "result-invalid", pointer, location: { path: "out/result.json" } });
	for (const shown of [expected, "out/result.json"]) expect(error.message).toContain(shown);
	expect(error.fix).toBeTruthy();
});

it.each(Object.entries(resultCases))("parseResult reads what the gate writes: %s", (_, result) => {
	expect(parseResult(JSON.stringify(result), "r.json")).toEqual(result);
});

it("parseResult throws nothing but its own error, whatever the text", () => {
	fc.assert(
		fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
			expect(refusal(text).code).toBe("result-invalid");
		}),
	);
});

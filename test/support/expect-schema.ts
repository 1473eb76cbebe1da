import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "vitest";

const compiled = new Map<string, ValidateFunction>();

export function expectSchema<Value>(value: Value, schema: string): Value {
	const validate =
		compiled.get(schema) ??
		new Ajv2020({ allowUnionTypes: true, strictRequired: false }).compile(
			JSON.parse(readFileSync(`golden-schema/${schema}.schema.json`, "utf8")),
		);
	compiled.set(schema, validate);
	expect(validate(value), JSON.stringify(validate.errors)).toBe(true);
	return value;
}

import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import { isObject } from "./payload.ts";
import type { Json } from "./render.ts";

interface Operation {
	query?: Record<string, unknown>;
	request?: unknown;
	requestRequired?: boolean;
	responses: Record<string, unknown>;
}

export interface Description {
	judgeRequest(operation: string, query: URLSearchParams, body: unknown): string[];
	complete(operation: string, status: number, body: unknown): unknown;
	judgeReply(operation: string, status: number, body: unknown): string[];
}

type Schema = Json & {
	$ref?: string;
	type?: string | string[];
	format?: string;
	enum?: unknown[];
	required?: string[];
	properties?: Record<string, Schema>;
	items?: Schema;
	oneOf?: Schema[];
	anyOf?: Schema[];
	allOf?: Schema[];
};

interface Loaded {
	operations: Record<string, Operation>;
	definitions: Record<string, Schema>;
	ajv: Ajv;
}

function load(): Loaded {
	const { operations, definitions } = JSON.parse(readFileSync(new URL("api.json", import.meta.url), "utf8"));
	const formats = {
		"date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
		uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
	};
	const ajv = new Ajv({ strict: false, logger: false, validateSchema: false, formats });
	ajv.addSchema({ $id: "api", definitions });
	return { operations, definitions, ajv };
}

let shared: Description | undefined;

/** Shared by all services of a process, read with the first request and compiled one by one: no start waits for it. */
export function openDescription(): Description {
	shared ??= createDescription();
	return shared;
}

function createDescription(): Description {
	let loaded: Loaded | undefined;
	const whole = (): Loaded => {
		loaded ??= load();
		return loaded;
	};
	const compiled = new Map<string, ValidateFunction>();
	const judge = (name: string, schema: unknown, value: unknown): string[] => {
		const validate = compiled.get(name) ?? whole().ajv.compile(rooted(schema) as object);
		compiled.set(name, validate);
		if (validate(value)) return [];
		return (validate.errors ?? []).map(
			(error) => `${error.instancePath || "/"} ${error.message} ${JSON.stringify(error.params)}`,
		);
	};
	return {
		judgeRequest(name, query, body) {
			const operation = whole().operations[name];
			if (!operation) return [`${name} is not in the API description`];
			return [
				...judgeQuery(operation, query),
				...judgeBody(operation, body, (schema) => judge(`${name} request`, schema, body)),
			];
		},
		complete(name, status, body) {
			const { operations, definitions } = whole();
			const schema = operations[name]?.responses[String(status)];
			return isObject(schema) ? complete(schema, body, definitions) : body;
		},
		judgeReply(name, status, body) {
			const schema = whole().operations[name]?.responses[String(status)];
			if (schema === undefined) return status < 300 ? [`${name} does not answer ${status}`] : [];
			return schema === null ? [] : judge(`${name} ${status}`, schema, body);
		},
	};
}

function judgeBody(operation: Operation, body: unknown, judge: (schema: unknown) => string[]): string[] {
	if (operation.request === undefined) return [];
	if (body === undefined) return operation.requestRequired ? ["a body is required"] : [];
	return judge(operation.request);
}

function judgeQuery(operation: Operation, query: URLSearchParams): string[] {
	return [...query].flatMap(([name, value]) => {
		const schema = operation.query?.[name] as { type?: string; enum?: unknown[] } | undefined;
		if (!schema) return [`query ${name} is not a parameter`];
		if (schema.enum && !schema.enum.includes(value))
			return [`query ${name} must be one of ${schema.enum.join(", ")}`];
		return schema.type === "integer" && !/^\d+$/.test(value) ? [`query ${name} must be a whole number`] : [];
	});
}

const kindOf = (value: unknown): string => (Array.isArray(value) ? "array" : typeof value);

function complete(schema: Schema, value: unknown, definitions: Loaded["definitions"]): unknown {
	if (schema.$ref !== undefined)
		return complete(definitions[schema.$ref.slice("#/definitions/".length)] ?? {}, value, definitions);
	if (schema.allOf)
		return schema.allOf.reduce<unknown>((sum, part) => complete(part, sum, definitions), value);
	const variants = schema.oneOf ?? schema.anyOf;
	if (variants) {
		const types = (one: Schema) => [one.type ?? (one.$ref ? "object" : [])].flat();
		if (value === undefined && variants.some((one) => types(one).includes("null"))) return null;
		const fitting = variants.find((one) => types(one).includes(kindOf(value))) ?? variants[0] ?? {};
		return complete(fitting, value, definitions);
	}
	if (Array.isArray(value)) return value.map((item) => complete(schema.items ?? {}, item, definitions));
	if (!isObject(value)) return value === undefined ? placeholder(schema, definitions) : value;
	const given = Object.keys(value).filter((name) => value[name] !== undefined);
	const names = new Set([...(schema.required ?? []), ...given]);
	return Object.fromEntries(
		[...names].map((name) => [name, complete(schema.properties?.[name] ?? {}, value[name], definitions)]),
	);
}

const placeholders: Readonly<Record<string, unknown>> = {
	...{ array: [], integer: 0, number: 0, boolean: false, string: "" },
	...{ "date-time": "2026-01-01T00:00:00Z", uri: "https://github.com" },
};

function placeholder(schema: Schema, definitions: Loaded["definitions"]): unknown {
	const [type = "", ...others] = [schema.type ?? []].flat();
	if (type === "null" || others.includes("null")) return null;
	if (schema.enum) return schema.enum[0];
	if (type === "object") return complete(schema, {}, definitions);
	return placeholders[schema.format ?? ""] ?? placeholders[type];
}

/** References point into the one stored schema. */
function rooted(value: unknown): unknown {
	return JSON.parse(JSON.stringify(value).replaceAll('"#/definitions/', '"api#/definitions/'));
}

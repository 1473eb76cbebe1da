// Holds requests and replies against GitHub's own description of its API.
import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";

interface Operation {
	query?: Record<string, unknown>;
	request?: unknown;
	requestRequired?: boolean;
	responses: Record<string, unknown>;
}

export interface Description {
	/** What is wrong with the query and the body of a request; empty if nothing is. */
	judgeRequest(operation: string, query: URLSearchParams, body: unknown): string[];
	/** What is wrong with a reply of ours. */
	judgeReply(operation: string, status: number, body: unknown): string[];
}

interface Loaded {
	operations: Record<string, Operation>;
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
	return { operations, ajv };
}

/** Read with the first request and compiled one by one: a service that starts must not wait for it. */
export function createDescription(): Description {
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

/** References point into the one stored schema. */
function rooted(value: unknown): unknown {
	return JSON.parse(JSON.stringify(value).replaceAll('"#/definitions/', '"api#/definitions/'));
}

// Writes test/support/local-github/api.json: the part of GitHub's own API description that the local GitHub speaks, as JSON Schema. `--check` only compares.
// Source: npm @octokit/openapi, api.github.com (MIT, Copyright (c) 2020 Octokit contributors).
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const target = "test/support/local-github/api.json";
const repository = "/repos/{owner}/{repo}";

/** Operations by path below the repository. */
const wanted: Readonly<Record<string, readonly string[]>> = {
	"": ["get"],
	"/issues": ["get", "post"],
	"/issues/{issue_number}": ["patch"],
	"/issues/{issue_number}/comments": ["get", "post"],
	"/issues/comments": ["get"],
	"/issues/comments/{comment_id}": ["patch", "delete"],
	"/pulls": ["get", "post"],
	"/pulls/{pull_number}": ["get", "patch"],
	"/check-runs": ["post"],
	"/check-runs/{check_run_id}": ["patch"],
	"/commits/{ref}/check-runs": ["get"],
	"/compare/{basehead}": ["get"],
	"/git/ref/{ref}": ["get"],
	"/git/refs": ["post"],
	"/git/refs/{ref}": ["patch"],
	"/git/blobs": ["post"],
	"/git/blobs/{file_sha}": ["get"],
	"/git/trees": ["post"],
	"/git/trees/{tree_sha}": ["get"],
	"/git/commits": ["post"],
	"/git/commits/{commit_sha}": ["get"],
	"/actions/runs": ["get"],
	"/actions/runs/{run_id}": ["get"],
	"/actions/runs/{run_id}/artifacts": ["get"],
	"/actions/runs/{run_id}/jobs": ["get"],
	"/actions/artifacts/{artifact_id}/{archive_format}": ["get"],
};

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const kept = new Set([
	...[
		"$ref",
		"type",
		"properties",
		"required",
		"items",
		"enum",
		"anyOf",
		"oneOf",
		"allOf",
		"additionalProperties",
	],
	...["maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "pattern", "format"],
]);

/** OpenAPI 3.0 writes null as `nullable`; JSON Schema as a type. Words for people go. */
function toJsonSchema(schema: unknown): unknown {
	if (!isObject(schema)) return schema;
	const entries = Object.entries(schema).filter(([key]) => kept.has(key));
	const plain: Json = Object.fromEntries(entries.map(([key, value]) => [key, convertLabel(key, value)]));
	if (schema["nullable"] !== true) return plain;
	if (typeof plain["type"] === "string") {
		const words = Array.isArray(plain["enum"]) ? { enum: [...new Set([...plain["enum"], null])] } : {};
		return { ...plain, ...words, type: [plain["type"], "null"] };
	}
	return { anyOf: [plain, { type: "null" }] };
}

function convertLabel(key: string, value: unknown): unknown {
	if (key === "$ref") return String(value).replace("#/components/schemas/", "#/definitions/");
	if (key === "properties" && isObject(value))
		return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toJsonSchema(inner)]));
	if (key === "required" || key === "enum" || key === "type") return value;
	return Array.isArray(value) ? value.map(toJsonSchema) : toJsonSchema(value);
}

function readDescription(): { description: Json; version: string } {
	const require = createRequire(import.meta.url);
	const folder = require.resolve("@octokit/openapi/package.json").replace(/package\.json$/, "");
	const { version } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
	return { description: JSON.parse(readFileSync(`${folder}generated/api.github.com.json`, "utf8")), version };
}

/** The object a path of names or a reference leads to. */
function lookUp(description: Json, path: readonly string[]): Json {
	let at: unknown = description;
	for (const name of path) at = isObject(at) ? at[name] : undefined;
	if (!isObject(at)) throw new Error(`${path.join("/")} is not in the description`);
	const reference = at["$ref"];
	return typeof reference === "string" ? lookUp(description, reference.slice(2).split("/")) : at;
}

function jsonSchemaOf(description: Json, holder: unknown): unknown {
	if (!isObject(holder)) return undefined;
	const whole =
		typeof holder["$ref"] === "string" ? lookUp(description, holder["$ref"].slice(2).split("/")) : holder;
	const content = whole["content"];
	if (!isObject(content)) return undefined;
	const media = content["application/json"];
	return isObject(media) ? toJsonSchema(media["schema"]) : undefined;
}

function describeOperation(description: Json, operation: Json): Json {
	const parameters = (operation["parameters"] as unknown[] | undefined) ?? [];
	const query: Json = {};
	for (const parameter of parameters) {
		const whole =
			isObject(parameter) && typeof parameter["$ref"] === "string"
				? lookUp(description, parameter["$ref"].slice(2).split("/"))
				: parameter;
		if (isObject(whole) && whole["in"] === "query")
			query[String(whole["name"])] = toJsonSchema(whole["schema"]);
	}
	const responses: Json = {};
	for (const [status, response] of Object.entries(operation["responses"] as Json)) {
		if (/^2/.test(status)) responses[status] = jsonSchemaOf(description, response) ?? null;
	}
	const body = operation["requestBody"];
	const request = jsonSchemaOf(description, body);
	return {
		...(Object.keys(query).length === 0 ? {} : { query }),
		...(request === undefined
			? {}
			: { request, requestRequired: isObject(body) && body["required"] === true }),
		responses,
	};
}

function referencesIn(value: unknown): string[] {
	return [...JSON.stringify(value).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(
		(match) => match[1] ?? "",
	);
}

function makeApi(): string {
	const { description, version } = readDescription();
	const operations: Json = {};
	for (const [below, methods] of Object.entries(wanted)) {
		for (const method of methods) {
			const path = repository + below;
			operations[`${method.toUpperCase()} ${path}`] = describeOperation(
				description,
				lookUp(description, ["paths", path, method]),
			);
		}
	}
	const definitions = new Map<string, unknown>();
	const open = referencesIn(operations);
	for (let name = open.pop(); name !== undefined; name = open.pop()) {
		if (definitions.has(name)) continue;
		const schema = toJsonSchema(lookUp(description, ["components", "schemas", name]));
		definitions.set(name, schema);
		open.push(...referencesIn(schema));
	}
	const sorted = Object.fromEntries([...definitions].sort(([a], [b]) => (a < b ? -1 : 1)));
	const source = {
		source: `npm @octokit/openapi ${version}, api.github.com.json, pruned by scripts/github-api.ts`,
		license: "MIT, Copyright (c) 2020 Octokit contributors",
	};
	return `${JSON.stringify({ ...source, operations, definitions: sorted })}\n`;
}

/** As `biome check` wants every file of the repository. */
function format(json: string): string {
	const argv = ["node_modules/@biomejs/biome/bin/biome", "format", `--stdin-file-path=${target}`];
	return execFileSync(process.execPath, argv, { input: json, encoding: "utf8", maxBuffer: 1 << 24 });
}

const text = format(makeApi());
if (process.argv.includes("--check")) {
	if (readFileSync(target, "utf8") !== text) {
		console.error(
			`${target} is not what scripts/github-api.ts makes of the installed @octokit/openapi; run it`,
		);
		process.exitCode = 1;
	}
} else writeFileSync(target, text);

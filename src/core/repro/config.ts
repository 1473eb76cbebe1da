// The config of one engine, `repro.json`: what its schema lets through of trtgate.yml, and of a stranger's folder.
import type { Repro, ReproModel } from "../../../generated/repro.ts";
import { validate } from "../../../generated/repro-validator.js";
import schema from "../../../golden-schema/repro.schema.json" with { type: "json" };
import { parseYaml } from "../config/yaml.ts";
import { ConfigError } from "../errors.ts";
import { fieldsOf, readJson } from "../found.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { toProblem } from "../schema-errors.ts";

/** @param text of a valid trtgate.yml. Plugins and flags stay: a replay may refuse them. */
export function reproConfig(
	text: string,
	{ model, engine }: EngineSpec,
	{ backend, onnx, golden }: Pick<Repro, "backend"> & Pick<ReproModel, "onnx" | "golden">,
): object {
	const { models, measure, ...file } = fieldsOf(readYaml(text, "trtgate.yml"));
	const own = fieldsOf(fieldsOf(models)[model.name]);
	const { [engine.name]: settings = { precision: engine.precision } } = fieldsOf(own["engines"]);
	const engines = { [engine.name]: only(settings, schema.$defs.engine) };
	const ofModel = { ...only(own, schema.$defs.model), onnx, golden, workloads: golden && [], engines };
	return {
		...{ ...only(file, schema), backend, probes: "off", models: { [model.name]: ofModel } },
		measure: { "build-timeout": fieldsOf(measure)["build-timeout"], "warm-up": "10ms", duration: "100ms" },
	};
}

function only(settings: unknown, { properties }: { properties: object }) {
	return Object.fromEntries(
		Object.entries(fieldsOf(settings)).filter(([key]) => Object.hasOwn(properties, key)),
	);
}

/** @throws ConfigError result-invalid if it asks for more, such as plugins or a flag that names a file. */
export function parseRepro(text: string, path: string): Repro {
	const invalid = (message: string, fix: string) =>
		new ConfigError({ code: "result-invalid", message: `${path}${message}.`, location: { path }, fix });
	const value = readJson(text, (got) => invalid(`: expected JSON, got ${got}`, "Unpack the folder again."));
	if (validate(value)) return value as Repro;
	const { pointer, expected, got } = toProblem(validate.errors ?? [], value, { schema, what: "an object" });
	throw invalid(
		`${pointer}: expected ${expected}, got ${got}`,
		"If you trust its author, run README.md's commands by hand.",
	);
}

function readYaml(text: string, path: string) {
	const yaml = parseYaml(text, path);
	if (yaml.state === "invalid") throw new AggregateError(yaml.errors);
	return yaml.value;
}

// The front of the config: trtgate.yml's text in, the resolved configuration or every error with its place out.
import type { ConfigError } from "../errors.ts";
import type { ConfigFile } from "../schema/config.ts";
import { validate } from "../schema/config-validator.js";
import type { Config, Occasion } from "./config.ts";
import { applyInputs } from "./inputs.ts";
import { type Origin, type Problem, toErrors } from "./problem.ts";
import { collect } from "./resolution.ts";
import { resolveConfig } from "./resolve.ts";
import { toProblems } from "./schema-errors.ts";
import { parseYaml } from "./yaml.ts";

export interface LoadOptions {
	/** Path of the file as the user wrote it, for messages. */
	path: string;
	/** Values of action inputs or flags that override the file's, by name; "" is not given. See `configInputs`. */
	inputs?: Readonly<Record<string, string>>;
	/** What the run is for, where some defaults are stricter. */
	occasion?: Occasion;
}

export type LoadResult = { state: "ok"; config: Config } | { state: "invalid"; errors: readonly ConfigError[] };

/** Never throws for what a user may write. */
export function loadConfig(text: string, options: LoadOptions): LoadResult {
	const yaml = parseYaml(text, options.path);
	if (yaml.state === "invalid") return yaml;
	const { value, inputs, problems } = applyInputs(yaml.value, options.inputs ?? {});
	const { path, occasion } = options;
	const origin: Origin = { path, positions: yaml.positions, inputs, ...(occasion === undefined ? {} : { occasion }) };
	const invalid = (all: readonly Problem[]): LoadResult => ({ state: "invalid", errors: toErrors(all, origin) });
	if (problems.length > 0) return invalid(problems);
	if (!validate(value)) return invalid(toProblems(validate.errors ?? [], value));
	const resolved = collect(resolveConfig(value as ConfigFile, origin), origin);
	if (resolved.state === "invalid") return invalid(resolved.problems);
	return { state: "ok", config: { ...resolved.value, sources: resolved.sources } };
}

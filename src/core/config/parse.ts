// The front of the config: trtgate.yml's text in, the resolved configuration or every error with its place out.
import type { ConfigError } from "../errors.ts";
import type { ConfigFile } from "../schema/config.ts";
import { validate } from "../schema/config-validator.js";
import type { CommandConfig, Config, Occasion } from "./config.ts";
import { defaultCommandTimeoutMs, defaultGates, defaultSettings } from "./defaults.ts";
import { inputLayer, occasionLayers, readLayer, resolveGates } from "./gates.ts";
import { applyInputs } from "./inputs.ts";
import { resolveMeasure, resolveRunners } from "./measure.ts";
import { resolveModels } from "./models.ts";
import { childPointer } from "./pointer.ts";
import { readProbes } from "./probes.ts";
import { collect, type Origin, orDefault, type Problem, problem, type Resolution, resolveEach, toErrors } from "./problem.ts";
import { toProblems } from "./schema-errors.ts";
import { checkRef, parseDuration } from "./values.ts";
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

/** All but the sources, which `collect` adds. */
function* resolveConfig(file: ConfigFile, origin: Origin): Resolution<Omit<Config, "sources">> {
	const fileLayer = yield* readLayer(file.gates, "/gates");
	const { occasion } = origin;
	const layers = occasion === undefined ? [fileLayer] : [occasionLayers[occasion], fileLayer];
	yield* noteGateDefaults(file, occasion);
	const probes = yield* readProbes(file.probes, "/probes");
	if (probes.when === undefined) yield { kind: "default", pointer: "/probes/when" };
	return {
		path: origin.path,
		backend: yield* orDefault("/backend", { given: file.backend, byDefault: defaultSettings.backend }),
		onnxruntime: yield* orDefault("/onnxruntime", { given: file.onnxruntime, byDefault: defaultSettings.onnxruntime }),
		...(file.device === undefined ? {} : { device: String(file.device) }),
		models: yield* resolveModels(file.models, { layers, inputs: inputLayer(fileLayer, origin.inputs), probes }),
		gates: yield* resolveGates(layers),
		measure: yield* resolveMeasure(file.measure ?? {}),
		runners: yield* resolveRunners(file.runners),
		preflight: yield* resolvePreflight(file.preflight ?? {}),
		baseline: yield* resolveBaseline(file.baseline ?? {}),
		...(file.history === undefined ? {} : { history: { when: "nightly" as const, ...file.history } }),
		profile: {
			nsys: yield* orDefault("/profile/nsys", { given: file.profile?.nsys, byDefault: defaultSettings.profile.nsys }),
			ncu: yield* orDefault("/profile/ncu", { given: file.profile?.ncu, byDefault: defaultSettings.profile.ncu }),
		},
		explain: yield* resolveExplain(file.explain ?? {}),
		cache: {
			engines: yield* orDefault("/cache/engines", { given: file.cache?.engines, byDefault: defaultSettings.cache.engines }),
			verdicts: yield* orDefault("/cache/verdicts", { given: file.cache?.verdicts, byDefault: defaultSettings.cache.verdicts }),
			timing: yield* orDefault("/cache/timing", { given: file.cache?.timing, byDefault: defaultSettings.cache.timing }),
		},
		...(file.comparators === undefined ? {} : { commands: yield* resolveCommands(file.comparators) }),
	};
}

function* noteGateDefaults(file: ConfigFile, occasion: Occasion | undefined): Resolution<void> {
	if (occasion !== undefined) {
		for (const name of occasionLayers[occasion].keys())
			yield { kind: "default", pointer: `/gates/${name.replace(".", "/")}`, because: occasion };
	}
	const golden = "/gates/golden/relative-l2";
	const pointers = [
		...limitsOf("latency", defaultGates.latency),
		...limitsOf("p99", defaultGates.p99),
		...limitsOf("memory", defaultGates.memory),
		...limitsOf("engine-size", defaultGates.engineSize),
		...limitsOf("build-time", defaultGates.buildTime),
		...limitsOf("soak-drift", defaultGates.soakDrift),
		...limitsOf("golden/error-growth", defaultGates.errorGrowth),
		"/gates/golden/existing",
		"/gates/inconclusive",
		"/gates/cpu-speed",
		"/gates/probes",
		"/gates/interface",
		"/gates/golden-change",
		"/gates/limit-change",
		...(file.gates?.golden?.["relative-l2"] === undefined
			? Object.keys(defaultGates.relativeL2).map((precision) => `${golden}/${precision}`)
			: []),
	];
	for (const pointer of pointers) yield { kind: "default", pointer };
}

function limitsOf(gate: string, threshold: object): string[] {
	return Object.keys(threshold).map((limit) => `/gates/${gate}/${limit}`);
}

function* resolvePreflight(file: NonNullable<ConfigFile["preflight"]>): Resolution<Config["preflight"]> {
	const strict = yield* orDefault("/preflight/strict", { given: file.strict, byDefault: defaultSettings.preflight.strict });
	return file.tensorrt === undefined ? { strict } : { tensorrt: file.tensorrt, strict };
}

function* resolveExplain(file: NonNullable<ConfigFile["explain"]>): Resolution<Config["explain"]> {
	const { budget } = file;
	const given = budget === undefined ? undefined : yield* parseDuration("/explain/budget", { text: budget });
	return {
		bisect: yield* orDefault("/explain/bisect", { given: file.bisect, byDefault: defaultSettings.explain.bisect }),
		budgetMs: yield* orDefault("/explain/budget", { given, byDefault: defaultSettings.explain.budgetMs }),
	};
}

function* resolveBaseline(file: NonNullable<ConfigFile["baseline"]>): Resolution<Config["baseline"]> {
	const from = yield* orDefault("/baseline/from", { given: file.from, byDefault: defaultSettings.baseline.from });
	const { ref } = file;
	if (from === "pinned" && ref === undefined) {
		const fix = "Add ref: with the tag, branch or commit to compare with.";
		yield problem({
			code: "config-value",
			pointer: "/baseline/from",
			says: "is pinned, but baseline.ref is missing",
			expected: "baseline.ref with a tag, branch or commit",
			fix,
		});
	}
	if (ref === undefined) return { from };
	yield* checkRef("/baseline/ref", ref);
	if (from !== "pinned") {
		const fix = "Write from: pinned, or remove ref.";
		yield problem({
			code: "config-value",
			pointer: "/baseline/ref",
			says: `is read only with from: pinned, and from is ${from}`,
			fix,
			at: "key",
		});
	}
	return { from, ref };
}

function* resolveCommands(file: NonNullable<ConfigFile["comparators"]>): Resolution<CommandConfig[]> {
	return yield* resolveEach(Object.entries(file), function* ([name, { command, timeout }]) {
		const pointer = `${childPointer("/comparators", name)}/timeout`;
		const given = timeout === undefined ? undefined : yield* parseDuration(pointer, { text: timeout });
		return {
			name,
			command: command as [string, ...string[]],
			timeoutMs: yield* orDefault(pointer, { given, byDefault: defaultCommandTimeoutMs }),
		};
	});
}

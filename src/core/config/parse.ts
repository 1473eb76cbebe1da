// Parses the text of trtgate.yml into the resolved configuration, or into all errors with their places.
import type { ConfigFile, MeasureFile, RunnerFile } from "../../../generated/config.ts";
import { validate } from "../../../generated/config-validator.js";
import type { ConfigError } from "../errors.ts";
import { childPointer, parsePointer } from "../found.ts";
import {
	type AcceptedChange,
	type CommandConfig,
	type Config,
	defaultMeasure,
	defaultSettings,
	type MeasureConfig,
	type ModelConfig,
	type Occasion,
	type RunnerConfig,
} from "./config.ts";
import { inputLayer, occasionLayer, readLayer, resolveGates } from "./gates.ts";
import { resolveLoad } from "./measure-load.ts";
import { readProbes, resolveModels } from "./models.ts";
import { type SchemaNode, schemaFor, toProblems } from "./schema-errors.ts";
import {
	collect,
	type Origin,
	type Problem,
	type Resolution,
	resolveEach,
	sourcesOf,
	toErrors,
} from "./source.ts";
import { checkName, checkRef, parseDuration, parseShare } from "./values.ts";
import { parseYaml } from "./yaml.ts";

export interface LoadOptions {
	path: string;
	inputs?: Readonly<Record<string, string>>;
	occasion?: Occasion | undefined;
}

export type LoadResult =
	| { state: "ok"; config: Config }
	| { state: "invalid"; errors: readonly ConfigError[] };

export function loadConfig(text: string, options: LoadOptions): LoadResult {
	const yaml = parseYaml(text, options.path);
	if (yaml.state === "invalid") return yaml;
	const { value, inputs } = applyInputs(yaml.value, options.inputs ?? {});
	const origin: Origin = { path: options.path, positions: yaml.positions, inputs };
	const invalid = (all: readonly Problem[]): LoadResult => ({
		state: "invalid",
		errors: toErrors(all, origin),
	});
	if (!validate(value)) return invalid(toProblems(validate.errors ?? [], value));
	const resolved = collect(resolveConfig(value as ConfigFile, origin, options.occasion));
	if (resolved.state === "invalid") return invalid(resolved.problems);
	const because = options.occasion;
	const stricter = [...occasionLayer(because).keys()].map((name) => [
		`/gates/${name.replace(".", "/")}`,
		{ kind: "default", because },
	]);
	return {
		state: "ok",
		config: { ...resolved.value, sources: { ...Object.fromEntries(stricter), ...sourcesOf(origin) } },
	};
}

function* resolveConfig(
	file: ConfigFile,
	origin: Origin,
	occasion: Occasion | undefined,
): Resolution<Omit<Config, "sources">> {
	const fileLayer = yield* readLayer(file.gates, "/gates");
	const layers = [occasionLayer(occasion), fileLayer];
	const probes = yield* readProbes(file.probes, "/probes");
	if (file.base !== undefined && file.backend === "onnxruntime") {
		const says = "names a TensorRT for the base, but backend is onnxruntime";
		yield { pointer: "/base", says, fix: "Remove base, or set backend to tensorrt.", at: "key" };
	}
	const { bisect, budget } = { ...defaultSettings.explain, ...file.explain };
	const explain = { bisect, budgetMs: yield* parseDuration("/explain/budget", { text: budget }) };
	const models = yield* resolveModels(file.models, {
		layers,
		inputs: inputLayer(fileLayer, origin.inputs),
		probes,
	});
	return {
		path: origin.path,
		backend: file.backend ?? defaultSettings.backend,
		onnxruntime: file.onnxruntime ?? defaultSettings.onnxruntime,
		device: file.device === undefined ? undefined : String(file.device),
		libraries: file.libraries,
		base: file.base,
		models,
		gates: yield* resolveGates(layers),
		measure: yield* resolveMeasure(file.measure ?? {}, models),
		runners: yield* resolveRunners(file.runners),
		preflight: { ...defaultSettings.preflight, ...file.preflight },
		baseline: yield* resolveBaseline(file.baseline ?? {}),
		history: file.history === undefined ? undefined : { when: "nightly" as const, ...file.history },
		profile: { ...defaultSettings.profile, ...file.profile },
		explain,
		cache: { ...defaultSettings.cache, ...file.cache },
		accept: file.accept === undefined ? undefined : yield* resolveAccept(file.accept),
		commands: file.comparators === undefined ? undefined : yield* resolveCommands(file.comparators),
	};
}

function* resolveBaseline(file: NonNullable<ConfigFile["baseline"]>): Resolution<Config["baseline"]> {
	const { from = defaultSettings.baseline.from, ref } = file;
	if (ref === undefined) {
		const expected = "baseline.ref with a tag, branch or commit";
		const fix = "Add ref: with the tag, branch or commit to compare with.";
		if (from === "pinned")
			yield { pointer: "/baseline/from", says: "is pinned, but baseline.ref is missing", expected, fix };
		return { from };
	}
	yield* checkRef("/baseline/ref", ref);
	const says = `is read only with from: pinned, and from is ${from}`;
	if (from !== "pinned")
		yield { pointer: "/baseline/ref", says, fix: "Write from: pinned, or remove ref.", at: "key" };
	return { from, ref };
}

function* resolveAccept(file: NonNullable<ConfigFile["accept"]>): Resolution<AcceptedChange[]> {
	return yield* resolveEach(file, function* ({ "at-most": most, ...entry }, index) {
		const pointer = `/accept/${index}`;
		const at = `${pointer}/at-most`;
		const share = yield* parseShare(at, most);
		if (share !== "off") return { ...entry, atMost: share, pointer };
		const fix = "Write the largest change that is accepted.";
		yield { pointer: at, says: "is off", expected: "a share such as 12%", fix };
		return { ...entry, atMost: 0, pointer };
	});
}

function* resolveCommands(file: NonNullable<ConfigFile["comparators"]>): Resolution<CommandConfig[]> {
	return yield* resolveEach(Object.entries(file), function* ([name, { command, timeout: text = "1m" }]) {
		const pointer = `${childPointer("/comparators", name)}/timeout`;
		const timeoutMs = yield* parseDuration(pointer, { text });
		return { name, command: command as [string, ...string[]], timeoutMs };
	});
}

const configInputs = {
	backend: "/backend",
	onnxruntime: "/onnxruntime",
	device: "/device",
	"base-trtexec": "/base/trtexec",
	"base-python": "/base/python",
	inconclusive: "/gates/inconclusive",
	pairs: "/measure/pairs",
	"warm-up": "/measure/warm-up",
	duration: "/measure/duration",
	timeout: "/measure/timeout",
	"build-timeout": "/measure/build-timeout",
	threads: "/measure/threads",
	tensorrt: "/preflight/tensorrt",
	strict: "/preflight/strict",
	baseline: "/baseline/from",
	"baseline-ref": "/baseline/ref",
};

function applyInputs(file: unknown, inputs: Readonly<Record<string, string>>) {
	const set = new Map<string, string>();
	let value = file;
	for (const [name, pointer] of Object.entries(configInputs)) {
		const text = inputs[name]?.trim() ?? "";
		if (text === "") continue;
		set.set(pointer, name);
		value = withValue(value, parsePointer(pointer), readText(text, schemaFor(pointer)));
	}
	return { value, inputs: set };
}

function readText(text: string, { type, items }: SchemaNode): unknown {
	if (type === "array") return text.split(",").map((part) => readText(part.trim(), items ?? {}));
	if (type === "integer") return /^\d{1,9}$/.test(text) ? Number(text) : text;
	return type === "boolean" && (text === "true" || text === "false") ? text === "true" : text;
}

function withValue(holder: unknown, path: readonly string[], value: unknown) {
	const [key, ...rest] = path;
	if (key === undefined) return value;
	if (holder !== undefined && (typeof holder !== "object" || holder === null || Array.isArray(holder)))
		return holder;
	const copy: Record<string, unknown> = Object.assign(Object.create(null), holder);
	copy[key] = withValue(copy[key], rest, value);
	return copy;
}

export const measureKeys = {
	pairs: "looks",
	"warm-up": "warmUpMs",
	duration: "durationMs",
	timeout: "timeoutMs",
	"build-timeout": "buildTimeoutMs",
	threads: "threads",
	rebuilds: "rebuilds",
	"unchanged-models": "unchangedModels",
	"identical-engines": "identicalEngines",
	"cuda-graph": "cudaGraph",
	transfers: "transfers",
	"spin-wait": "spinWait",
	"start-up": "startUp",
	"memory-growth": "memoryGrowth",
	load: "load",
} as const satisfies Record<keyof MeasureFile, keyof MeasureConfig>;

function* resolveMeasure(file: MeasureFile, models: readonly ModelConfig[]): Resolution<MeasureConfig> {
	const set: Record<string, unknown> = {};
	for (const [key, name] of Object.entries(measureKeys)) {
		const value = file[key as keyof MeasureFile];
		if (value === undefined || key === "load") continue;
		const isTime = name.endsWith("Ms");
		const options = { text: String(value), allowsZero: key === "warm-up" };
		set[name] = isTime ? yield* parseDuration(`/measure/${key}`, options) : value;
	}
	if (file.load !== undefined) set["load"] = yield* resolveLoad(file.load, models);
	const adaptsLength = file["warm-up"] === undefined && file.duration === undefined;
	const measure: MeasureConfig = { ...defaultMeasure, ...set, adaptsLength };
	const { looks, warmUpMs, durationMs, timeoutMs } = measure;
	if (looks.some((look, index) => look <= (looks[index - 1] ?? 0))) {
		const fix = `Write [${[...new Set(looks)].sort((left, right) => left - right).join(", ")}].`;
		const says = `is [${looks.join(", ")}]`;
		yield { pointer: "/measure/pairs", says, expected: "numbers of pairs that ascend", fix };
	}
	if (warmUpMs + durationMs >= timeoutMs) {
		const says = `is ${timeoutMs / 1000} s, and every run would be killed before its end`;
		const expected = `more than warm-up and duration together, ${(warmUpMs + durationMs) / 1000} s`;
		yield { pointer: "/measure/timeout", says, expected, fix: "Raise timeout, or shorten the runs." };
	}
	return measure;
}

function* resolveRunners(file: ConfigFile["runners"]): Resolution<RunnerConfig[]> {
	const seen = new Set<string>();
	return yield* resolveEach(file ?? [], function* (runner, index) {
		const pointer = childPointer("/runners", index);
		const { name, labels, engines = [], device, split = "none" } = runner;
		const at = `${pointer}/name`;
		yield* checkName(at, { name, what: "a runner", at: "value" });
		// Names become artifact names, which ignore case on some systems.
		const key = name.toLowerCase();
		const says = `is ${JSON.stringify(name)}, as another runner's`;
		const fix = "Rename one of them, or join their engines.";
		if (seen.has(key)) yield { pointer: at, says, expected: "a unique name", fix };
		seen.add(key);
		const gpu = device === undefined ? undefined : String(device);
		return { name, labels: labelsOf(labels), engines, device: gpu, split, pointer };
	});
}

function labelsOf(labels: RunnerFile["labels"]) {
	if (typeof labels === "string") return [labels];
	if (Array.isArray(labels) || (labels.labels ?? []).length > 0) return labels;
	return { group: labels.group };
}

// Turns a file that fits the schema into the configuration: fills in every default, checks every rule between values.
import type { ConfigFile } from "../schema/config.ts";
import type { CommandConfig, Config, Occasion } from "./config.ts";
import { defaultCommandTimeoutMs, defaultGates, defaultSettings } from "./defaults.ts";
import { inputLayer, occasionLayers, readLayer, resolveGates } from "./gates.ts";
import { resolveMeasure, resolveRunners } from "./measure.ts";
import { resolveModels } from "./models.ts";
import { childPointer } from "./pointer.ts";
import { readProbes } from "./probes.ts";
import type { Origin } from "./problem.ts";
import { orDefault, problem, type Resolution, resolveEach } from "./resolution.ts";
import { checkRef, parseDuration } from "./values.ts";

/** All but the sources, which `collect` adds. */
export function* resolveConfig(file: ConfigFile, origin: Origin): Resolution<Omit<Config, "sources">> {
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

export function* resolveCommands(file: NonNullable<ConfigFile["comparators"]>): Resolution<CommandConfig[]> {
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

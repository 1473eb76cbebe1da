// Turns a file that fits the schema into the configuration: every default filled in, every rule between values checked.
import type { ConfigFile } from "../schema/config.ts";
import { resolveCommands } from "./commands.ts";
import type { Complaint, Origin } from "./complaint.ts";
import type { Config } from "./config.ts";
import { defaultGates, defaultRest } from "./defaults.ts";
import { inputLayer, readLayer, resolveGates } from "./gates.ts";
import { resolveMeasure } from "./measure.ts";
import { resolveModels } from "./models.ts";
import { readProbes } from "./probes.ts";
import { complain, orDefault, type Resolving, startResolving } from "./resolving.ts";
import { resolveRunners } from "./runners.ts";
import { checkRef } from "./values.ts";

export function resolveConfig(file: ConfigFile, origin: Origin): { config: Config; complaints: readonly Complaint[] } {
	const resolving = startResolving(origin);
	const layer = readLayer(resolving, file.gates, "/gates");
	noteGateDefaults(resolving);
	const probes = readProbes(resolving, file.probes, "/probes");
	if (probes.when === undefined) resolving.sources["/probes/when"] ??= { kind: "default" };
	const config: Config = {
		path: origin.path,
		backend: orDefault(resolving, "/backend", { given: file.backend, byDefault: defaultRest.backend }),
		onnxruntime: orDefault(resolving, "/onnxruntime", { given: file.onnxruntime, byDefault: defaultRest.onnxruntime }),
		...(file.device === undefined ? {} : { device: String(file.device) }),
		models: resolveModels(resolving, file.models, { layer, inputs: inputLayer(resolving, layer), probes }),
		gates: resolveGates(resolving, [layer]),
		measure: resolveMeasure(resolving, file.measure ?? {}),
		runners: resolveRunners(resolving, file.runners),
		preflight: resolvePreflight(resolving, file.preflight ?? {}),
		baseline: resolveBaseline(resolving, file.baseline ?? {}),
		trend: resolveTrend(resolving, file.trend ?? {}),
		profile: {
			nsys: orDefault(resolving, "/profile/nsys", { given: file.profile?.nsys, byDefault: defaultRest.profile.nsys }),
			ncu: orDefault(resolving, "/profile/ncu", { given: file.profile?.ncu, byDefault: defaultRest.profile.ncu }),
		},
		cache: {
			engines: orDefault(resolving, "/cache/engines", { given: file.cache?.engines, byDefault: defaultRest.cache.engines }),
			timing: orDefault(resolving, "/cache/timing", { given: file.cache?.timing, byDefault: defaultRest.cache.timing }),
		},
		...(file.comparators === undefined ? {} : { commands: resolveCommands(resolving, file.comparators) }),
		sources: resolving.sources,
	};
	return { config, complaints: [...resolving.complaints.values()] };
}

function noteGateDefaults(resolving: Resolving): void {
	const pointers = [
		...limitsOf("latency", defaultGates.latency),
		...limitsOf("p99", defaultGates.p99),
		...limitsOf("memory", defaultGates.memory),
		...limitsOf("engine-size", defaultGates.engineSize),
		...limitsOf("build-time", defaultGates.buildTime),
		"/gates/inconclusive",
		"/gates/cpu-speed",
		"/gates/probes",
		"/gates/golden-change",
		"/gates/limit-change",
	];
	if (resolving.isRelease) resolving.sources["/gates/inconclusive"] ??= { kind: "default", because: "release" };
	for (const pointer of pointers) resolving.sources[pointer] ??= { kind: "default" };
	const golden = "/gates/golden/relative-l2";
	if (resolving.sources[golden]) return;
	for (const precision of Object.keys(defaultGates.relativeL2)) resolving.sources[`${golden}/${precision}`] ??= { kind: "default" };
}

function limitsOf(gate: string, threshold: object): string[] {
	return Object.keys(threshold).map((limit) => `/gates/${gate}/${limit}`);
}

function resolvePreflight(resolving: Resolving, file: NonNullable<ConfigFile["preflight"]>): Config["preflight"] {
	const strict = orDefault(resolving, "/preflight/strict", { given: file.strict, byDefault: defaultRest.preflight.strict });
	return file.tensorrt === undefined ? { strict } : { tensorrt: file.tensorrt, strict };
}

function resolveBaseline(resolving: Resolving, file: NonNullable<ConfigFile["baseline"]>): Config["baseline"] {
	const from = orDefault(resolving, "/baseline/from", { given: file.from, byDefault: defaultRest.baseline.from });
	const { ref } = file;
	if (from === "pinned" && ref === undefined) {
		const fix = "Add ref: with the tag, branch or commit to compare with.";
		complain(resolving, {
			code: "config-value",
			pointer: "/baseline/from",
			says: "is pinned, and no ref says to what",
			expected: "baseline.ref beside it",
			fix,
		});
	}
	if (ref === undefined) return { from };
	checkRef(resolving, "/baseline/ref", ref);
	if (from !== "pinned") {
		const fix = "Write from: pinned, or remove ref.";
		complain(resolving, {
			code: "config-value",
			pointer: "/baseline/ref",
			says: `is read only with from: pinned, and from is ${from}`,
			fix,
			at: "key",
		});
	}
	return { from, ref };
}

function resolveTrend(resolving: Resolving, file: NonNullable<ConfigFile["trend"]>): Config["trend"] {
	const branch = orDefault(resolving, "/trend/branch", { given: file.branch, byDefault: defaultRest.trend.branch });
	checkRef(resolving, "/trend/branch", branch);
	return { store: orDefault(resolving, "/trend/store", { given: file.store, byDefault: defaultRest.trend.store }), branch };
}

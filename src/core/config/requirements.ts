// The requirements of a config: one for each limit or switch, ordered so that the weaker of two is known.
import { probeNames } from "../golden/probes/plan.ts";
import { formatDuration, formatLimit, formatMs, formatTimes, formatValue } from "../text/units.ts";
import type { Config, EngineConfig, Gates, ModelConfig, Threshold, WorkloadConfig } from "./config.ts";
import { childPointer } from "./pointer.ts";
import { keepSelected } from "./select.ts";

export interface Requirement {
	/** As trtgate.yml has it: `gates.latency.fail`. */
	key: string;
	/** The larger, the weaker. Absent: not ordered, so any change needs a review. */
	laxness?: number;
	shown: string;
	/** Describes a weaker value; `is looser` by default. */
	weakerLabel?: string;
	/** Of the value in the config, or of the nearest mapping around it. */
	pointer: string;
}

type Level = { gates: Gates; pointer: string };

function limit(name: string, value: number | undefined, { format, level }: { format(value: number): string; level: Level }): Requirement {
	return {
		key: `gates.${name}`,
		laxness: value ?? Number.POSITIVE_INFINITY,
		shown: value === undefined ? "off" : format(value),
		pointer: level.gates.pointers[name] ?? level.pointer,
	};
}

function thresholds(name: string, { warn, fail }: Threshold, level: Level): Requirement[] {
	const format = name === "golden.error-growth" ? formatTimes : formatLimit;
	return [limit(`${name}.warn`, warn, { format, level }), limit(`${name}.fail`, fail, { format, level })];
}

/** @param strictestFirst all values that the key may have. */
function choice(
	key: string,
	value: string,
	{ strictestFirst, pointer }: { strictestFirst: readonly string[]; pointer: string },
): Requirement {
	return { key, laxness: strictestFirst.indexOf(value), shown: value, pointer };
}

function setting(name: string, value: string, { level, strictestFirst }: { level: Level; strictestFirst: readonly string[] }): Requirement {
	return choice(`gates.${name}`, value, { strictestFirst, pointer: level.gates.pointers[name] ?? level.pointer });
}

/** For settings that find less the lower they are. */
function lowest(key: string, value: number, { shown, pointer }: { shown: string; pointer: string }): Requirement {
	return { key, laxness: -value, shown, weakerLabel: "is lower", pointer };
}

const alarms = ["fail", "warn", "off"] as const;

/** The stricter of the settings of base and head. */
export function stricterAlarm(left: (typeof alarms)[number], right: (typeof alarms)[number] = "off"): (typeof alarms)[number] {
	return alarms.find((alarm) => alarm === left || alarm === right) ?? left;
}

/** Those of the engine itself, without its workloads. The limit of a golden without comparators is the one for the engine's own precision. */
export function engineRequirements(engine: EngineConfig): Requirement[] {
	const { gates, precision } = engine;
	const error = gates.relativeL2[precision];
	return [
		...thresholds("engine-size", gates.engineSize, engine),
		...thresholds("build-time", gates.buildTime, engine),
		{
			key: "gates.golden.relative-l2",
			laxness: error,
			shown: `${formatValue(error)} (${precision})`,
			pointer: gates.pointers[`golden.${precision}`] ?? engine.pointer,
		},
		...thresholds("golden.error-growth", gates.errorGrowth, engine),
		setting("golden.existing", gates.existing, { level: engine, strictestFirst: alarms }),
		setting("probes", gates.probes, { level: engine, strictestFirst: alarms }),
		setting("interface", gates.interface, { level: engine, strictestFirst: alarms }),
		setting("golden-change", gates.goldenChange, { level: engine, strictestFirst: alarms }),
		setting("limit-change", gates.limitChange, { level: engine, strictestFirst: alarms }),
	];
}

/** Its limits, and how much of the engine it covers: a workload may keep its name and cover less. */
export function workloadRequirements(workload: WorkloadConfig): Requirement[] {
	const { gates, dims, streams, pointer } = workload;
	const size = (name: string, value: number) => lowest(`workloads.${name}`, value, { shown: String(value), pointer });
	return [
		...thresholds("latency", gates.latency, workload),
		...thresholds("p99", gates.p99, workload),
		...thresholds("memory", gates.memory, workload),
		...thresholds("soak-drift", gates.soakDrift, workload),
		...thresholds("work", gates.work, workload),
		limit("max-latency", gates.maxLatencyMs, { format: formatMs, level: workload }),
		setting("inconclusive", gates.inconclusive, { level: workload, strictestFirst: ["fail", "neutral"] }),
		size("streams", streams),
		...Object.entries(dims).map(([name, value]) => size(`dims.${name}`, value)),
	];
}

export function modelRequirements({ probes }: ModelConfig): Requirement[] {
	const { when, only, pointer } = probes;
	const enabled = only.length === 0 ? probeNames : only;
	return [
		choice("probes", when, { strictestFirst: ["on", "nightly", "off"], pointer }),
		...enabled.map((name) => ({ key: `probe ${name}`, laxness: 0, shown: "enabled", pointer })),
	];
}

/** Its libraries and its Python decide as well what the base is compared on. */
function baseText({ base }: Config): string {
	const parts = Object.entries(base ?? {}).sort();
	return parts.length === 0 ? "on the head's TensorRT" : parts.map(([key, value]) => `${key} ${value}`).join(", ");
}

/** Those of the whole file. @param models those that both configs have, with the engines that both have. */
export function fileRequirements(config: Config, models: readonly ModelConfig[]): Requirement[] {
	const { measure, preflight, baseline } = config;
	const pairs = measure.looks.at(-1) ?? 0;
	const flag = (key: string, isOn: boolean) =>
		choice(key, String(isOn), { strictestFirst: ["true", "false"], pointer: `/${key.replace(".", "/")}` });
	return [
		choice("backend", config.backend, { strictestFirst: ["tensorrt", "auto", "onnxruntime"], pointer: "/backend" }),
		{ key: "baseline", shown: [baseline.from, baseline.ref ?? []].flat().join(" "), pointer: "/baseline" },
		{ key: "base", shown: baseText(config), pointer: "/base" },
		lowest("measure.pairs", pairs, { shown: `at most ${pairs}`, pointer: "/measure/pairs" }),
		lowest("measure.duration", measure.durationMs, { shown: formatDuration(measure.durationMs), pointer: "/measure/duration" }),
		flag("measure.transfers", measure.transfers),
		flag("preflight.strict", preflight.strict),
		...(preflight.tensorrt === undefined
			? []
			: [{ key: "preflight.tensorrt", laxness: 0, shown: preflight.tensorrt, pointer: "/preflight/tensorrt" }]),
		...(config.commands ?? []).map(({ name, command }) => ({
			key: `comparators.${name}`,
			shown: command.join(" "),
			pointer: childPointer("/comparators", name),
		})),
		...runnerRequirements(config.runners, models),
	];
}

/** One for each engine that a kind of runner measures. */
function runnerRequirements(runners: Config["runners"], models: readonly ModelConfig[]): Requirement[] {
	return runners.flatMap((runner) =>
		keepSelected(models, runner.engines).flatMap((model) =>
			model.engines.map(({ name }) => ({
				key: `${model.name}/${name} on runner ${runner.name}`,
				laxness: 0,
				shown: "measured there",
				pointer: runner.pointer,
			})),
		),
	);
}

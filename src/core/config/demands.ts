// What a config demands, one line a limit or switch, in an order that tells which of two demands is the weaker one.
import { probeNames } from "../golden/probes/plan.ts";
import { formatDuration, formatLimit, formatMs, formatValue } from "../text/units.ts";
import type { Config, EngineConfig, Gates, ModelConfig, Threshold, WorkloadConfig } from "./config.ts";
import { childPointer } from "./pointer.ts";
import { keepSelected } from "./select.ts";

export interface Demand {
	/** As trtgate.yml has it: `gates.latency.fail`. */
	key: string;
	/** The larger, the weaker. Absent: nobody can tell, so any change is for a person to look at. */
	looseness?: number;
	shown: string;
	/** What a weaker one is called; `is looser` where it is left out. */
	how?: string;
	/** Of what says so in the config, or of the nearest thing around it. */
	pointer: string;
}

type Level = { gates: Gates; pointer: string };

function limit(name: string, value: number | undefined, { format, level }: { format(value: number): string; level: Level }): Demand {
	return {
		key: `gates.${name}`,
		looseness: value ?? Number.POSITIVE_INFINITY,
		shown: value === undefined ? "off" : format(value),
		pointer: level.gates.pointers[name] ?? level.pointer,
	};
}

function thresholds(name: string, { warn, fail }: Threshold, level: Level): Demand[] {
	const format = formatLimit;
	return [limit(`${name}.warn`, warn, { format, level }), limit(`${name}.fail`, fail, { format, level })];
}

/** @param strictestFirst all values that the key may have. */
function choice(key: string, value: string, { strictestFirst, pointer }: { strictestFirst: readonly string[]; pointer: string }): Demand {
	return { key, looseness: strictestFirst.indexOf(value), shown: value, pointer };
}

function setting(name: string, value: string, { level, strictestFirst }: { level: Level; strictestFirst: readonly string[] }): Demand {
	return choice(`gates.${name}`, value, { strictestFirst, pointer: level.gates.pointers[name] ?? level.pointer });
}

/** Of what finds less the lower it is. */
function lowest(key: string, value: number, { shown, pointer }: { shown: string; pointer: string }): Demand {
	return { key, looseness: -value, shown, how: "is lower", pointer };
}

const alarms = ["fail", "warn", "off"] as const;

/** What base and head say of an alarm that only one of them may have set. */
export function stricterAlarm(left: (typeof alarms)[number], right: (typeof alarms)[number] = "off"): (typeof alarms)[number] {
	return alarms.find((alarm) => alarm === left || alarm === right) ?? left;
}

/** Of what is no workload. The limit of a golden without comparators is the one for the engine's own precision. */
export function engineDemands(engine: EngineConfig): Demand[] {
	const { gates, precision } = engine;
	const error = gates.relativeL2[precision];
	return [
		...thresholds("engine-size", gates.engineSize, engine),
		...thresholds("build-time", gates.buildTime, engine),
		{
			key: "gates.golden.relative-l2",
			looseness: error,
			shown: `${formatValue(error)} (${precision})`,
			pointer: gates.pointers[`golden.${precision}`] ?? engine.pointer,
		},
		setting("probes", gates.probes, { level: engine, strictestFirst: alarms }),
		setting("golden-change", gates.goldenChange, { level: engine, strictestFirst: alarms }),
		setting("limit-change", gates.limitChange, { level: engine, strictestFirst: alarms }),
	];
}

/** Its limits, and how much of the engine it tries: a name may stay and mean less. */
export function workloadDemands(workload: WorkloadConfig): Demand[] {
	const { gates, dims, streams, pointer } = workload;
	const size = (name: string, value: number) => lowest(`workloads.${name}`, value, { shown: String(value), pointer });
	return [
		...thresholds("latency", gates.latency, workload),
		...thresholds("p99", gates.p99, workload),
		...thresholds("memory", gates.memory, workload),
		limit("max-latency", gates.maxLatencyMs, { format: formatMs, level: workload }),
		setting("inconclusive", gates.inconclusive, { level: workload, strictestFirst: ["fail", "neutral"] }),
		setting("cpu-speed", gates.cpuSpeed, { level: workload, strictestFirst: ["fail", "warn"] }),
		size("streams", streams),
		...Object.entries(dims).map(([name, value]) => size(`dims.${name}`, value)),
	];
}

export function modelDemands({ probes }: ModelConfig): Demand[] {
	const { when, only, pointer } = probes;
	const asked = only.length === 0 ? probeNames : only;
	return [
		choice("probes", when, { strictestFirst: ["on", "nightly", "off"], pointer }),
		...asked.map((name) => ({ key: `probe ${name}`, looseness: 0, shown: "that it is asked", pointer })),
	];
}

/** Of the file as a whole. @param models those that both configs have, with the engines that both have. */
export function fileDemands(config: Config, models: readonly ModelConfig[]): Demand[] {
	const { measure, preflight, baseline } = config;
	const pairs = measure.looks.at(-1) ?? 0;
	const flag = (key: string, isOn: boolean) =>
		choice(key, String(isOn), { strictestFirst: ["true", "false"], pointer: `/${key.replace(".", "/")}` });
	return [
		choice("backend", config.backend, { strictestFirst: ["tensorrt", "auto", "onnxruntime"], pointer: "/backend" }),
		{ key: "baseline", shown: [baseline.from, baseline.ref ?? []].flat().join(" "), pointer: "/baseline" },
		lowest("measure.pairs", pairs, { shown: `at most ${pairs}`, pointer: "/measure/pairs" }),
		lowest("measure.duration", measure.durationMs, { shown: formatDuration(measure.durationMs), pointer: "/measure/duration" }),
		flag("measure.transfers", measure.transfers),
		flag("preflight.strict", preflight.strict),
		...(preflight.tensorrt === undefined
			? []
			: [{ key: "preflight.tensorrt", looseness: 0, shown: preflight.tensorrt, pointer: "/preflight/tensorrt" }]),
		...(config.commands ?? []).map(({ name, command }) => ({
			key: `comparators.${name}`,
			shown: command.join(" "),
			pointer: childPointer("/comparators", name),
		})),
		...runnerDemands(config.runners, models),
	];
}

/** One for each engine that a kind of runner measures. */
function runnerDemands(runners: Config["runners"], models: readonly ModelConfig[]): Demand[] {
	return runners.flatMap((runner) =>
		keepSelected(models, runner.engines).flatMap((model) =>
			model.engines.map(({ name }) => ({
				key: `${model.name}/${name} on runner ${runner.name}`,
				looseness: 0,
				shown: "that it is measured there",
				pointer: runner.pointer,
			})),
		),
	);
}

// The figures of a workload and of its runs.
import type {
	Arm,
	ArmStats,
	Comparison,
	GpuSummary,
	GpuUse,
	PerfRun,
	WorkloadResult,
} from "../../../generated/result.ts";
import { changeText, dash, intervalText } from "../compare/sentence.ts";
import { highest } from "../stats/quantile.ts";
import { cleanName } from "../text/escape.ts";
import { subjectName } from "../text/labels.ts";
import { formatBytes, formatCount, formatDuration, formatMs, formatPercent } from "../text/units.ts";
import {
	type Block,
	type Column,
	details,
	heading,
	long,
	numbers,
	numeric,
	plain,
	table,
} from "./section.ts";

const times = [
	["median", "medianMs"],
	["mean", "meanMs"],
	["min", "minMs"],
	["P90", "p90Ms"],
	["P95", "p95Ms"],
	["P99", "p99Ms"],
] as const;

type FigureRow = Record<Arm, string> & { name: string; change: string };

const figureColumns: readonly Column<FigureRow>[] = [
	heading("figure", ({ name }) => name),
	...(["base", "head", "change"] as const).map((key) => numeric<FigureRow>(key, (row) => row[key])),
];

/** nvidia-smi's figures are shares of time, not of the hardware. */
const useNames = {
	gpm: { sm: "SM utilisation", memory: "memory bandwidth" },
	"nvidia-smi": { sm: "time with a kernel running", memory: "time with memory active" },
	tegrastats: { sm: "GPU load", memory: "memory controller load" },
};

function shown(value: number | null | undefined, format: (value: number) => string) {
	return value == null ? "" : format(value);
}

function whole(value: number | null, unit: string) {
	return shown(value, (number) => `${Math.round(number)} ${unit}`);
}

function gpuRows({ gpu, runs }: WorkloadResult) {
	if (gpu === undefined) return [];
	const { base, head, cycles } = gpu;
	const source = (head ?? base)?.use?.source ?? "gpm";
	const use =
		(key: Exclude<keyof GpuUse, "source">) =>
		({ use: own }: GpuSummary) =>
			shown(own?.source === source ? own[key] : null, formatPercent);
	/** The peak of all valid runs, as far as the list of processes separates them. */
	const peak = (key: "ownMemoryBytes" | "otherMemoryBytes") => (_: GpuSummary, arm: Arm) => {
		const used = runs.filter((run) => run.arm === arm && run.state === "ok" && run.gpu !== undefined);
		return shown(highest(used.map((run) => run.gpu?.[key] ?? null)), formatBytes);
	};
	const figures: Record<string, (summary: GpuSummary, arm: Arm) => string> = {
		"SM clock": ({ smClockMhz }) => whole(smClockMhz, "MHz"),
		power: ({ powerW }) => whole(powerW, "W"),
		temperature: ({ temperatureC }) => whole(temperatureC, "°C"),
		"GPU memory in use": ({ memoryUsedBytes }) => shown(memoryUsedBytes, formatBytes),
		"GPU memory of the run's own process": peak("ownMemoryBytes"),
		"GPU memory of other processes": peak("otherMemoryBytes"),
		[useNames[source].sm]: use("smUtilisation"),
		[useNames[source].memory]: use("memoryBandwidth"),
		"SM occupancy": use("smOccupancy"),
		"tensor core activity": use("tensorActivity"),
		"clocks limited by": ({ throttleReasons }) =>
			throttleReasons
				.slice(0, 8)
				.map((reason) => cleanName(reason, 40))
				.join(", ") || "none",
	};
	const rows = Object.entries(figures).flatMap(([name, textOf]) => {
		const [before, after] = [base && textOf(base, "base"), head && textOf(head, "head")];
		return before || after ? [{ name, base: before || dash, head: after || dash, change: "" }] : [];
	});
	if (cycles === null) return rows;
	const change = formatPercent(cycles, { sign: true });
	return [...rows, { name: "change in GPU cycles", base: "", head: "", change }];
}

/** Levels beside a change are those of the compared pairs. */
export function figureBlocks(workload: WorkloadResult): Block[] {
	const { base, head, latency, p99, memory } = workload;
	if (base === null && head === null) return [];
	const compared: Partial<Record<keyof ArmStats, Comparison>> = { medianMs: latency, p99Ms: p99 };
	const row = (name: string, of: (stats: ArmStats) => string, change?: Comparison): FigureRow => {
		const text = (arm: Arm, stats: ArmStats | null) => {
			const level = change?.[arm];
			return level !== undefined ? formatMs(level) : stats === null ? dash : of(stats);
		};
		return {
			name: `${name}${change?.base === undefined ? "" : " (compared pairs)"}`,
			base: text("base", base),
			head: text("head", head),
			change: change?.estimate == null ? "" : `${changeText(change)} (${intervalText(change)})`,
		};
	};
	const rows = [
		...times.map(([name, key]) => row(name, (stats) => formatMs(stats[key]), compared[key])),
		row("throughput", ({ throughputPerSecond: rate }) =>
			rate === null ? dash : `${formatCount(Number(rate.toPrecision(4)))} / s`,
		),
		row("peak memory", ({ peakMemoryBytes: peak }) => (peak === null ? dash : formatBytes(peak)), memory),
		row("runs", ({ runs }) => formatCount(runs)),
		row("iterations", ({ iterations }) => formatCount(iterations)),
		...gpuRows(workload),
	];
	return details("All figures", [
		table(`figures of ${subjectName(workload)}`, figureColumns, rows, { noun: "figure" }),
	]);
}

const maxRuns = 300;

const runColumns: readonly Column<PerfRun>[] = [
	heading("order", ({ order }) => `${order + 1}`),
	numeric("pair", ({ pair }) => `${pair + 1}`),
	plain("side", ({ arm }) => arm),
	plain("state", ({ state }) => (state === "ok" ? "ok" : "discarded"), {
		tone: ({ state }) => (state === "ok" ? null : "open"),
	}),
	...times.flatMap(([name, key]) =>
		key === "p95Ms" ? [] : numbers(name, (run: PerfRun) => run[key], formatMs),
	),
	numbers("iterations", ({ iterations }) => iterations, formatCount),
	numbers("took", ({ wallMs }) => wallMs, formatDuration),
	long("reason", ({ reason }) => (reason === undefined ? "" : cleanName(reason, 200))),
];

export function runBlocks(workload: WorkloadResult): Block[] {
	if (workload.runs.length === 0) return [];
	const runs = [...workload.runs].sort((a, b) => a.order - b.order).slice(0, maxRuns);
	const hidden = workload.runs.length - runs.length;
	return details("Every run in figures", [
		table(`every run of ${subjectName(workload)}`, runColumns, runs, { noun: "run", hidden }),
	]);
}

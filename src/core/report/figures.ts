import type {
	Arm,
	ArmStats,
	Comparison,
	GpuSummary,
	GpuUse,
	GpuUseSource,
	PerfRun,
	WorkloadResult,
} from "../../../generated/result.ts";
import { highest } from "../telemetry/window.ts";
import { cleanName } from "../text/escape.ts";
import { subjectName } from "../text/labels.ts";
import { formatBytes, formatCount, formatDuration, formatMs, formatPercent } from "../text/units.ts";
import { changeText, dash, intervalText } from "./comparison-format.ts";
import type { Column } from "./html/markup.ts";
import { type Block, details, numbers, table } from "./section.ts";

type FigureRow = Record<Arm, string> & { name: string; change: string };

const figureColumns: readonly Column<FigureRow>[] = [
	{ title: "figure", heading: true, text: ({ name }) => name },
	{ title: "base", numeric: true, text: ({ base }) => base },
	{ title: "head", numeric: true, text: ({ head }) => head },
	{ title: "change", numeric: true, text: ({ change }) => change },
];

/** nvidia-smi's figures are shares of time, not of the hardware. */
const useNames: Readonly<Record<GpuUseSource, { sm: string; memory: string }>> = {
	gpm: { sm: "SM utilisation", memory: "memory bandwidth" },
	"nvidia-smi": { sm: "time with a kernel running", memory: "time with memory active" },
	tegrastats: { sm: "GPU load", memory: "memory controller load" },
};

function shown(value: number | null | undefined, format: (value: number) => string): string {
	return value == null ? "" : format(value);
}

function whole(value: number | null, unit: string): string {
	return shown(value, (number) => `${Math.round(number)} ${unit}`);
}

function gpuRows({ gpu, runs }: WorkloadResult): FigureRow[] {
	if (gpu === undefined) return [];
	const { base, head, cycles } = gpu;
	const source = (head ?? base)?.use?.source ?? "gpm";
	const use =
		(key: Exclude<keyof GpuUse, "source">) =>
		({ use: own }: GpuSummary): string =>
			shown(own?.source === source ? own[key] : null, formatPercent);
	/** The peak of all valid runs, as far as the list of processes separates them. */
	const peak =
		(key: "ownMemoryBytes" | "otherMemoryBytes") =>
		(_: GpuSummary, arm: Arm): string => {
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
	return cycles === null
		? rows
		: [
				...rows,
				{ name: "change in GPU cycles", base: "", head: "", change: formatPercent(cycles, { sign: true }) },
			];
}

/** Levels beside a change are those of the compared pairs. */
export function figureBlocks(workload: WorkloadResult): Block[] {
	const { base, head, latency, p99, memory } = workload;
	if (base === null && head === null) return [];
	const row = (name: string, of: (stats: ArmStats) => string, compared?: Comparison): FigureRow => {
		const text = (arm: Arm, stats: ArmStats | null): string => {
			const level = compared?.[arm];
			return level !== undefined ? formatMs(level) : stats === null ? dash : of(stats);
		};
		return {
			name: `${name}${compared?.base === undefined ? "" : " (compared pairs)"}`,
			base: text("base", base),
			head: text("head", head),
			change: compared?.estimate == null ? "" : `${changeText(compared)} (${intervalText(compared)})`,
		};
	};
	const rows = [
		row("median", ({ medianMs }) => formatMs(medianMs), latency),
		row("mean", ({ meanMs }) => formatMs(meanMs)),
		row("min", ({ minMs }) => formatMs(minMs)),
		row("P90", ({ p90Ms }) => formatMs(p90Ms)),
		row("P95", ({ p95Ms }) => formatMs(p95Ms)),
		row("P99", ({ p99Ms }) => formatMs(p99Ms), p99),
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
	{ title: "order", heading: true, text: ({ order }) => `${order + 1}` },
	{ title: "pair", numeric: true, text: ({ pair }) => `${pair + 1}` },
	{ title: "side", text: ({ arm }) => arm },
	{
		title: "state",
		text: ({ state }) => (state === "ok" ? "ok" : "discarded"),
		tone: ({ state }) => (state === "ok" ? null : "open"),
	},
	numbers("median", ({ medianMs }) => medianMs, formatMs),
	numbers("mean", ({ meanMs }) => meanMs, formatMs),
	numbers("min", ({ minMs }) => minMs, formatMs),
	numbers("P90", ({ p90Ms }) => p90Ms, formatMs),
	numbers("P99", ({ p99Ms }) => p99Ms, formatMs),
	numbers("iterations", ({ iterations }) => iterations, formatCount),
	numbers("took", ({ wallMs }) => wallMs, formatDuration),
	{
		title: "reason",
		wraps: true,
		text: ({ reason }) => (reason === undefined ? "" : cleanName(reason, 200)),
	},
];

export function runBlocks(workload: WorkloadResult): Block[] {
	if (workload.runs.length === 0) return [];
	const runs = [...workload.runs].sort((a, b) => a.order - b.order).slice(0, maxRuns);
	const hidden = workload.runs.length - runs.length;
	return details("Every run in figures", [
		table(`every run of ${subjectName(workload)}`, runColumns, runs, { noun: "run", hidden }),
	]);
}

// What the GPU did during the measured runs, as text.
import type {
	GpuRange,
	GpuSummary,
	GpuUse,
	GpuUseSource,
	GpuWindow,
	PerfRun,
	Result,
	WorkloadResult,
} from "../../../generated/result.ts";
import { highest } from "../telemetry/window.ts";
import { cleanName } from "../text/escape.ts";
import { formatBytes, formatCount, formatPercent } from "../text/units.ts";
import { dash } from "./comparison-format.ts";
import type { Fact } from "./facts.ts";

/** One quantity of the GPU, in each run's window. */
export interface GpuQuantity {
	name: string;
	unit: string;
	/** A difference that a plot must not blow up to its full height, in the quantity's own unit. */
	smallest: number;
	of(window: GpuWindow): GpuRange | null;
	format(value: number): string;
}

function whole(value: number): string {
	return String(Math.round(value));
}

function memoryRange({ memoryUsedBytes }: GpuWindow): GpuRange | null {
	return memoryUsedBytes === null
		? null
		: { mean: memoryUsedBytes, min: memoryUsedBytes, max: memoryUsedBytes };
}

/** Hardware counters alone: nvidia-smi's own figure means something else. They arrive once a second, so a run has only their mean. */
function counted({ use }: GpuWindow, of: (use: GpuUse) => number | null): GpuRange | null {
	const share = use?.source === "gpm" ? of(use) : null;
	return share === null ? null : { mean: share * 100, min: share * 100, max: share * 100 };
}

export const gpuQuantities: readonly GpuQuantity[] = [
	{ name: "SM clock", unit: "MHz", smallest: 60, of: (window) => window.smClockMhz, format: whole },
	{ name: "power", unit: "W", smallest: 10, of: (window) => window.powerW, format: whole },
	{ name: "temperature", unit: "°C", smallest: 4, of: (window) => window.temperatureC, format: whole },
	{ name: "memory used", unit: "", smallest: 64 * 1024 * 1024, of: memoryRange, format: formatBytes },
	{
		name: "SM utilisation",
		unit: "%",
		smallest: 10,
		of: (window) => counted(window, (use) => use.smUtilisation),
		format: whole,
	},
	{
		name: "memory bandwidth",
		unit: "%",
		smallest: 10,
		of: (window) => counted(window, (use) => use.memoryBandwidth),
		format: whole,
	},
];

export type WatchedRun = PerfRun & { gpu: GpuWindow };

export function watchedRuns(workload: WorkloadResult): WatchedRun[] {
	return workload.runs.flatMap((run) => (run.gpu === undefined ? [] : [{ ...run, gpu: run.gpu }]));
}

/** No GPU comes near it; a hostile file may hold any number. */
const maxOfAnything = 1e15;

/** The quantity in one run's window; null where there is nothing to draw. */
export function rangeIn(window: GpuWindow, quantity: GpuQuantity): GpuRange | null {
	const range = quantity.of(window);
	return range !== null && Object.values(range).every((value) => Math.abs(value) < maxOfAnything)
		? range
		: null;
}

/** `1,980 MHz`, `115 to 131 W`; null where no window has it. */
export function rangeText(windows: readonly GpuWindow[], quantity: GpuQuantity): string | null {
	const ranges = windows.flatMap((window) => rangeIn(window, quantity) ?? []);
	if (ranges.length === 0) return null;
	const low = quantity.format(
		ranges.reduce((least, { min }) => Math.min(least, min), Number.POSITIVE_INFINITY),
	);
	const high = quantity.format(
		ranges.reduce((most, { max }) => Math.max(most, max), Number.NEGATIVE_INFINITY),
	);
	const unit = quantity.unit === "" ? "" : ` ${quantity.unit}`;
	return low === high ? `${low}${unit}` : `${low} to ${high}${unit}`;
}

function reasonsText(reasons: readonly string[]): string {
	return reasons.length === 0
		? "none"
		: reasons
				.slice(0, 8)
				.map((reason) => cleanName(reason, 40))
				.join(", ");
}

interface GpuFigure {
	name: string;
	base: string;
	head: string;
	change: string;
}

/** nvidia-smi's own figures are shares of time, not of the hardware: they must not have the same names. */
const useNames: Readonly<Record<GpuUseSource, { sm: string; memory: string }>> = {
	gpm: { sm: "SM utilisation", memory: "memory bandwidth" },
	"nvidia-smi": { sm: "time with a kernel running", memory: "time with memory active" },
	tegrastats: { sm: "GPU load", memory: "memory controller load" },
};

/** Peak of our own processes and of all others, as far as the list of processes separates them. */
function memoryFigures(runs: readonly PerfRun[]): GpuFigure[] {
	const peak = (arm: PerfRun["arm"], of: (window: GpuWindow) => number | null | undefined): string => {
		const windows = runs.flatMap((run) =>
			run.arm === arm && run.state === "ok" && run.gpu !== undefined ? [run.gpu] : [],
		);
		return formatKnown(highest(windows.map((window) => of(window) ?? null)), formatBytes) ?? dash;
	};
	const row = (name: string, of: (window: GpuWindow) => number | null | undefined): GpuFigure[] => {
		const [base, head] = [peak("base", of), peak("head", of)];
		return base === dash && head === dash ? [] : [{ name, base, head, change: "" }];
	};
	return [
		...row("GPU memory of the run's own process", (window) => window.ownMemoryBytes),
		...row("GPU memory of other processes", (window) => window.otherMemoryBytes),
	];
}

/** What is known of the GPU on both sides, row by row. */
export function gpuFigures(gpu: NonNullable<WorkloadResult["gpu"]>, runs: readonly PerfRun[]): GpuFigure[] {
	const row = (
		name: string,
		of: (summary: GpuSummary) => string | null | undefined,
		change = "",
	): GpuFigure[] => {
		const [base, head] = [gpu.base, gpu.head].map((summary) =>
			summary === null ? null : (of(summary) ?? null),
		);
		return base == null && head == null ? [] : [{ name, base: base ?? dash, head: head ?? dash, change }];
	};
	const figure = (
		name: string,
		of: (summary: GpuSummary) => number | null | undefined,
		format: (value: number) => string,
	): GpuFigure[] => row(name, (summary) => formatKnown(of(summary), format));
	const source = (gpu.head ?? gpu.base)?.use?.source ?? "gpm";
	const use = (summary: GpuSummary) => (summary.use?.source === source ? summary.use : undefined);
	return [
		...figure(
			"SM clock",
			(summary) => summary.smClockMhz,
			(value) => `${whole(value)} MHz`,
		),
		...figure(
			"power",
			(summary) => summary.powerW,
			(value) => `${whole(value)} W`,
		),
		...figure(
			"temperature",
			(summary) => summary.temperatureC,
			(value) => `${whole(value)} °C`,
		),
		...figure("GPU memory in use", (summary) => summary.memoryUsedBytes, formatBytes),
		...memoryFigures(runs),
		...figure(useNames[source].sm, (summary) => use(summary)?.smUtilisation, formatPercent),
		...figure(useNames[source].memory, (summary) => use(summary)?.memoryBandwidth, formatPercent),
		...figure("SM occupancy", (summary) => use(summary)?.smOccupancy, formatPercent),
		...figure("tensor core activity", (summary) => use(summary)?.tensorActivity, formatPercent),
		...row("clocks limited by", (summary) => reasonsText(summary.throttleReasons)),
		...(gpu.cycles === null
			? []
			: [
					{
						name: "change in GPU cycles",
						base: "",
						head: "",
						change: formatPercent(gpu.cycles, { sign: true }),
					},
				]),
	];
}

function formatKnown(value: number | null | undefined, format: (value: number) => string): string | null {
	return value === null || value === undefined ? null : format(value);
}

/** The GPU over all timed runs of the job; nothing where none was watched. */
export function gpuFacts(result: Result): Fact[] {
	const windows = result.workloads.flatMap(watchedRuns).map(({ gpu }) => gpu);
	if (windows.length === 0) return [];
	const readings = windows.reduce((sum, window) => sum + window.samples, 0);
	const facts = gpuQuantities.flatMap((quantity) => {
		const value = rangeText(windows, quantity);
		return value === null ? [] : [{ label: `${quantity.name} while timing`, value }];
	});
	const reasons = [...new Set(windows.flatMap((window) => window.throttleReasons))].sort();
	return [
		...facts,
		{ label: "clocks limited by", value: reasonsText(reasons) },
		{ label: "GPU readings", value: `${formatCount(readings)} over ${formatCount(windows.length)} runs` },
	];
}

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

export interface GpuQuantity {
	name: string;
	unit: string;
	/** A difference that a plot must not blow up to its full height, in the quantity's own unit. */
	smallest: number;
	of(window: GpuWindow): GpuRange | null;
	format(value: number): string;
}

const whole = (value: number): string => String(Math.round(value));

function constant(value: number | null): GpuRange | null {
	return value === null ? null : { mean: value, min: value, max: value };
}

/** In percent, by hardware counters alone: nvidia-smi's own figure means something else. They arrive once a second, so a run has only their mean. */
function share({ use }: GpuWindow, figure: "smUtilisation" | "memoryBandwidth"): GpuRange | null {
	const value = use?.source === "gpm" ? use[figure] : null;
	return constant(value === null ? null : value * 100);
}

export const gpuQuantities: readonly GpuQuantity[] = [
	{ name: "SM clock", unit: " MHz", smallest: 60, of: ({ smClockMhz }) => smClockMhz, format: whole },
	{ name: "power", unit: " W", smallest: 10, of: ({ powerW }) => powerW, format: whole },
	{ name: "temperature", unit: " °C", smallest: 4, of: ({ temperatureC }) => temperatureC, format: whole },
	{
		name: "memory used",
		unit: "",
		smallest: 64 * 1024 * 1024,
		of: ({ memoryUsedBytes }) => constant(memoryUsedBytes),
		format: formatBytes,
	},
	{
		name: "SM utilisation",
		unit: " %",
		smallest: 10,
		of: (window) => share(window, "smUtilisation"),
		format: whole,
	},
	{
		name: "memory bandwidth",
		unit: " %",
		smallest: 10,
		of: (window) => share(window, "memoryBandwidth"),
		format: whole,
	},
];

export type WatchedRun = PerfRun & { gpu: GpuWindow };

export function watchedRuns(workload: WorkloadResult): WatchedRun[] {
	return workload.runs.flatMap((run) => (run.gpu === undefined ? [] : [{ ...run, gpu: run.gpu }]));
}

/** No GPU comes near it; a hostile file may hold any number. */
const maxOfAnything = 1e15;

export function rangeIn(window: GpuWindow, quantity: GpuQuantity): GpuRange | null {
	const range = quantity.of(window);
	const isDrawable = range !== null && Object.values(range).every((value) => Math.abs(value) < maxOfAnything);
	return isDrawable ? range : null;
}

/** `1,980 MHz`, `115 to 131 W`; null where no window has it. */
export function rangeText(windows: readonly GpuWindow[], quantity: GpuQuantity): string | null {
	const ranges = windows.flatMap((window) => rangeIn(window, quantity) ?? []);
	if (ranges.length === 0) return null;
	const low = quantity.format(ranges.reduce((least, { min }) => Math.min(least, min), Infinity));
	const high = quantity.format(ranges.reduce((most, { max }) => Math.max(most, max), -Infinity));
	return `${low === high ? low : `${low} to ${high}`}${quantity.unit}`;
}

function reasonsText(reasons: readonly string[]): string {
	const names = reasons.slice(0, 8).map((reason) => cleanName(reason, 40));
	return names.length === 0 ? "none" : names.join(", ");
}

/** nvidia-smi's own figures are shares of time, not of the hardware: they must not have the same names. */
const useNames: Readonly<Record<GpuUseSource, { sm: string; memory: string }>> = {
	gpm: { sm: "SM utilisation", memory: "memory bandwidth" },
	"nvidia-smi": { sm: "time with a kernel running", memory: "time with memory active" },
	tegrastats: { sm: "GPU load", memory: "memory controller load" },
};

/** What is known of the GPU on both sides, row by row. */
export function gpuFigures(
	{ base, head, cycles }: NonNullable<WorkloadResult["gpu"]>,
	runs: readonly PerfRun[],
): { name: string; base: string; head: string; change: string }[] {
	type Maybe<Value> = Value | null | undefined;
	const row = (name: string, texts: Record<"base" | "head", string | null>) =>
		texts.base === null && texts.head === null
			? []
			: [{ name, base: texts.base ?? dash, head: texts.head ?? dash, change: "" }];
	const shown = (value: Maybe<number>, format: (value: number) => string) =>
		value == null ? null : format(value);
	const figure = (
		name: string,
		of: (summary: GpuSummary) => Maybe<number>,
		format: (value: number) => string,
	) => row(name, { base: shown(base && of(base), format), head: shown(head && of(head), format) });
	const source = (head ?? base)?.use?.source ?? "gpm";
	const use = (name: string, key: Exclude<keyof GpuUse, "source">) =>
		figure(name, (summary) => (summary.use?.source === source ? summary.use[key] : null), formatPercent);
	/** The peak of all valid runs, as far as the list of processes separates them. */
	const memory = (name: string, key: "ownMemoryBytes" | "otherMemoryBytes") => {
		const peak = (arm: PerfRun["arm"]) => {
			const used = runs.filter((run) => run.arm === arm && run.state === "ok" && run.gpu !== undefined);
			return shown(highest(used.map(({ gpu }) => gpu?.[key] ?? null)), formatBytes);
		};
		return row(name, { base: peak("base"), head: peak("head") });
	};
	return [
		...figure(
			"SM clock",
			({ smClockMhz }) => smClockMhz,
			(value) => `${whole(value)} MHz`,
		),
		...figure(
			"power",
			({ powerW }) => powerW,
			(value) => `${whole(value)} W`,
		),
		...figure(
			"temperature",
			({ temperatureC }) => temperatureC,
			(value) => `${whole(value)} °C`,
		),
		...figure("GPU memory in use", ({ memoryUsedBytes }) => memoryUsedBytes, formatBytes),
		...memory("GPU memory of the run's own process", "ownMemoryBytes"),
		...memory("GPU memory of other processes", "otherMemoryBytes"),
		...use(useNames[source].sm, "smUtilisation"),
		...use(useNames[source].memory, "memoryBandwidth"),
		...use("SM occupancy", "smOccupancy"),
		...use("tensor core activity", "tensorActivity"),
		...row("clocks limited by", {
			base: base && reasonsText(base.throttleReasons),
			head: head && reasonsText(head.throttleReasons),
		}),
		...(cycles === null
			? []
			: [
					{ name: "change in GPU cycles", base: "", head: "", change: formatPercent(cycles, { sign: true }) },
				]),
	];
}

/** The GPU over all timed runs of the job; nothing where none was watched. */
export function gpuFacts(result: Result): Fact[] {
	const windows = result.workloads.flatMap(watchedRuns).map(({ gpu }) => gpu);
	if (windows.length === 0) return [];
	const readings = windows.reduce((sum, window) => sum + window.samples, 0);
	const reasons = [...new Set(windows.flatMap((window) => window.throttleReasons))].sort();
	return [
		...gpuQuantities.flatMap((quantity) => {
			const value = rangeText(windows, quantity);
			return value === null ? [] : [{ label: `${quantity.name} while timing`, value }];
		}),
		{ label: "clocks limited by", value: reasonsText(reasons) },
		{ label: "GPU readings", value: `${formatCount(readings)} over ${formatCount(windows.length)} runs` },
	];
}

// Every run of one workload, discarded ones included, and the figures of base and head side by side.
import type { Arm, ArmStats, Comparison, PerfRun, WorkloadResult } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatBytes, formatCount, formatDuration, formatMs } from "../../text/units.ts";
import { changeText, dash, intervalText } from "../comparison-format.ts";
import { gpuFigures } from "../gpu-format.ts";
import { type Column, folded, html, moreText, type Piece, sortableTable } from "./markup.ts";

const maxRuns = 300;

function time(title: string, figure: "medianMs" | "meanMs" | "minMs" | "p90Ms" | "p99Ms"): Column<PerfRun> {
	return {
		title,
		numeric: true,
		text: ({ [figure]: ms }) => (ms === undefined ? dash : formatMs(ms)),
		sortBy: ({ [figure]: ms = 0 }) => Number(ms.toPrecision(6)),
	};
}

const runColumns: readonly Column<PerfRun>[] = [
	{ title: "order", heading: true, text: ({ order }) => `${order + 1}` },
	{ title: "pair", numeric: true, text: ({ pair }) => `${pair + 1}` },
	{ title: "arm", text: ({ arm }) => arm },
	{
		title: "state",
		text: ({ state }) => (state === "ok" ? "ok" : "discarded"),
		tone: ({ state }) => (state === "ok" ? null : "open"),
	},
	time("median", "medianMs"),
	time("mean", "meanMs"),
	time("min", "minMs"),
	time("P90", "p90Ms"),
	time("P99", "p99Ms"),
	{
		title: "iterations",
		numeric: true,
		text: ({ iterations }) => (iterations === undefined ? dash : formatCount(iterations)),
		sortBy: ({ iterations }) => iterations ?? null,
	},
	{
		title: "took",
		numeric: true,
		text: ({ wallMs }) => formatDuration(wallMs),
		sortBy: ({ wallMs }) => wallMs,
	},
	{
		title: "reason",
		wraps: true,
		text: ({ reason }) => (reason === undefined ? "" : cleanName(reason, 200)),
	},
];

export function runsTable(workload: WorkloadResult): Piece {
	if (workload.runs.length === 0) return null;
	const runs = [...workload.runs].sort((a, b) => a.order - b.order).slice(0, maxRuns);
	return folded("Every run in figures", [
		sortableTable(`every run of ${subjectName(workload)}`, runColumns, runs),
		moreText(workload.runs.length - maxRuns, "runs"),
	]);
}

type FigureRow = Record<Arm, string> & { name: Piece; change: Piece };

const figureColumns: readonly Column<FigureRow>[] = [
	{ title: "figure", heading: true, cell: ({ name }) => name },
	{ title: "base", numeric: true, text: ({ base }) => base },
	{ title: "head", numeric: true, text: ({ head }) => head },
	{ title: "change", numeric: true, cell: ({ change }) => change },
];

/** Both sides' statistics; only what was compared has a change, and then stands there with the levels of the compared pairs. */
export function figuresTable(workload: WorkloadResult): Piece {
	const { base, head, latency, p99, memory, gpu, runs } = workload;
	if (base === null && head === null) return null;
	const row = (name: string, of: (stats: ArmStats) => string, compared?: Comparison): FigureRow => {
		const text = (arm: Arm, stats: ArmStats | null): string => {
			const level = compared?.[arm];
			return level !== undefined ? formatMs(level) : stats === null ? dash : of(stats);
		};
		return {
			name: html`${name}${compared?.base === undefined ? null : html`<small>compared pairs</small>`}`,
			base: text("base", base),
			head: text("head", head),
			change:
				compared === undefined || compared.estimate === null
					? ""
					: html`${changeText(compared)}<small>${intervalText(compared)}</small>`,
		};
	};
	const perSecond = (value: number | null): string =>
		value === null ? dash : `${formatCount(Number(value.toPrecision(4)))} / s`;
	const rows: FigureRow[] = [
		row("median", ({ medianMs }) => formatMs(medianMs), latency),
		row("mean", ({ meanMs }) => formatMs(meanMs)),
		row("min", ({ minMs }) => formatMs(minMs)),
		row("P90", ({ p90Ms }) => formatMs(p90Ms)),
		row("P95", ({ p95Ms }) => formatMs(p95Ms)),
		row("P99", ({ p99Ms }) => formatMs(p99Ms), p99),
		row("throughput", ({ throughputPerSecond }) => perSecond(throughputPerSecond)),
		row(
			"peak memory",
			({ peakMemoryBytes }) => (peakMemoryBytes === null ? dash : formatBytes(peakMemoryBytes)),
			memory,
		),
		row("runs", (stats) => formatCount(stats.runs)),
		row("iterations", (stats) => formatCount(stats.iterations)),
		...(gpu === undefined ? [] : gpuFigures(gpu, runs)),
	];
	return folded("All figures", sortableTable(`figures of ${subjectName(workload)}`, figureColumns, rows));
}

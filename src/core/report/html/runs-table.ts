// Every run of one workload, discarded ones included, and the figures of base and head side by side.
import type { Arm, ArmStats, Comparison, PerfRun, WorkloadResult } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatBytes, formatCount, formatDuration, formatMs } from "../../text/units.ts";
import { changeText, intervalText } from "../comparison-format.ts";
import { gpuFigures } from "../gpu-format.ts";
import { type Column, folded, html, moreText, type Piece, pill, sortableTable } from "./markup.ts";

const maxRuns = 300;

function time(title: string, of: (run: PerfRun) => number | undefined): Column<PerfRun> {
	return {
		title,
		numeric: true,
		cell: (run) => (of(run) === undefined ? "–" : formatMs(of(run) ?? 0)),
		sortBy: (run) => Number((of(run) ?? 0).toPrecision(6)),
	};
}

const runColumns: readonly Column<PerfRun>[] = [
	{ title: "order", heading: true, cell: (run) => run.order + 1 },
	{ title: "pair", numeric: true, cell: (run) => run.pair + 1 },
	{ title: "arm", cell: (run) => run.arm },
	{ title: "state", cell: (run) => (run.state === "ok" ? "ok" : pill("discarded", "open")) },
	time("median", (run) => run.medianMs),
	time("mean", (run) => run.meanMs),
	time("min", (run) => run.minMs),
	time("P90", (run) => run.p90Ms),
	time("P99", (run) => run.p99Ms),
	{
		title: "iterations",
		numeric: true,
		cell: (run) => (run.iterations === undefined ? "–" : formatCount(run.iterations)),
		sortBy: (run) => run.iterations ?? null,
	},
	{ title: "took", numeric: true, cell: (run) => formatDuration(run.wallMs), sortBy: (run) => run.wallMs },
	{
		title: "reason",
		wraps: true,
		cell: (run) => (run.reason === undefined ? "" : cleanName(run.reason, 200)),
	},
];

export function runsTable(workload: WorkloadResult): Piece {
	if (workload.runs.length === 0) return null;
	const runs = [...workload.runs].sort((a, b) => a.order - b.order).slice(0, maxRuns);
	const label = `every run of ${subjectName(workload)}`;
	return folded("Every run in figures", [
		sortableTable(label, runColumns, runs),
		moreText(workload.runs.length - maxRuns, "runs"),
	]);
}

interface Figure {
	name: string;
	of(stats: ArmStats): string;
	/** What was compared: its change, and the levels that this change lies between. */
	compared?: Comparison;
}

function perSecond(value: number | null): string {
	return value === null ? "–" : `${formatCount(Number(value.toPrecision(4)))} / s`;
}

function figures(workload: WorkloadResult): Figure[] {
	const { latency, p99, memory } = workload;
	return [
		{ name: "median", of: (stats) => formatMs(stats.medianMs), compared: latency },
		{ name: "mean", of: (stats) => formatMs(stats.meanMs) },
		{ name: "min", of: (stats) => formatMs(stats.minMs) },
		{ name: "P90", of: (stats) => formatMs(stats.p90Ms) },
		{ name: "P95", of: (stats) => formatMs(stats.p95Ms) },
		{ name: "P99", of: (stats) => formatMs(stats.p99Ms), compared: p99 },
		{ name: "throughput", of: (stats) => perSecond(stats.throughputPerSecond) },
		{
			name: "peak memory",
			of: (stats) => (stats.peakMemoryBytes === null ? "–" : formatBytes(stats.peakMemoryBytes)),
			compared: memory,
		},
		{ name: "runs", of: (stats) => formatCount(stats.runs) },
		{ name: "iterations", of: (stats) => formatCount(stats.iterations) },
	];
}

function changePiece(comparison: Comparison | undefined): Piece {
	if (comparison === undefined || comparison.estimate === null) return "";
	return html`${changeText(comparison)}<small>${intervalText(comparison)}</small>`;
}

function armText({ compared, of }: Figure, workload: WorkloadResult, arm: Arm): string {
	const [level, stats] = [compared?.[arm], workload[arm]];
	if (level !== undefined) return formatMs(level);
	return stats === null ? "–" : of(stats);
}

interface FigureRow {
	name: Piece;
	base: string;
	head: string;
	change: Piece;
}

const figureColumns: readonly Column<FigureRow>[] = [
	{ title: "figure", heading: true, cell: ({ name }) => name },
	{ title: "base", numeric: true, cell: ({ base }) => base },
	{ title: "head", numeric: true, cell: ({ head }) => head },
	{ title: "change", numeric: true, cell: ({ change }) => change },
];

/** Both sides' statistics; only what was compared has a change, and then stands there with the levels of the compared pairs. */
export function figuresTable(workload: WorkloadResult): Piece {
	if (workload.base === null && workload.head === null) return null;
	const rows = figures(workload).map((figure) => ({
		name: html`${figure.name}${figure.compared?.base === undefined ? null : html`<small>compared pairs</small>`}`,
		base: armText(figure, workload, "base"),
		head: armText(figure, workload, "head"),
		change: changePiece(figure.compared),
	}));
	const gpu = workload.gpu === undefined ? [] : gpuFigures(workload.gpu, workload.runs);
	return folded(
		"All figures",
		sortableTable(`figures of ${subjectName(workload)}`, figureColumns, [...rows, ...gpu]),
	);
}

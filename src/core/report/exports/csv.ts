// One row per workload as CSV (RFC 4180).
import type { ArmStats, Result, WorkloadResult } from "../../../../generated/result.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanText, shorten } from "../../text/escape.ts";

type Cell = string | number | null | undefined;
type Columns = Record<string, (workload: WorkloadResult, result: Result) => Cell>;

const lineEnd = "\r\n";
const longestText = 1000;

/** What a spreadsheet treats as the start of a formula, full-width forms included. */
const formulaStart = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

const columns: Columns = {
	model: ({ model }) => model,
	engine: ({ engine }) => engine,
	workload: ({ workload }) => workload,
	precision: ({ precision }) => precision,
	shapes: ({ shapes }) =>
		Object.entries(shapes)
			.map(([name, sizes]) => `${name}: ${sizes.join("×")}`)
			.join("; "),
	streams: ({ streams }) => streams,
	every_ms: ({ everyMs }) => everyMs,
	verdict: ({ verdict }) => verdict,
	reason: (workload) => comparedOf(workload).reason,
	...comparisonColumns("latency"),
	latency_pairs: ({ latency }) => latency.pairs,
	latency_pairs_set_aside: ({ latency }) => latency.setAside ?? (latency.pairs > 0 ? 0 : undefined),
	latency_base_ms: ({ latency }) => latency.base,
	latency_head_ms: ({ latency }) => latency.head,
	latency_confidence: ({ latency }) => latency.level,
	latency_minimal_effect_fraction: ({ latency }) => latency.minimalEffect,
	work_change_fraction: ({ work }) => work?.estimate,
	work_base_instructions: ({ work }) => work?.base,
	work_head_instructions: ({ work }) => work?.head,
	...comparisonColumns("p99"),
	...comparisonColumns("memory"),
	...armColumns("base"),
	...armColumns("head"),
	run_noise_fraction: ({ noise }) => noise.runCv,
	detectable_fraction: ({ noise }) => noise.detectable,
	replaced_runs: ({ replaced }) => replaced,
	backend: (_, { backend }) => backend.name,
	backend_version: (_, { backend }) => backend.version,
	device: (_, { backend }) => backend.device,
	caveat: (_, { backend }) => backend.caveat,
	base_commit: (_, { arms }) => arms.base?.commit,
	head_commit: (_, { arms }) => arms.head.commit,
	started_at: (_, { startedAt }) => startedAt,
};

export function renderCsv(result: Result): string {
	const rows = result.workloads.map((workload) =>
		Object.values(columns)
			.map((cell) => formatCell(cell(workload, result)))
			.join(","),
	);
	return [Object.keys(columns).join(","), ...rows, ""].join(lineEnd);
}

function comparisonColumns(name: "latency" | "p99" | "memory"): Columns {
	return {
		[`${name}_change_fraction`]: (workload) => workload[name].estimate,
		[`${name}_change_low_fraction`]: (workload) => workload[name].interval?.[0],
		[`${name}_change_high_fraction`]: (workload) => workload[name].interval?.[1],
	};
}

function armColumns(arm: "base" | "head") {
	const figures: readonly (keyof ArmStats)[] = [
		...(["runs", "iterations", "medianMs", "meanMs", "minMs", "p90Ms", "p95Ms", "p99Ms"] as const),
		...(["throughputPerSecond", "peakMemoryBytes"] as const),
	];
	// `throughputPerSecond` is the column `base_throughput_per_s`.
	const nameOf = (figure: string) =>
		figure.replace("Second", "S").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
	return Object.fromEntries(
		figures.map((figure) => [
			`${arm}_${nameOf(figure)}`,
			(workload: WorkloadResult) => workload[arm]?.[figure],
		]),
	);
}

function formatCell(cell: Cell) {
	if (cell === undefined || cell === null) return "";
	if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
	const text = cleanText(shorten(cell, longestText));
	const safe = formulaStart.test(text) ? `'${text}` : text;
	return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

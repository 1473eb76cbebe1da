// One row a workload as CSV (RFC 4180), for spreadsheets and data frames; units are in the headers.
import type { Comparison, Result, WorkloadResult } from "../../../../generated/result.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanText, shorten } from "../../text/escape.ts";

type Cell = string | number | null | undefined;
type Row = { workload: WorkloadResult; result: Result };
type Column = readonly [header: string, cell: (row: Row) => Cell];

/** RFC 4180: lines end in CRLF. */
const lineEnd = "\r\n";
const longestText = 1000;

/** What a spreadsheet takes for the start of a formula, full-width forms included. */
const formulaStart = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

const columns: readonly Column[] = [
	["model", ({ workload }) => workload.model],
	["engine", ({ workload }) => workload.engine],
	["workload", ({ workload }) => workload.workload],
	["precision", ({ workload }) => workload.precision],
	["shapes", ({ workload }) => shapesText(workload)],
	["streams", ({ workload }) => workload.streams],
	["verdict", ({ workload }) => workload.verdict],
	["reason", ({ workload }) => comparedOf(workload).reason],
	...comparisonColumns("latency", (workload) => workload.latency),
	["latency_pairs", ({ workload }) => workload.latency.pairs],
	[
		"latency_pairs_set_aside",
		({ workload }) => workload.latency.setAside ?? (workload.latency.pairs > 0 ? 0 : undefined),
	],
	["latency_base_ms", ({ workload }) => workload.latency.base],
	["latency_head_ms", ({ workload }) => workload.latency.head],
	["latency_confidence", ({ workload }) => workload.latency.level],
	["latency_minimal_effect_fraction", ({ workload }) => workload.latency.minimalEffect],
	["work_change_fraction", ({ workload }) => workload.work?.estimate],
	["work_base_instructions", ({ workload }) => workload.work?.base],
	["work_head_instructions", ({ workload }) => workload.work?.head],
	...comparisonColumns("p99", (workload) => workload.p99),
	...comparisonColumns("memory", (workload) => workload.memory),
	...armColumns("base"),
	...armColumns("head"),
	["run_noise_fraction", ({ workload }) => workload.noise.runCv],
	["detectable_fraction", ({ workload }) => workload.noise.detectable],
	["replaced_runs", ({ workload }) => workload.replaced],
	["backend", ({ result }) => result.backend.name],
	["backend_version", ({ result }) => result.backend.version],
	["device", ({ result }) => result.backend.device],
	["caveat", ({ result }) => result.backend.caveat],
	["base_commit", ({ result }) => result.arms.base?.commit],
	["head_commit", ({ result }) => result.arms.head.commit],
	["started_at", ({ result }) => result.startedAt],
];

export function renderCsv(result: Result): string {
	const header = columns.map(([name]) => name).join(",");
	const rows = result.workloads.map((workload) =>
		columns.map(([, cell]) => formatCell(cell({ workload, result }))).join(","),
	);
	return [header, ...rows, ""].join(lineEnd);
}

function comparisonColumns(name: string, of: (workload: WorkloadResult) => Comparison): readonly Column[] {
	return [
		[`${name}_change_fraction`, ({ workload }) => of(workload).estimate],
		[`${name}_change_low_fraction`, ({ workload }) => of(workload).interval?.[0]],
		[`${name}_change_high_fraction`, ({ workload }) => of(workload).interval?.[1]],
	];
}

function armColumns(arm: "base" | "head"): readonly Column[] {
	return [
		[`${arm}_runs`, ({ workload }) => workload[arm]?.runs],
		[`${arm}_iterations`, ({ workload }) => workload[arm]?.iterations],
		[`${arm}_median_ms`, ({ workload }) => workload[arm]?.medianMs],
		[`${arm}_mean_ms`, ({ workload }) => workload[arm]?.meanMs],
		[`${arm}_min_ms`, ({ workload }) => workload[arm]?.minMs],
		[`${arm}_p90_ms`, ({ workload }) => workload[arm]?.p90Ms],
		[`${arm}_p95_ms`, ({ workload }) => workload[arm]?.p95Ms],
		[`${arm}_p99_ms`, ({ workload }) => workload[arm]?.p99Ms],
		[`${arm}_throughput_per_s`, ({ workload }) => workload[arm]?.throughputPerSecond],
		[`${arm}_peak_memory_bytes`, ({ workload }) => workload[arm]?.peakMemoryBytes],
	];
}

function shapesText({ shapes }: WorkloadResult): string {
	return Object.entries(shapes)
		.map(([name, sizes]) => `${name}: ${sizes.join("×")}`)
		.join("; ");
}

/** What is not known is an empty cell, never a zero. */
function formatCell(cell: Cell): string {
	if (cell === undefined || cell === null) return "";
	if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
	const text = cleanText(shorten(cell, longestText));
	const safe = formulaStart.test(text) ? `'${text}` : text;
	return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

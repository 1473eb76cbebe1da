// The head's figures for other programs: Bencher, github-action-benchmark, OpenMetrics, and CSV (RFC 4180).
import type {
	ArmStats,
	BuildRecord,
	GoldenVerdict,
	LoadResult,
	MeasuredLoad,
	Result,
	WorkloadResult,
} from "../../../../generated/result.ts";
import { ofSlice } from "../../../golden/core/tensor/tensor.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanText, jsonText, shorten } from "../../text/escape.ts";
import { subjectName, withCaveat } from "../../text/labels.ts";
import { formatPercent } from "../../text/units.ts";
import { backendOf } from "../facts.ts";
import { loadName } from "../sections/serving.ts";

interface Figure {
	measure: string;
	title: string;
	unit: "ms" | "s" | "bytes" | "error" | "inferences/s" | "instructions";
	subject: string;
	value: number;
	spread?: readonly [number, number];
	extra?: string;
}

export function renderBencher(result: Result): string {
	const benchmarks = new Map<string, Map<string, object>>();
	for (const { subject, measure, value, unit, spread } of headFigures(result)) {
		const name = shorten(subject, 1024);
		// Bencher keeps its built-in measure `latency` in nanoseconds.
		const scale = unit === "ms" ? 1e6 : 1;
		const bounds = spread && { lower_value: spread[0] * scale, upper_value: spread[1] * scale };
		const measures = benchmarks.get(name) ?? new Map<string, object>();
		benchmarks.set(name, measures.set(shorten(measure, 64), { value: value * scale, ...bounds }));
	}
	// Entries, not assignments: a model may be called `__proto__`.
	const entries = [...benchmarks].map(([name, measures]) => [name, Object.fromEntries(measures)] as const);
	return jsonText(Object.fromEntries(entries));
}

/** Throughput stays out: that tool knows one direction for the whole file. */
export function renderBenchmark(result: Result): string {
	const entries = headFigures(result)
		.filter(({ measure }) => measure !== "throughput")
		.map(({ subject, title, unit, value, spread, extra }) => {
			return { name: `${subject} · ${title}`, unit, value, range: spread?.join(" … "), extra };
		});
	return jsonText(entries);
}

const units = { ms: ["_seconds", 1e-3], s: ["_seconds", 1], bytes: ["_bytes", 1] } as const;

/** OpenMetrics text, whose units are seconds and bytes: https://prometheus.io/docs/specs/om/open_metrics_spec/ */
export function renderMetrics(result: Result): string {
	const families = new Map<string, string[]>();
	for (const { measure, unit, subject, value } of headFigures(result)) {
		const [ending, scale] = unit in units ? units[unit as keyof typeof units] : (["", 1] as const);
		const name = `trtgate_${measure.replace(/[^A-Za-z0-9]/g, "_")}${ending}`;
		const label = shorten(subject, 200).replace(/[\\"]/g, "\\$&");
		const lines = families.get(name) ?? [`# TYPE ${name} gauge`];
		families.set(name, [...lines, `${name}{engine="${label}"} ${Number((value * scale).toPrecision(12))}`]);
	}
	return [...[...families.values()].flat(), "# EOF", ""].join("\n");
}

const runMeasures = [
	{ measure: "latency", title: "median latency", unit: "ms", of: "medianMs" },
	{ measure: "p99-latency", title: "P99 latency", unit: "ms", of: "p99Ms" },
	{ measure: "throughput", title: "throughput", unit: "inferences/s", of: "throughputPerSecond" },
	{ measure: "peak-memory", title: "peak memory", unit: "bytes", of: "peakMemoryBytes" },
] as const;

/** Leaves out what was not measured, because a zero would look like the best value. */
export function headFigures(result: Result): Figure[] {
	return [
		...timedRows(result).flatMap((workload) => ofWorkload(workload, result)),
		...result.builds
			.filter(({ arm, state }) => arm === "head" && state === "built")
			.flatMap((build) => ofBuild(build, result)),
		...(result.loads ?? []).flatMap((load) => ofLoad(load, result)),
		...(result.measuredLoads ?? []).flatMap((load) => ofMeasured(load, result)),
		...ofGoldens(result.golden),
	].filter((figure) => Number.isFinite(figure.value));
}

/** With a row for each size of a sweep. */
function timedRows({ workloads, sweeps = [] }: Result): WorkloadResult[] {
	const sizes = sweeps.flatMap(({ dim, part, points }) =>
		points.map(({ size, row }) => ({
			...row,
			workload: `${row.workload} · ${dim} ${size}`,
			part,
		})),
	);
	return [...workloads, ...sizes];
}

function ofWorkload(workload: WorkloadResult, result: Result): Figure[] {
	const { head, work, runs } = workload;
	const backend = backendOf(result, workload);
	const subject = withCaveat(subjectName(workload), backend);
	if (work?.head !== undefined)
		return [{ measure: "work", title: "work", unit: "instructions", subject, value: work.head }];
	if (head === null) return [];
	const extra = `${head.runs} runs, ${head.iterations} iterations on ${backend.device}`;
	const used = runs.filter(({ arm, state }) => arm === "head" && state === "ok");
	return runMeasures.flatMap(({ of, ...measure }): Figure[] => {
		const value = head[of];
		const values = used.flatMap((run) => run[of] ?? []);
		const spread = values.length < 2 ? undefined : ([Math.min(...values), Math.max(...values)] as const);
		return value === null ? [] : [{ ...measure, subject, value, extra, spread }];
	});
}

function ofLoad(load: LoadResult, result: Result): Figure[] {
	const point = load.points.find(({ share }) => share === 0.8);
	if (point?.head == null) return [];
	const subject = withCaveat(loadName(load), backendOf(result, load));
	return [{ measure: "p99-at-80", title: "P99 at 80 % load", unit: "ms", subject, value: point.head.p99Ms }];
}

function ofMeasured(load: MeasuredLoad, result: Result) {
	const [{ share, head } = { share: null, head: null }] = load.points;
	if (head === null) return [];
	const subject = withCaveat(loadName(load), backendOf(result, load));
	const at = share === null ? "its arrivals" : `${formatPercent(share, { digits: 0 })} load`;
	const { lowMs, highMs } = head.p99;
	const spread = lowMs === null || highMs === null ? undefined : ([lowMs, highMs] as const);
	const named = { measure: "p99-measured", title: `measured P99 at ${at}`, unit: "ms" } as const;
	return [{ ...named, subject, value: head.p99Ms, extra: `${head.requests} requests`, spread }];
}

function ofBuild(build: BuildRecord, result: Result): Figure[] {
	const subject = subjectName(build);
	const timed = withCaveat(subject, backendOf(result, build));
	// A cached engine was not built now; what is no number is left out.
	const seconds = build.fromCache === true ? NaN : build.durationMs / 1000;
	const bytes = build.engineBytes ?? NaN;
	return [
		{ measure: "build-time", title: "build time", unit: "s", subject: timed, value: seconds },
		{ measure: "file-size", title: "engine size", unit: "bytes", subject, value: bytes },
	];
}

function ofGoldens(golden: readonly GoldenVerdict[]) {
	const worst = new Map<string, Figure>();
	for (const { model, engine, part, case: name, checks } of golden) {
		const subject = subjectName({ model, engine, part });
		for (const { bound, got, metric, output, slice } of checks) {
			const key = JSON.stringify([subject, metric]);
			if (bound !== "at-most" || typeof got !== "number" || (worst.get(key)?.value ?? -1) >= got) continue;
			const extra = `worst case: ${subjectName({ model: name })}, output ${subjectName({ model: output })}${ofSlice(slice)}`;
			const measure = { measure: `golden-${metric}`, title: `golden ${metric}`, unit: "error" } as const;
			worst.set(key, { ...measure, subject, value: got, extra });
		}
	}
	return [...worst.values()];
}

type Cell = string | number | null | undefined;
type Columns = Record<string, (workload: WorkloadResult, result: Result) => Cell>;

const lineEnd = "\r\n";
const longestText = 1000;

/** What a spreadsheet treats as the start of a formula, full-width forms included. */
const formulaStart = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

const csvColumns: Columns = {
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
	const rows = timedRows(result).map((workload) =>
		Object.values(csvColumns)
			.map((cell) => formatCell(cell(workload, result)))
			.join(","),
	);
	return [Object.keys(csvColumns).join(","), ...rows, ""].join(lineEnd);
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

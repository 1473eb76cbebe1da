// The head's figures for programs that track numbers: the Bencher Metric Format, and the `customSmallerIsBetter` JSON of github-action-benchmark.

import type { GoldenVerdict, Result, WorkloadResult } from "../../../../generated/result.ts";
import { ofSlice } from "../../golden/tensor/slice.ts";
import { shorten } from "../../text/escape.ts";
import { subjectName, withCaveat } from "../../text/labels.ts";
import { backendOf } from "../facts.ts";

interface BencherMetric {
	value: number;
	lower_value?: number;
	upper_value?: number;
}

/** Bencher keeps its built-in measure `latency` in nanoseconds; the measures beside it in what their figure has. */
const nanosecondsInMs = 1e6;

/** https://bencher.dev/docs/reference/bencher-metric-format: names of benchmarks 1024, of measures 64 characters. */
const longest = { benchmark: 1024, measure: 64 } as const;

export function renderBencher(result: Result): string {
	const benchmarks = new Map<string, Map<string, BencherMetric>>();
	for (const figure of headFigures(result)) {
		const name = shorten(figure.subject, longest.benchmark);
		const measures = benchmarks.get(name) ?? new Map<string, BencherMetric>();
		measures.set(shorten(figure.measure, longest.measure), metricOf(figure));
		benchmarks.set(name, measures);
	}
	return `${JSON.stringify(asObject(benchmarks), null, "\t")}\n`;
}

/** Entries, not assignments: a model may be called `__proto__`. */
function asObject(benchmarks: ReadonlyMap<string, ReadonlyMap<string, BencherMetric>>): object {
	return Object.fromEntries([...benchmarks].map(([name, measures]) => [name, Object.fromEntries(measures)]));
}

function metricOf({ value, unit, spread }: Figure): BencherMetric {
	const scale = unit === "ms" ? nanosecondsInMs : 1;
	if (spread === undefined) return { value: value * scale };
	return { value: value * scale, lower_value: spread[0] * scale, upper_value: spread[1] * scale };
}

interface BenchmarkEntry {
	name: string;
	unit: string;
	value: number;
	range?: string;
	extra?: string;
}

/** Throughput stays out: that tool knows one direction for the whole file. */
export function renderBenchmark(result: Result): string {
	const entries = headFigures(result).flatMap((figure) => (figure.smallerIsBetter ? [entryOf(figure)] : []));
	return `${JSON.stringify(entries, null, "\t")}\n`;
}

function entryOf({ subject, title, unit, value, spread, extra }: Figure): BenchmarkEntry {
	return {
		name: `${subject} · ${title}`,
		unit,
		value,
		range: spread === undefined ? undefined : `${spread[0]} … ${spread[1]}`,
		extra,
	};
}

// The head's figures of one run, each with its unit, for programs that keep numbers: one list behind every such export.

interface Figure {
	/** What was measured, e.g. `classifier · fp16 · batch 8`; on ONNX Runtime with the caveat beside it. */
	subject: string;
	/** Lower case with hyphens, e.g. `p99-latency`. */
	measure: string;
	/** For people, e.g. `P99 latency`. */
	title: string;
	unit: "ms" | "s" | "bytes" | "error" | "inferences/s" | "instructions";
	smallerIsBetter: boolean;
	value: number;
	/** Lowest and highest of the runs, where there were several. */
	spread?: readonly [number, number];
	/** What else is to be known, e.g. how many runs. */
	extra?: string;
}

type RunNumber = "medianMs" | "p99Ms" | "throughputPerSecond" | "peakMemoryBytes";
type WorkloadMeasure = Pick<Figure, "measure" | "title" | "unit" | "smallerIsBetter"> & { of: RunNumber };

const workloadMeasures: readonly WorkloadMeasure[] = [
	{ measure: "latency", title: "median latency", unit: "ms", smallerIsBetter: true, of: "medianMs" },
	{ measure: "p99-latency", title: "P99 latency", unit: "ms", smallerIsBetter: true, of: "p99Ms" },
	{
		measure: "throughput",
		title: "throughput",
		unit: "inferences/s",
		smallerIsBetter: false,
		of: "throughputPerSecond",
	},
	{
		measure: "peak-memory",
		title: "peak memory",
		unit: "bytes",
		smallerIsBetter: true,
		of: "peakMemoryBytes",
	},
];

/** What was not measured has no figure: a zero would read as the best of all. */
export function headFigures(result: Result): Figure[] {
	return [
		...result.workloads.flatMap((workload) => ofWorkload(workload, result)),
		...result.builds.flatMap((build) =>
			build.arm === "head" && build.state === "built" ? ofBuild(build, result) : [],
		),
		...ofGoldens(result.golden),
	].filter((figure) => Number.isFinite(figure.value));
}

function ofWorkload(workload: WorkloadResult, result: Result): Figure[] {
	const { head, work } = workload;
	const backend = backendOf(result, workload);
	const subject = withCaveat(subjectName(workload), backend);
	if (work?.head !== undefined)
		return [
			{
				measure: "work",
				title: "work",
				unit: "instructions",
				smallerIsBetter: true,
				subject,
				value: work.head,
			},
		];
	if (head === null) return [];
	const extra = `${head.runs} runs, ${head.iterations} iterations on ${backend.device}`;
	return workloadMeasures.flatMap(({ of, ...measure }) => {
		const value = head[of];
		if (value === null) return [];
		return [{ ...measure, subject, value, extra, ...spreadOf(workload, of) }];
	});
}

function spreadOf(workload: WorkloadResult, of: RunNumber): Pick<Figure, "spread"> {
	const values = workload.runs.flatMap((run) =>
		run.arm === "head" && run.state === "ok" ? (run[of] ?? []) : [],
	);
	if (values.length < 2) return {};
	return { spread: [Math.min(...values), Math.max(...values)] };
}

function ofBuild(build: Result["builds"][number], result: Result): Figure[] {
	const backend = backendOf(result, build);
	const name = subjectName(build);
	const time = { measure: "build-time", title: "build time", unit: "s", smallerIsBetter: true } as const;
	const size = { measure: "file-size", title: "engine size", unit: "bytes", smallerIsBetter: true } as const;
	return [
		// A cached engine was not built now.
		...(build.fromCache === true
			? []
			: [{ ...time, subject: withCaveat(name, backend), value: build.durationMs / 1000 }]),
		...(build.engineBytes === undefined ? [] : [{ ...size, subject: name, value: build.engineBytes }]),
	];
}

/** The worst case of each engine and metric; a metric where more is better stays out of a list of errors. */
function ofGoldens(golden: readonly GoldenVerdict[]): Figure[] {
	const worst = new Map<string, Figure>();
	for (const verdict of golden) {
		const { model, engine, part } = verdict;
		for (const check of verdict.checks) {
			if (check.bound !== "at-most" || typeof check.got !== "number") continue;
			const subject = subjectName({ model, engine, part });
			const key = JSON.stringify([subject, check.metric]);
			const known = worst.get(key);
			if (known !== undefined && known.value >= check.got) continue;
			const extra = `worst case: ${subjectName({ model: verdict.case })}, output ${subjectName({ model: check.output })}${ofSlice(check.slice)}`;
			const fields = {
				measure: `golden-${check.metric}`,
				title: `golden ${check.metric}`,
				unit: "error",
				smallerIsBetter: true,
			} as const;
			worst.set(key, { ...fields, subject, value: check.got, extra });
		}
	}
	return [...worst.values()];
}

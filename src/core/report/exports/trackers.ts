// The head's figures for programs that track numbers: the Bencher Metric Format, and the `customSmallerIsBetter` JSON of github-action-benchmark.
import type { Result } from "../../schema/result.ts";
import { shorten } from "../../text/escape.ts";
import { type Figure, headFigures } from "./figures.ts";

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
		...(spread === undefined ? {} : { range: `${spread[0]} … ${spread[1]}` }),
		...(extra === undefined ? {} : { extra }),
	};
}

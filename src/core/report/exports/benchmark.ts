// The head's figures as the `customSmallerIsBetter` JSON of github-action-benchmark.
import type { Result } from "../../schema/result.ts";
import { type Figure, headFigures } from "./figures.ts";

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

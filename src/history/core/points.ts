// Reads the points of a series from records.
import type { EngineFacts, HistoryRecord, HistoryRow } from "../../../generated/history.ts";

export interface Run
	extends Pick<HistoryRecord, "at" | "by" | "label" | "commit" | "url" | "machine" | "method"> {
	/** Days since 1970, with a fraction. */
	day: number;
	reference?: string;
	pinCommit?: string;
	host?: string;
}

export interface Point {
	run: number;
	/** Logarithm; of latency, chained over pins. */
	level: number;
	error: number;
	/** Standard error of the chain's links so far. */
	linkError: number;
	/** NaN if unknown. */
	baseNs: number;
	headNs: number;
	fresh?: { level: number; half: number };
	made: { content: string; pin: string; structure?: string };
}

export interface PlacedRow {
	run: number;
	row: HistoryRow;
}

const msPerDay = 86_400_000;

export function runOf({ at, by, label, commit, url, reference, machine, method }: HistoryRecord): Run {
	return {
		at,
		// biome-ignore lint/style/noRestrictedGlobals: parsing a time reads no clock
		day: Date.parse(at) / msPerDay,
		by,
		label,
		commit,
		url,
		reference: reference?.label,
		pinCommit: reference?.commit,
		host: machine["gpuUuid"] ?? machine["host"],
		machine,
		method,
	};
}

/** Fields in which machines of one kind may differ. */
export const sameKind = new Set(["host", "gpuUuid", "recorded"]);

/** Only ratios of one kind of machine make a chain. */
export function kindOf({ machine }: Pick<Run, "machine">): string {
	return Object.entries(machine)
		.filter(([key]) => !sameKind.has(key))
		.sort(([left], [right]) => (left < right ? -1 : 1))
		.map((pair) => pair.join("="))
		.join("\n");
}

function madeOf({ head, base }: HistoryRow) {
	const contentOf = ({ model, recipe }: EngineFacts) => `${model} ${recipe}`;
	return { content: contentOf(head), pin: contentOf(base), structure: head.structure };
}

const million = 1e6;
/** An interval at 99 % over several looks has about this many standard errors. */
const intervalErrors = 3.3;

export function timedPoints(rows: readonly PlacedRow[]): Point[] {
	return rows.flatMap(({ run, row }) => {
		const { ratio, fresh, base, head } = row;
		if (ratio === undefined) return [];
		const error =
			ratio.sdPpm === undefined
				? ratio.halfPpm / million / intervalErrors
				: ratio.sdPpm / million / Math.sqrt(Math.max(1, ratio.pairs));
		return {
			run,
			level: ratio.ppm / million,
			error,
			linkError: 0,
			baseNs: base.ns ?? NaN,
			headNs: head.ns ?? NaN,
			fresh: fresh && { level: fresh.ppm / million, half: fresh.halfPpm / million },
			made: madeOf(row),
		};
	});
}

const leastValue = 1e-12;
/** Beyond these, points between equal neighbours are dropped. */
const plentyPoints = 100;

export function plainPoints(
	rows: readonly PlacedRow[],
	read: (row: HistoryRow) => number | undefined,
	kinds: readonly string[],
): Point[] {
	const values = rows.flatMap(({ run, row }) => {
		const value = read(row);
		return value === undefined || value < 0 ? [] : [{ run, row, value, kind: kinds[run] }];
	});
	const last = values.length - plentyPoints;
	const isRepeated = (at: number) =>
		at > plentyPoints &&
		at < last &&
		[-4, -3, -2, -1, 1].every(
			(step) =>
				values[at + step]?.value === values[at]?.value && values[at + step]?.kind === values[at]?.kind,
		);
	return values
		.filter((_, at) => !isRepeated(at))
		.map(({ run, row, value }) => ({
			run,
			level: Math.log(Math.max(value, leastValue)),
			error: 0,
			linkError: 0,
			baseNs: NaN,
			headNs: NaN,
			made: madeOf(row),
		}));
}

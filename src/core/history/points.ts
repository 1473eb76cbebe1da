// From the tables of a history to one value for each run of a series.
import type { Cell, Table } from "./columns.ts";
import { step } from "./columns.ts";

/** One run of the history, whatever it measured. */
export interface Run {
	at: string;
	/** Days since 1970, with a fraction. */
	day: number;
	label: string;
	commit?: string;
	url?: string;
	reference?: string;
	/** Commit of the pin. */
	pinCommit?: string;
	host?: string;
	machine: Readonly<Record<string, string>>;
	method: Readonly<Record<string, string>>;
}

/** What an engine was made from, and the pin that it was measured against. */
export interface Made {
	content: string;
	pin: string;
	structure?: string;
}

export interface Point {
	/** Index among the runs. */
	run: number;
	/** Logarithm; of latency chained, so that points of different pins compare. */
	level: number;
	/** Standard error of the measurement itself. */
	error: number;
	/** Of the chain: standard error of the links up to here. */
	linkError: number;
	/** Of one pair; NaN where it is not known, as are the times. */
	pairSd: number;
	/** Times of the pin and of the engine, for reading. */
	baseNs: number;
	headNs: number;
	/** Measured again on fresh pairs, chained in the same way. */
	fresh?: { level: number; half: number };
	made: Made;
}

/** Tells machines of one fingerprint apart; all other fields must match. */
export const sameKind = new Set(["host", "gpuUuid", "recorded"]);
const million = 1e6;

/** Days since 1970 of an ISO 8601 time in UTC. */
export function dayOf(at: string): number {
	const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = at.split(/[-T:Z]/).map(Number);
	// Years from March, so that the leap day is the last.
	const from = month > 2 ? year : year - 1;
	const days =
		Math.floor(365.25 * from) -
		Math.floor(from / 100) +
		Math.floor(from / 400) +
		Math.floor((153 * ((month + 9) % 12) + 2) / 5);
	return days + day - 719_469 + (hour + minute / 60 + second / 3600) / 24;
}

type Column = readonly (Cell | undefined)[];

/** Columns over all tables, in order of time. */
export class Columns {
	readonly #tables: readonly Table[];
	/** Table and place of each run. */
	readonly #order: readonly (readonly [table: number, at: number])[];

	constructor(tables: readonly Table[]) {
		this.#tables = tables;
		const all = tables.flatMap(({ names, columns }, table) =>
			names.map((_, at) => [table, at, String(columns.get("at")?.[at] ?? "")] as const),
		);
		this.#order = all
			.sort((left, right) => (left[2] < right[2] ? -1 : 1))
			.map(([table, at]) => [table, at] as const);
	}

	get(path: string): Column {
		const own = this.#tables.map(({ columns }) => columns.get(path));
		return this.#order.map(([table, at]) => own[table]?.[at]);
	}

	paths(): Set<string> {
		return new Set(this.#tables.flatMap(({ columns }) => [...columns.keys()]));
	}
}

export interface Reader {
	columns: Columns;
	runs: readonly Run[];
	/** Fingerprint of each run's machine. */
	kinds: readonly string[];
}

export function readRuns(columns: Columns, paths: ReadonlySet<string>): Run[] {
	const words = (group: string) =>
		[...paths]
			.filter((path) => path.startsWith(`${group}${step}`))
			.map((path) => [path.slice(group.length + 1), columns.get(path)] as const);
	const [machine, method] = [words("machine"), words("method")];
	const texts = {
		commit: columns.get("commit"),
		url: columns.get("url"),
		reference: columns.get(`reference${step}label`),
		pinCommit: columns.get(`reference${step}commit`),
	};
	const label = columns.get("label");
	return columns.get("at").map((at, index) => {
		const pick = (of: typeof machine) =>
			Object.fromEntries(
				of.flatMap(([key, column]) => (column[index] === undefined ? [] : [[key, String(column[index])]])),
			);
		const own = pick(machine);
		const named = Object.entries(texts).flatMap(([key, column]) =>
			column[index] === undefined ? [] : [[key, String(column[index])]],
		);
		const host = own["gpuUuid"] ?? own["host"];
		return {
			at: String(at),
			day: dayOf(String(at)),
			label: String(label[index] ?? ""),
			...Object.fromEntries(named),
			host,
			machine: own,
			method: pick(method),
		};
	});
}

/** The fingerprint of a machine: only ratios of one fingerprint make a chain. */
export function kindOf({ machine }: Pick<Run, "machine">): string {
	return Object.entries(machine)
		.filter(([key]) => !sameKind.has(key))
		.sort(([left], [right]) => (left < right ? -1 : 1))
		.map((pair) => pair.join("="))
		.join("\n");
}

function numberAt(column: Column, at: number): number | undefined {
	const cell = column[at];
	return typeof cell === "number" ? cell : undefined;
}

function fieldsOf(row: string, names: readonly string[], { columns }: Reader): Record<string, Column> {
	return Object.fromEntries(
		names.map((name) => [name, columns.get(`${row}${step}${name.replaceAll("/", step)}`)]),
	);
}

const timedFields = [
	"ratio/ppm",
	"ratio/halfPpm",
	"ratio/pairs",
	"ratio/sdPpm",
	"fresh/ppm",
	"fresh/halfPpm",
	"base/ns",
	"head/ns",
];

/** An interval at 99 % over several looks reaches about this many standard errors. */
const intervalErrors = 3.3;

export function timedPoints(row: string, made: readonly Made[], reader: Reader): Point[] {
	const fields = fieldsOf(row, timedFields, reader);
	const [ppm, half, pairs, sd, freshPpm, freshHalf, baseNs, headNs] = timedFields.map(
		(name) => fields[name] ?? [],
	);
	const points: Point[] = [];
	for (const [run, own] of made.entries()) {
		const figure = (column: Column = []): number => numberAt(column, run) ?? Number.NaN;
		const level = figure(ppm) / million;
		if (Number.isNaN(level)) continue;
		const pairSd = figure(sd) / million;
		const error = Number.isNaN(pairSd)
			? figure(half) / million / intervalErrors
			: pairSd / Math.sqrt(Math.max(1, figure(pairs)));
		const fresh = figure(freshPpm) / million;
		const point: Point = {
			run,
			level,
			error,
			linkError: 0,
			pairSd,
			baseNs: figure(baseNs),
			headNs: figure(headNs),
			made: own,
		};
		if (!Number.isNaN(fresh)) point.fresh = { level: fresh, half: figure(freshHalf) / million };
		points.push(point);
	}
	return points;
}

/** What the engine of each run was made from; one object for neighbours that are the same. */
export function readMade(row: string, reader: Reader): Made[] {
	const fields = fieldsOf(
		row,
		["head/model", "head/recipe", "head/structure", "base/model", "base/recipe"],
		reader,
	);
	const columns = Object.values(fields);
	let last: readonly (Cell | undefined)[] = [];
	let made: Made = { content: "", pin: "" };
	return reader.runs.map((_, run) => {
		const cells = columns.map((column) => column[run]);
		if (last.length > 0 && cells.every((cell, index) => cell === last[index])) return made;
		last = cells;
		const [model, recipe, structure, pinModel, pinRecipe] = cells;
		made = {
			content: `${model} ${recipe}`,
			pin: `${pinModel} ${pinRecipe}`,
			structure: structure === undefined ? undefined : String(structure),
		};
		return made;
	});
}

/** Smaller errors are rounding. */
const leastValue = 1e-12;

/** A figure that stays the same tells nothing new after so many points; its changes and the points around them always do. */
const plentyPoints = 100;

export function plainPoints(path: string, made: readonly Made[], reader: Reader): Point[] {
	const column = reader.columns.get(path);
	const points: Point[] = [];
	for (const [run, own] of made.entries()) {
		const value = numberAt(column, run);
		if (value === undefined || value < 0) continue;
		const isSame =
			points.length > plentyPoints &&
			[1, 2, 3, 4].every(
				(back) => column[run - back] === value && reader.kinds[run - back] === reader.kinds[run],
			) &&
			column[run + 1] === value;
		if (isSame && run < reader.runs.length - plentyPoints) continue;
		const level = Math.log(Math.max(value, leastValue));
		points.push({
			run,
			level,
			error: 0,
			linkError: 0,
			pairSd: Number.NaN,
			baseNs: Number.NaN,
			headNs: Number.NaN,
			made: own,
		});
	}
	return points;
}

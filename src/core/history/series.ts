// From the tables of a history to its series: one value for each run, levels chained over changes of the pin, epochs by machine.
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
	accepted?: string;
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

export type Metric = "latency" | "control" | "memory" | "size" | "error";

/** A series on machines of one fingerprint: only these levels compare. */
export interface Chain {
	id: string;
	series: string;
	metric: Metric;
	/** Of a golden: output and metric. */
	name?: string;
	/** Machine fields by which it differs from the chain before it. */
	changed: readonly string[];
	points: readonly Point[];
	/** Places among the points where a new pin begins. */
	joints: readonly number[];
}

export interface Series {
	runs: readonly Run[];
	chains: readonly Chain[];
}

/** Tells machines of one fingerprint apart; all other fields must match. */
const sameKind = new Set(["host", "gpuUuid", "recorded"]);
const million = 1e6;

/** Days since 1970 of an ISO 8601 time in UTC. */
export function dayOf(at: string): number {
	const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = at.split(/[-T:Z]/).map(Number);
	// Years from March, so that the leap day is the last.
	const from = month > 2 ? year : year - 1;
	const days = Math.floor(365.25 * from) - Math.floor(from / 100) + Math.floor(from / 400) + Math.floor((153 * ((month + 9) % 12) + 2) / 5);
	return days + day - 719_469 + (hour + minute / 60 + second / 3600) / 24;
}

type Column = readonly (Cell | undefined)[];

/** Columns over all tables, in order of time. */
class Columns {
	readonly #tables: readonly Table[];
	/** Table and place of each run. */
	readonly #order: readonly (readonly [table: number, at: number])[];

	constructor(tables: readonly Table[]) {
		this.#tables = tables;
		const all = tables.flatMap(({ names, columns }, table) =>
			names.map((_, at) => [table, at, String(columns.get("at")?.[at] ?? "")] as const),
		);
		this.#order = all.sort((left, right) => (left[2] < right[2] ? -1 : 1)).map(([table, at]) => [table, at] as const);
	}

	get(path: string): Column {
		const own = this.#tables.map(({ columns }) => columns.get(path));
		return this.#order.map(([table, at]) => own[table]?.[at]);
	}

	paths(): Set<string> {
		return new Set(this.#tables.flatMap(({ columns }) => [...columns.keys()]));
	}
}

export function readSeries(tables: readonly Table[]): Series {
	const columns = new Columns(tables);
	const paths = columns.paths();
	const runs = readRuns(columns, paths);
	const kinds = runs.map(kindOf);
	const rows = new Map<string, { series: string; kind: string; row: string; errors: string[] }>();
	for (const path of paths) {
		const [first, series = "", kind = "", count = "", key, name] = path.split(step);
		if (first !== "rows") continue;
		const row = ["rows", series, kind, count].join(step);
		const known = rows.get(row) ?? { series, kind, row, errors: [] };
		rows.set(row, known);
		if (key === "errors" && name !== undefined) known.errors.push(name);
	}
	const links = [...rows.values()].filter(({ kind }) => kind === "link");
	const reader: Reader = { columns, runs, kinds };
	const chains = [...rows.values()].flatMap(({ series, kind, row, errors }) => {
		if (kind === "link") return [];
		const own = links.filter((link) => link.series === series).flatMap((link) => readLinks(link.row, reader));
		const made = readMade(row, reader);
		const timed = chainsOf({ series, metric: kind === "control" ? "control" : "latency" }, timedPoints(row, made, reader), {
			reader,
			links: own,
		});
		if (kind === "control") return timed;
		const plain = ([metric, path, name]: readonly [Metric, string, string?]) =>
			chainsOf({ series, metric, ...(name === undefined ? {} : { name }) }, plainPoints(`${row}${step}${path}`, made, reader), {
				reader,
				links: [],
			});
		const figures = [["memory", `head${step}memoryBytes`] as const, ["size", `head${step}bytes`] as const];
		return [...timed, ...[...figures, ...errors.map((name) => ["error", `errors${step}${name}`, name] as const)].flatMap(plain)];
	});
	return { runs, chains };
}

interface Reader {
	columns: Columns;
	runs: readonly Run[];
	/** Fingerprint of each run's machine. */
	kinds: readonly string[];
}

function readRuns(columns: Columns, paths: ReadonlySet<string>): Run[] {
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
			Object.fromEntries(of.flatMap(([key, column]) => (column[index] === undefined ? [] : [[key, String(column[index])]])));
		const own = pick(machine);
		const named = Object.entries(texts).flatMap(([key, column]) => (column[index] === undefined ? [] : [[key, String(column[index])]]));
		const host = own["gpuUuid"] ?? own["host"];
		return {
			at: String(at),
			day: dayOf(String(at)),
			label: String(label[index] ?? ""),
			...Object.fromEntries(named),
			...(host === undefined ? {} : { host }),
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
	return Object.fromEntries(names.map((name) => [name, columns.get(`${row}${step}${name.replaceAll("/", step)}`)]));
}

const timedFields = ["ratio/ppm", "ratio/halfPpm", "ratio/pairs", "ratio/sdPpm", "fresh/ppm", "fresh/halfPpm", "base/ns", "head/ns"];

/** An interval at 99 % over several looks reaches about this many standard errors. */
const intervalErrors = 3.3;

function timedPoints(row: string, made: readonly Made[], reader: Reader): Point[] {
	const fields = fieldsOf(row, timedFields, reader);
	const [ppm, half, pairs, sd, freshPpm, freshHalf, baseNs, headNs] = timedFields.map((name) => fields[name] ?? []);
	const points: Point[] = [];
	for (const [run, own] of made.entries()) {
		const figure = (column: Column = []): number => numberAt(column, run) ?? Number.NaN;
		const level = figure(ppm) / million;
		if (Number.isNaN(level)) continue;
		const pairSd = figure(sd) / million;
		const error = Number.isNaN(pairSd) ? figure(half) / million / intervalErrors : pairSd / Math.sqrt(Math.max(1, figure(pairs)));
		const fresh = figure(freshPpm) / million;
		const point: Point = { run, level, error, linkError: 0, pairSd, baseNs: figure(baseNs), headNs: figure(headNs), made: own };
		if (!Number.isNaN(fresh)) point.fresh = { level: fresh, half: figure(freshHalf) / million };
		points.push(point);
	}
	return points;
}

/** What the engine of each run was made from; one object for neighbours that are the same. */
function readMade(row: string, reader: Reader): Made[] {
	const fields = fieldsOf(row, ["head/model", "head/recipe", "head/structure", "base/model", "base/recipe", "accepted"], reader);
	const columns = Object.values(fields);
	let last: readonly (Cell | undefined)[] = [];
	let made: Made = { content: "", pin: "" };
	return reader.runs.map((_, run) => {
		const cells = columns.map((column) => column[run]);
		if (last.length > 0 && cells.every((cell, index) => cell === last[index])) return made;
		last = cells;
		const [model, recipe, structure, pinModel, pinRecipe, accepted] = cells;
		made = {
			content: `${model} ${recipe}`,
			pin: `${pinModel} ${pinRecipe}`,
			...(structure === undefined ? {} : { structure: String(structure) }),
			...(accepted === undefined ? {} : { accepted: String(accepted) }),
		};
		return made;
	});
}

/** Smaller errors are rounding. */
const leastValue = 1e-12;

/** A figure that stays the same tells nothing new after so many points; its changes and the points around them always do. */
const plentyPoints = 100;

function plainPoints(path: string, made: readonly Made[], reader: Reader): Point[] {
	const column = reader.columns.get(path);
	const points: Point[] = [];
	for (const [run, own] of made.entries()) {
		const value = numberAt(column, run);
		if (value === undefined || value < 0) continue;
		const isSame =
			points.length > plentyPoints &&
			own.accepted === undefined &&
			[1, 2, 3, 4].every((back) => column[run - back] === value && reader.kinds[run - back] === reader.kinds[run]) &&
			column[run + 1] === value;
		if (isSame && run < reader.runs.length - plentyPoints) continue;
		const level = Math.log(Math.max(value, leastValue));
		points.push({ run, level, error: 0, linkError: 0, pairSd: Number.NaN, baseNs: Number.NaN, headNs: Number.NaN, made: own });
	}
	return points;
}

interface Link {
	kind: string;
	from: string;
	to: string;
	level: number;
	error: number;
}

/** Both pins measured in one job: how much longer the new one takes. */
function readLinks(row: string, reader: Reader): Link[] {
	return timedPoints(row, readMade(row, reader), reader).map(({ run, level, error, made }) => ({
		...{ level, error, from: made.pin, to: made.content },
		kind: reader.kinds[run] ?? "",
	}));
}

function chainsOf(
	of: Pick<Chain, "series" | "metric" | "name">,
	points: readonly Point[],
	{ reader, links }: { reader: Reader; links: readonly Link[] },
): Chain[] {
	const open = new Map<string, OpenChain>();
	const all: OpenChain[] = [];
	let last: Run | undefined;
	for (const point of points) {
		const kind = reader.kinds[point.run] ?? "";
		const chain = open.get(kind);
		const link = chain === undefined ? null : isChained(of.metric) ? linkTo(chain, point.made.pin, { kind, links }) : noLink;
		if (chain === undefined || link === null) {
			const begun = begin(point.made.pin, chain === undefined ? differences(last, reader.runs[point.run]) : ["pin"]);
			extend(begun, point, noLink);
			open.set(kind, begun);
			all.push(begun);
		} else extend(chain, point, link);
		last = reader.runs[point.run];
	}
	return all.map(({ points: own, joints, changed }, index) => ({
		...of,
		id: [of.series, of.metric, of.name ?? "", index].join(step),
		...{ changed, points: own, joints },
	}));
}

interface OpenChain {
	points: Point[];
	joints: number[];
	pin: string;
	/** Of the present pin, against the first one. */
	level: number;
	linkVariance: number;
	changed: readonly string[];
}

function begin(pin: string, changed: readonly string[]): OpenChain {
	return { points: [], joints: [], pin, level: 0, linkVariance: 0, changed };
}

/** Only a ratio to the pin changes with the pin. */
function isChained(metric: Metric): boolean {
	return metric === "latency";
}

const noLink = { level: 0, error: 0 };

/** null: nothing links the pin of this chain with the new one. */
function linkTo(
	chain: OpenChain,
	pin: string,
	{ kind, links }: { kind: string; links: readonly Link[] },
): Pick<Link, "level" | "error"> | null {
	if (chain.pin === pin) return noLink;
	const own = links.filter((link) => link.kind === kind && link.from === chain.pin && link.to === pin);
	if (own.length === 0) return null;
	const level = own.reduce((sum, link) => sum + link.level, 0) / own.length;
	return { level, error: Math.sqrt(own.reduce((sum, { error }) => sum + error ** 2, 0)) / own.length };
}

function extend(chain: OpenChain, point: Point, link: Pick<Link, "level" | "error">): void {
	if (chain.pin !== point.made.pin && chain.points.length > 0 && link !== noLink) chain.joints.push(chain.points.length);
	chain.pin = point.made.pin;
	chain.level += link.level;
	chain.linkVariance += link.error ** 2;
	point.level += chain.level;
	point.linkError = Math.sqrt(chain.linkVariance);
	if (point.fresh !== undefined) point.fresh.level += chain.level;
	chain.points.push(point);
}

function differences(left: Run | undefined, right: Run | undefined): string[] {
	if (left === undefined || right === undefined) return [];
	const keys = new Set([...Object.keys(left.machine), ...Object.keys(right.machine)]);
	return [...keys].filter((key) => !sameKind.has(key) && left.machine[key] !== right.machine[key]);
}

// From the tables of a history to its series: levels chained over changes of the pin, epochs by machine.
import { groupBy } from "../group.ts";
import type { Table } from "./columns.ts";
import { step } from "./columns.ts";
import {
	Columns,
	kindOf,
	type Point,
	plainPoints,
	type Reader,
	type Run,
	readMade,
	readRuns,
	sameKind,
	timedPoints,
} from "./points.ts";

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
	/** Why the level at a place was accepted. */
	accepted: ReadonlyMap<number, string>;
}

type Measured = Omit<Chain, "accepted">;

export interface Series {
	runs: readonly Run[];
	chains: readonly Chain[];
	/** Old pins against new ones, by run, with their standard error. */
	links: readonly { run: number; series: string; error: number }[];
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
	const measured = [...rows.values()].flatMap(({ series, kind, row, errors }) => {
		if (kind === "link" || kind === "accept") return [];
		const own = links.filter((link) => link.series === series).flatMap((link) => readLinks(link.row, reader));
		const made = readMade(row, reader);
		const timed = chainsOf(
			{ series, metric: kind === "control" ? "control" : "latency" },
			timedPoints(row, made, reader),
			{
				reader,
				links: own,
			},
		);
		if (kind === "control") return timed;
		const plain = ([metric, path, name]: readonly [Metric, string, string?]) =>
			chainsOf({ series, metric, name }, plainPoints(`${row}${step}${path}`, made, reader), {
				reader,
				links: [],
			});
		const figures = [["memory", `head${step}memoryBytes`] as const, ["size", `head${step}bytes`] as const];
		return [
			...timed,
			...[...figures, ...errors.map((name) => ["error", `errors${step}${name}`, name] as const)].flatMap(
				plain,
			),
		];
	});
	const linked = links.flatMap(({ series, row }) =>
		readLinks(row, reader).map(({ run, error }) => ({ run, series, error })),
	);
	return {
		runs,
		links: linked,
		chains: measured.map((chain) => ({ ...chain, accepted: acceptedIn(chain, [...rows.keys()], columns) })),
	};
}

/** What an alarm and an acceptance call the figure of a chain. */
export function figureOf({ metric, name }: Pick<Chain, "metric" | "name">): string {
	return name === undefined ? metric : `${metric} ${name}`;
}

/** An acceptance is of the newest point before it. */
function acceptedIn(chain: Measured, rows: readonly string[], columns: Columns): Map<number, string> {
	const prefix = ["rows", chain.series, "accept", ""].join(step);
	const found = rows
		.filter((row) => row.startsWith(prefix))
		.map((row) => columns.get([row, "accepted", figureOf(chain)].join(step)));
	return new Map(
		found.flatMap((reasons) =>
			reasons.flatMap((reason, run) => {
				const place = chain.points.findLastIndex((point) => point.run <= run);
				return reason === undefined || place < 0 ? [] : [[place, String(reason)] as const];
			}),
		),
	);
}

interface Link {
	kind: string;
	from: string;
	to: string;
	level: number;
	error: number;
	run: number;
}

/** Both pins measured in one job: how much longer the new one takes. */
function readLinks(row: string, reader: Reader): Link[] {
	return timedPoints(row, readMade(row, reader), reader).map(({ run, level, error, made }) => ({
		...{ run, level, error, from: made.pin, to: made.content },
		kind: reader.kinds[run] ?? "",
	}));
}

function chainsOf(
	of: Pick<Chain, "series" | "metric" | "name">,
	points: readonly Point[],
	{ reader, links }: { reader: Reader; links: readonly Link[] },
): Measured[] {
	const open = new Map<string, OpenChain>();
	const all: OpenChain[] = [];
	let last: Run | undefined;
	for (const point of points) {
		const kind = reader.kinds[point.run] ?? "";
		const chain = open.get(kind);
		const link =
			chain === undefined
				? null
				: isChained(of.metric)
					? linkTo(chain, point.made.pin, { kind, links })
					: noLink;
		if (chain === undefined || link === null) {
			const begun = begin(
				point.made.pin,
				chain === undefined ? differences(last, reader.runs[point.run]) : ["pin"],
			);
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
	return {
		level: own.reduce((sum, link) => sum + link.level * weightOf(link), 0) / totalWeight(own),
		error: totalWeight(own) ** -0.5,
	};
}

const leastError = 1e-6;
const weightOf = ({ error }: { error: number }): number => Math.max(error, leastError) ** -2;
const totalWeight = (links: readonly { error: number }[]): number =>
	links.reduce((sum, link) => sum + weightOf(link), 0);

/** Twelve links with this error move a chain by 0.05 %; it takes two nights or more, so mostly two machines. */
const certainLink = 1.5e-4;
/** A link that stays uncertain is measured in so many nights at most. */
const linkNights = 4;

/** The pin that was in force before this one, where it is still to be measured against it: a disturbed night is no link. */
export function pinToLink(
	{ runs, links }: Pick<Series, "runs" | "links">,
	{ kind, pin }: { kind: string; pin: string | undefined },
): string | null {
	const isOwn = (run: Run): boolean => kindOf(run) === kind && run.pinCommit !== undefined;
	const last = runs.findLastIndex((run) => isOwn(run) && run.pinCommit !== pin);
	const since = links.filter(({ run }) => run > last && runs[run] !== undefined && isOwn(runs[run]));
	const bySeries = [...groupBy(since, ({ series }) => series).values()];
	const isCertain = since.length > 0 && bySeries.every((own) => totalWeight(own) ** -0.5 <= certainLink);
	const nights = new Set(since.map(({ run }) => run)).size;
	return isCertain || nights >= linkNights ? null : (runs[last]?.pinCommit ?? null);
}

function extend(chain: OpenChain, point: Point, link: Pick<Link, "level" | "error">): void {
	if (chain.pin !== point.made.pin && chain.points.length > 0 && link !== noLink)
		chain.joints.push(chain.points.length);
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

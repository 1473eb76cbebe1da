// Levels of each series, chained over changes of the pin, by kind of machine.
import type { HistoryRecord } from "../../../generated/history.ts";
import { groupBy } from "../../core/group.ts";
import {
	kindOf,
	type PlacedRow,
	type Point,
	plainPoints,
	type Run,
	runOf,
	sameKind,
	timedPoints,
} from "./points.ts";

export type Metric = "latency" | "memory" | "size" | "error";

export interface Chain {
	series: string;
	metric: Metric;
	name?: string;
	/** No fresh pairs decide: it must last. */
	unrepeated?: boolean;
	changed: readonly string[];
	points: readonly Point[];
	joints: readonly number[];
	decisions: readonly Decision[];
}

export interface Decision {
	kind: "accepted" | "watched";
	place: number;
	run: number;
	reason: string;
}

export interface Series {
	runs: readonly Run[];
	chains: readonly Chain[];
	links: readonly { run: number; series: string; error: number }[];
}

export function readSeries(records: readonly HistoryRecord[]): Series {
	const sorted = records.toSorted((left, right) => (left.at < right.at ? -1 : left.at > right.at ? 1 : 0));
	const runs = sorted.map(runOf);
	const kinds = runs.map(kindOf);
	const rows = sorted.flatMap((record, run) => record.rows.map((row) => ({ run, row })));
	const bySeries = groupBy(rows, ({ row }) => row.series);
	const allLinks: Link[] = [];
	const chains = [...bySeries].flatMap(([series, all]) => {
		const byKind = groupBy(all, ({ row }) => row.kind);
		const links = timedPoints(byKind.get("link") ?? []).map(({ run, level, error, made }) => ({
			series,
			run,
			level,
			error,
			from: made.pin,
			to: made.content,
			kind: kinds[run] ?? "",
		}));
		allLinks.push(...links);
		const engine = byKind.get("engine") ?? [];
		const unrepeated = engine.some(({ row }) => row.unrepeated);
		const decided = [...(byKind.get("accept") ?? []), ...(byKind.get("watch") ?? [])];
		const chainsOf = (metric: Metric, points: readonly Point[], name?: string) =>
			chainPoints(points, { runs, kinds, links: metric === "latency" ? links : null }).map((chain) => ({
				series,
				metric,
				name,
				unrepeated,
				...chain,
				decisions: decisionsOn(chain.points, decided, figureOf({ metric, name })),
			}));
		const errors = new Set(engine.flatMap(({ row }) => Object.keys(row.errors ?? {})));
		return [
			...chainsOf("latency", timedPoints(engine)),
			...chainsOf(
				"memory",
				plainPoints(engine, ({ head }) => head.memoryBytes, kinds),
			),
			...chainsOf(
				"size",
				plainPoints(engine, ({ head }) => head.bytes, kinds),
			),
			...[...errors].flatMap((name) =>
				chainsOf(
					"error",
					plainPoints(engine, (row) => row.errors?.[name], kinds),
					name,
				),
			),
		];
	});
	return { runs, chains, links: allLinks };
}

export function figureOf({ metric, name }: Pick<Chain, "metric" | "name">): string {
	return name === undefined ? metric : `${metric} ${name}`;
}

function decisionsOn(points: readonly Point[], rows: readonly PlacedRow[], figure: string) {
	return rows.flatMap(({ run, row }) => {
		const place = points.findLastIndex((point) => point.run <= run);
		return (["accepted", "watched"] as const).flatMap((kind) => {
			const reason = row[kind]?.[figure];
			return reason === undefined || place < 0 ? [] : [{ kind, place, run, reason }];
		});
	});
}

/** `level`: how much longer the new pin takes. */
interface Link {
	series: string;
	kind: string;
	from: string;
	to: string;
	level: number;
	error: number;
	run: number;
}

interface OpenChain {
	points: Point[];
	joints: number[];
	pin: string;
	/** Of the present pin, relative to the first. */
	level: number;
	linkVariance: number;
	changed: readonly string[];
}

/** @param links null: the figure is not relative to the pin. */
function chainPoints(
	points: readonly Point[],
	{ runs, kinds, links }: { runs: readonly Run[]; kinds: readonly string[]; links: readonly Link[] | null },
) {
	const open = new Map<string, OpenChain>();
	const all: OpenChain[] = [];
	let last: Run | undefined;
	for (const point of points) {
		const kind = kinds[point.run] ?? "";
		const { pin } = point.made;
		let chain = open.get(kind);
		if (links !== null && chain !== undefined && chain.pin !== pin) {
			const from = chain.pin;
			const own = links.filter((link) => link.kind === kind && link.from === from && link.to === pin);
			if (own.length === 0) open.delete(kind);
			else {
				const weight = totalWeight(own);
				chain.level += own.reduce((sum, link) => sum + link.level * weightOf(link), 0) / weight;
				chain.linkVariance += 1 / weight;
				chain.joints.push(chain.points.length);
				chain.pin = pin;
			}
		}
		const isLinked = open.has(kind);
		if (chain === undefined || !isLinked) {
			const changed = chain === undefined ? differences(last, runs[point.run]) : ["pin"];
			chain = { points: [], joints: [], pin, level: 0, linkVariance: 0, changed };
			open.set(kind, chain);
			all.push(chain);
		}
		const { level, fresh } = point;
		chain.points.push({
			...point,
			level: level + chain.level,
			linkError: Math.sqrt(chain.linkVariance),
			fresh: fresh && { ...fresh, level: fresh.level + chain.level },
		});
		last = runs[point.run];
	}
	return all.map(({ points: own, joints, changed }) => ({ points: own, joints, changed }));
}

function differences(left: Run | undefined, right: Run | undefined) {
	if (left === undefined || right === undefined) return [];
	const keys = new Set([...Object.keys(left.machine), ...Object.keys(right.machine)]);
	return [...keys].filter((key) => !sameKind.has(key) && left.machine[key] !== right.machine[key]);
}

const leastError = 1e-6;
const weightOf = ({ error }: { error: number }) => Math.max(error, leastError) ** -2;
const totalWeight = (links: readonly { error: number }[]) =>
	links.reduce((sum, link) => sum + weightOf(link), 0);

/** Twelve such links move a chain by 0.05 %. */
const certainLink = 1.5e-4;
const linkNights = 4;

/** The previous pin, if it is not linked to this one with certainty. */
export function pinToLink(
	{ runs, links }: Series,
	{ kind, pin }: { kind: string; pin: string | undefined },
): string | null {
	const isOwn = (run: Run) => kindOf(run) === kind && run.pinCommit !== undefined;
	const last = runs.findLastIndex((run) => isOwn(run) && run.pinCommit !== pin);
	const since = links.filter(({ run }) => run > last && runs[run] !== undefined && isOwn(runs[run]));
	const bySeries = [...groupBy(since, ({ series }) => series).values()];
	const isCertain = since.length > 0 && bySeries.every((own) => totalWeight(own) ** -0.5 <= certainLink);
	const nights = new Set(since.map(({ run }) => run)).size;
	return isCertain || nights >= linkNights ? null : (runs[last]?.pinCommit ?? null);
}

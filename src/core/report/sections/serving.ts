// What counts in service: start-up, memory that grows, and what a request waits, computed, measured, and beside another engine.
import type {
	Arm,
	GrowthPhase,
	LoadFigures,
	LoadResult,
	MeasuredLoad,
	MeasuredSide,
	MemoryGrowthResult,
	StartUpResult,
	StartUpStats,
	TogetherResult,
	TogetherSide,
	WorkloadResult,
} from "../../../../generated/result.ts";
import { figureLabels, phaseLabels } from "../../compare/lifetime.ts";
import { dash, sideChange, sidesOf } from "../../compare/sentence.ts";
import { boundsText } from "../../load/measured.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import { counted, present, subjectName } from "../../text/labels.ts";
import { formatBytes, formatCount, formatMs, formatPercent, formatTimes } from "../../text/units.ts";
import { drawLoad } from "../html/charts.ts";
import {
	type Block,
	type Column,
	details,
	heading,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

type Point = LoadResult["points"][number];
type Row = Point & { name: string };

const shownShares: readonly number[] = [0.5, 0.7, 0.8, 0.9];
const toldShare = 0.8;
const noticeable = 0.05;
/** One in a comment: the page has all. */
const mostTold = { markdown: 1, terminal: 3, html: 3 };
const mostDrawn = 12;

export function loadName(load: Pick<LoadResult, "model" | "engine" | "workloads" | "batches">): string {
	const { batches, workloads } = load;
	return subjectName({ ...load, workload: batches ? `batcher (${batches.join(", ")})` : workloads[0] });
}

function batchingText({ maxBatch = 1, maxDelayMs = 0 }: Pick<LoadResult, "maxBatch" | "maxDelayMs">) {
	return present([
		maxBatch > 1 && `up to ${maxBatch} at once`,
		maxBatch > 1 && maxDelayMs > 0 && `delayed by up to ${formatMs(maxDelayMs)}`,
	]);
}

const beyond = "over capacity";

function changeOf(point: Point) {
	const { base, head, lowMs, highMs } = point;
	if (base === null) return "";
	if (head === null) return beyond;
	const text = (ms: number | null) =>
		ms === null ? beyond : formatPercent(ms / base.p99Ms - 1, { sign: true });
	return `${text(head.p99Ms)} (${text(lowMs)} … ${text(highMs)})`;
}

const rate = ({ ratePerSecond }: Pick<Point, "ratePerSecond">) =>
	`${formatCount(Number(ratePerSecond.toPrecision(3)))} / s`;

function quantiles(side: "base" | "head") {
	const figures = { P50: "p50Ms", P99: "p99Ms", "P99.9": "p999Ms" } as const;
	return Object.entries(figures).map(([name, key]) =>
		numbers(`${side} ${name}`, (row: Row) => row[side]?.[key as keyof LoadFigures], formatMs),
	);
}

const columns: readonly Column<Row>[] = [
	heading("Engine", ({ name }) => name),
	plain("load", (row) => `${formatPercent(row.share, { digits: 0 })} · ${rate(row)}`),
	...quantiles("base"),
	...quantiles("head"),
	numeric("P99 change", changeOf, {
		sortBy: ({ base, head }) => (base === null || head === null ? null : head.p99Ms / base.p99Ms),
	}),
];

function isTold({ base, lowMs, highMs }: Point) {
	if (base === null) return false;
	return (
		lowMs === null ||
		lowMs >= (1 + noticeable) * base.p99Ms ||
		(highMs !== null && highMs <= (1 - noticeable) * base.p99Ms)
	);
}

function toldBlocks(loads: readonly LoadResult[], most: number) {
	const size = ({ base, head }: Point) =>
		base === null || head === null ? Infinity : Math.abs(Math.log(head.p99Ms / base.p99Ms));
	const told = loads
		.flatMap((load) => {
			const point = load.points.find(({ share }) => share === toldShare);
			return point !== undefined && isTold(point) ? [{ name: loadName(load), point }] : [];
		})
		.sort((left, right) => size(right.point) - size(left.point));
	if (told.length === 0) return [];
	const texts = told.slice(0, most).map(({ name, point }) => `${name} ${changeOf(point)}`);
	const more = told.length > most ? `; and ${told.length - most} more` : "";
	return [sentence(`P99 at 80 % load (computed): ${texts.join("; ")}${more}.`)];
}

function pausedBlocks(rows: readonly WorkloadResult[]) {
	const key = ({ part, model, engine, streams, shapes }: WorkloadResult) =>
		JSON.stringify([part, model, engine, streams, Object.entries(shapes).sort()]);
	const busy = new Map(rows.filter(({ everyMs }) => everyMs === undefined).map((row) => [key(row), row]));
	return rows.slice(0, 2 * mostDrawn).flatMap((row) => {
		const other = busy.get(key(row));
		const [paused, back] = [row.head?.medianMs, other?.head?.medianMs];
		if (row.everyMs === undefined || paused === undefined || back === undefined || !(back > 0)) return [];
		const clocks = [row, other].map((one) => one?.gpu?.head?.smClockMhz ?? null);
		const [own, usual] = clocks.map((mhz) => mhz !== null && formatCount(Math.round(mhz)));
		const why = own && usual ? ` (GPU clock ${own} MHz, back to back ${usual} MHz)` : "";
		const times = `takes ${formatTimes(paused / back)} of back to back`;
		return [sentence(`With pauses, ${subjectName(row)} ${times}: ${formatMs(paused)}${why}.`)];
	});
}

const method =
	"Computed from the times, not measured: Poisson arrivals, one server with a constant time per batch, no network, and an idle GPU as fast as a busy one. Load is the share of the base's capacity; both sides get the same rates.";

function methodOf(loads: readonly LoadResult[]) {
	const batchers = [...new Set(loads.map((load) => batchingText(load).join(", ")))].filter(
		(text) => text !== "",
	);
	return [method, ...batchers.slice(0, mostTold.html).map((text) => `Batchers take requests ${text}.`)].join(
		" ",
	);
}

export const loadSection: ReportSection = {
	id: "at-load",
	show({ result: { loads = [], workloads } }, { format }) {
		if (loads.length === 0) return null;
		const shares = format === "html" ? shownShares : [toldShare];
		const rows = loads.flatMap((load) =>
			load.points
				.filter(({ share }) => shares.includes(share))
				.map((point) => ({ ...point, name: loadName(load) })),
		);
		const whole: Block[] = [
			table("latency at load", columns, rows, { noun: "row" }),
			...pausedBlocks(workloads),
			sentence(methodOf(loads), "quiet"),
		];
		const told = toldBlocks(loads, mostTold[format]);
		const elsewhere = sentence("Other loads are in `report.html`.");
		if (format !== "html") return { blocks: [...told, ...details("At load", [...whole, elsewhere])] };
		const drawn = loads.slice(0, mostDrawn).map((load) => drawLoad(load, loadName(load)));
		return { title: "At load", blocks: [...told, { kind: "figure", drawn }, ...whole] };
	},
};

type MeasuredRow = MeasuredLoad["points"][number] & { load: MeasuredLoad; side: Arm; stats: MeasuredSide };

const measuredColumns: readonly Column<MeasuredRow>[] = [
	heading("Engine", ({ load }) => loadName(load)),
	plain("load", (row) =>
		present([row.share !== null && formatPercent(row.share, { digits: 0 }), rate(row)]).join(" · "),
	),
	plain("side", ({ side }) => side),
	numeric("P99 (99 % bounds)", ({ stats }) => `${formatMs(stats.p99Ms)} (${boundsText(stats.p99)})`, {
		sortBy: ({ stats }) => stats.p99Ms,
	}),
	plain("P99 change", sideChange),
	numbers("mean", ({ stats }) => stats.meanMs, formatMs),
	numbers("P50", ({ stats }) => stats.p50Ms, formatMs),
	numbers("longest", ({ stats }) => stats.maxMs, formatMs),
	numbers("busy", ({ stats }) => stats.serviceMs, formatMs),
	numbers("sent late", ({ stats }) => stats.latenessMs, formatMs),
	numbers("requests", ({ stats }) => stats.requests, formatCount),
	plain("arrivals", ({ load }) => [cleanName(load.arrivals, 60), ...batchingText(load)].join(", ")),
];

const measuredMethod =
	"Measured: requests arrive on a schedule drawn before the run, the same for base and head, and wait from their arrival, not from when they were sent. Busy: an inference with the next one queued, its transfers included.";

export const measuredLoadSection: ReportSection = {
	id: "measured-load",
	show({ result: { measuredLoads = [] } }) {
		if (measuredLoads.length === 0) return null;
		const rows = measuredLoads.flatMap((load) =>
			load.points.flatMap(sidesOf).map((row): MeasuredRow => ({ ...row, load })),
		);
		const reasons = measuredLoads.flatMap(({ reason, ...load }) =>
			reason === undefined ? [] : [sentence(`${loadName(load)}: ${cleanMessage(reason)}`)],
		);
		const shown = rows.length === 0 ? [] : [table("measured load", measuredColumns, rows, { noun: "row" })];
		return {
			title: `Measured load of ${counted(measuredLoads.length, "engine")}`,
			blocks: [...reasons, ...shown, sentence(measuredMethod, "quiet")],
		};
	},
};

type TogetherRow = TogetherResult & { side: Arm; stats: TogetherSide };

const togetherColumns: readonly Column<TogetherRow>[] = [
	heading("Engine", subjectName),
	plain("beside", ({ beside }) => cleanName(beside)),
	plain("side", ({ side }) => side),
	plain("change", sideChange),
	numbers("alone", ({ stats }) => stats.aloneMs, formatMs),
	numbers("together", ({ stats }) => stats.togetherMs, formatMs),
	numbers("together ÷ alone", ({ stats }) => stats.togetherMs / stats.aloneMs, formatTimes),
];

export const togetherSection: ReportSection = {
	id: "together",
	show({ result: { together = [] } }) {
		const rows = together.flatMap(sidesOf);
		if (rows.length === 0) return null;
		const text =
			"Both engines run in one process and are always busy; the change is that of the time together.";
		return {
			title: "Engines at once",
			blocks: [table("together", togetherColumns, rows, { noun: "row" }), sentence(text, "quiet")],
		};
	},
};

type StartRow = StartUpResult & { side: Arm; stats: StartUpStats };

const startColumns: readonly Column<StartRow>[] = [
	heading("Engine", subjectName),
	plain("side", ({ side }) => side),
	plain("change", sideChange),
	numbers("first inference", ({ stats }) => stats.totalMs, formatMs),
	...["plugins", "read", "deserialize", "context", "first"].map((part) =>
		numbers<StartRow>(part === "first" ? "first run" : part, ({ stats }) => stats.parts[part], formatMs),
	),
	numbers("plan not in memory", ({ stats }) => stats.coldMs, formatMs),
	numbers("runs until steady", ({ stats }) => stats.steadyAfter, formatCount),
];

export const startUpSection: ReportSection = {
	id: "start-ups",
	show({ result: { startUps = [] } }) {
		const rows = startUps.flatMap(sidesOf);
		if (rows.length === 0) return null;
		return {
			title: `Start-up of ${counted(startUps.length, "engine")}`,
			blocks: [table("start-up", startColumns, rows, { noun: "row" })],
		};
	},
};

type PhaseRow = GrowthPhase & Pick<MemoryGrowthResult, "model" | "engine" | "part">;

function bytes(value: number) {
	return value < 0 ? `−${formatBytes(-value)}` : formatBytes(value);
}

const phaseColumns: readonly Column<PhaseRow>[] = [
	heading("Engine", subjectName),
	plain("steps", ({ phase, steps }) => `${formatCount(steps)} ${phaseLabels[phase]}`),
	...(["reserved", "used", "resident"] as const).map((wanted) =>
		numeric<PhaseRow>(figureLabels[wanted], ({ figures }) => {
			const found = figures.find(({ figure }) => figure === wanted);
			return found === undefined ? dash : `${bytes(found.slope)} (${found.interval.map(bytes).join(" … ")})`;
		}),
	),
	numbers("GPU peak", ({ peakBytes }) => peakBytes, formatBytes),
	numbers(
		"in use",
		({ usedBytes, peakBytes }) => (usedBytes === null || peakBytes <= 0 ? null : usedBytes / peakBytes),
		formatPercent,
	),
	numbers("live blocks", ({ liveBlocks }) => liveBlocks, formatCount),
];

const growthMethod =
	"Bytes per 1,000 steps after a warm-up, with 99 % intervals. GPU memory not in use holds kernels or is fragmented.";

export const memoryGrowthSection: ReportSection = {
	id: "memory-growth",
	show({ result: { memoryGrowths = [] } }) {
		const rows = memoryGrowths.flatMap(({ phases, ...of }) => phases.map((phase) => ({ ...of, ...phase })));
		if (rows.length === 0) return null;
		return {
			title: `Memory growth of ${counted(memoryGrowths.length, "engine")}`,
			blocks: [table("memory growth", phaseColumns, rows, { noun: "row" }), sentence(growthMethod, "quiet")],
		};
	},
};

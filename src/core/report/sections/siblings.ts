// What each precision of a model costs and is worth: engines that `against` links.
import type {
	ArmStats,
	Comparison,
	GateResult,
	GoldenVerdict,
	Result,
	SiblingResult,
	SweepPoint,
	SweepResult,
} from "../../../../generated/result.ts";
import { changeText, changeWithInterval, dash, intervalText, levelText } from "../../compare/sentence.ts";
import { cliffsOf, timesOf, worstPoint } from "../../compare/sweep.ts";
import { groupBy } from "../../group.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatBytes, formatMs, formatTimes, formatValue } from "../../text/units.ts";
import { capRatio, checkLabel, gotText } from "../golden-format.ts";
import { engineKey } from "../highlight.ts";
import { drawCurve, drawTradeOff } from "../html/charts.ts";
import { nameOf } from "../html/markup.ts";
import {
	type Block,
	type Column,
	heading,
	long,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

interface Row {
	model: string;
	engine: string;
	workload: string;
	part?: string;
	precision: string;
	against?: string;
	latency?: Comparison;
	ms: number | null;
	/** ln of the time over the reference's: the ends of the interval; null: not known. */
	place: readonly [low: number, high: number] | null;
	/** `value`: the worst relative L2. A figure of the golden stands in for an unknown one in `text`. */
	error: { value: number | null; text: string | null; fails: "golden" | "probe" | null };
	memoryBytes: number | null;
	engineBytes: number | null;
}

export interface SiblingRow extends Row {
	isBest: boolean;
}

export function siblingFamilies(result: Result): SiblingRow[][] {
	const groups = groupBy(result.siblings ?? [], ({ model, workload, part }) =>
		JSON.stringify([model, workload, part]),
	);
	return [...groups.values()].flatMap((siblings) => {
		const engines = new Set(siblings.map(({ engine }) => engine));
		const references = siblings.filter(({ against }) => !engines.has(against));
		const families = [...groupBy(references, ({ against }) => against).values()];
		return families.map(([first]) => ranked(familyOf(first, siblings, result)));
	});
}

function familyOf(first: SiblingResult, siblings: readonly SiblingResult[], result: Result) {
	const { model, workload, ...of } = first;
	const rowOf = (engine: string, place: Row["place"], found?: ArmStats | null): Row => {
		const id = { model, engine, part: of.part };
		const isOwn = (one: Parameters<typeof engineKey>[0]) => engineKey(one) === engineKey(id);
		const isOwnGate = (one: GateResult) => isOwn({ ...one, engine: one.engine ?? "" });
		const build = result.builds.find((one) => one.arm === "head" && isOwn(one));
		// An engine with the same bytes as its sibling is not timed in pairs.
		const stats = found ?? result.workloads.find((one) => isOwn(one) && one.workload === workload)?.head;
		return {
			...{ ...id, workload, place, precision: build?.precision ?? "" },
			ms: stats?.medianMs ?? null,
			error: errorOf(result.golden.filter(isOwn), result.gates.filter(isOwnGate)),
			memoryBytes: stats?.peakMemoryBytes ?? null,
			engineBytes: build?.engineBytes ?? null,
		};
	};
	const isCompared = siblings.some(
		({ against, latency }) => against === of.against && latency.interval !== null,
	);
	const rows = [rowOf(of.against, isCompared ? [0, 0] : null, first.sibling)];
	// Each engine follows the one that it is against, once: a forged result may lead in circles.
	for (const { engine: against, place } of rows)
		for (const { engine, latency, own } of siblings.filter((one) => one.against === against))
			if (!rows.some((row) => row.engine === engine))
				rows.push({ ...rowOf(engine, placed(place, latency), own), against, latency });
	return rows;
}

function placed(sibling: Row["place"], { interval }: Comparison): Row["place"] {
	if (sibling === null || interval === null) return null;
	return [sibling[0] + Math.log1p(interval[0]), sibling[1] + Math.log1p(interval[1])];
}

function errorOf(verdicts: readonly GoldenVerdict[], gates: readonly GateResult[]) {
	const checks = verdicts.flatMap((verdict) => verdict.checks).filter(({ got }) => got !== null);
	const l2 = checks.flatMap(({ metric, got }) =>
		metric === "relative-l2" && typeof got === "number" ? [got] : [],
	);
	const value = l2.length === 0 ? null : Math.max(...l2);
	const [worst] = checks.sort((a, b) => capRatio(b) - capRatio(a));
	const other = worst === undefined ? null : `${checkLabel(worst)} ${gotText(worst)}`;
	const contradicts = gates.some(({ gate, status }) => gate === "probe" && status === "fail");
	const fails = verdicts.some(({ state }) => state !== "match") ? "golden" : contradicts ? "probe" : null;
	return { value, text: value === null ? other : formatValue(value), fails } as const;
}

function ranked(family: readonly Row[]) {
	const right = family.filter(({ error }) => error.fails === null);
	return family.map((own) => ({
		...own,
		isBest: own.place !== null && right.includes(own) && !right.some((other) => isBetter(other, own)),
	}));
}

/** Other kernels change an error by less than this factor, as in the gate `golden.error-growth`. */
const sameError = 2;

function isBetter(one: Row, other: Row) {
	if (one.place === null || other.place === null) return false;
	const isMoreExact = ({ error: a }: Row, { error: b }: Row) =>
		a.value !== null && b.value !== null && b.value > sameError * a.value;
	if (one.place[0] > other.place[1] || isMoreExact(other, one)) return false;
	return one.place[1] < other.place[0] || isMoreExact(one, other);
}

function columnsOf(rows: readonly SiblingRow[]): Column<SiblingRow>[] {
	const first = rows.find(({ latency }) => latency?.interval != null)?.latency;
	const level = first === undefined ? "" : ` (${levelText(first)} interval)`;
	return [
		heading<SiblingRow>("Engine", subjectName, {
			cell: ({ model, engine, workload, part }) => nameOf(model, [engine, workload], part),
		}),
		plain("precision", ({ precision }) => (precision === "" ? dash : cleanName(precision, 20))),
		plain("best", bestText, {
			tone: ({ isBest, error }) => (isBest ? "ok" : error.fails === null ? null : "bad"),
		}),
		numbers("time", ({ ms }) => ms, formatMs),
		numeric("error", ({ error }) => error.text ?? dash, { sortBy: ({ error }) => error.value }),
		numbers("GPU memory", ({ memoryBytes }) => memoryBytes, formatBytes),
		numbers("plan", ({ engineBytes }) => engineBytes, formatBytes),
		long(`against sibling${level}`, againstText, { sortBy: ({ latency }) => latency?.estimate ?? null }),
	];
}

function bestText({ isBest, error, place }: SiblingRow) {
	if (error.fails !== null) return `fails ${error.fails}`;
	return isBest ? "best" : place === null ? "not compared" : dash;
}

function againstText({ against, latency }: SiblingRow) {
	if (against === undefined || latency === undefined) return "reference";
	const interval = latency.interval === null ? "" : ` (${intervalText(latency)})`;
	return `${changeText(latency)}${interval} against ${cleanName(against)}`;
}

const legend =
	"Best: no other engine is faster or more accurate beyond doubt without being worse in the other. Errors are the worst of the golden; within a factor of two they count as equal.";

export const siblingSection: ReportSection = {
	id: "siblings",
	show({ result }, { format }) {
		const families = siblingFamilies(result);
		const rows = families.flat();
		if (rows.length === 0) return null;
		const blocks: Block[] = [
			table("engines against their siblings", columnsOf(rows), rows, { noun: "engine" }),
			sentence(legend, "quiet"),
		];
		const drawn = families.map(drawTradeOff);
		return {
			title: "Payoff: time against error",
			blocks: format === "html" ? [{ kind: "figure", drawn }, ...blocks] : blocks,
			isOpen: true,
		};
	},
};

type SizeRow = Omit<SweepResult, "points"> & SweepPoint & { isWorst: boolean };

const sweepColumns: readonly Column<SizeRow>[] = [
	heading("Engine", subjectName),
	numeric("size", ({ dim, size }) => `${cleanName(dim)} ${size}`, { sortBy: ({ size }) => size }),
	numbers("base", ({ row }) => row.base?.medianMs, formatMs),
	numbers("head", ({ row }) => row.head?.medianMs, formatMs),
	plain("change", ({ row }) => changeWithInterval(row.latency)),
	plain("", ({ isWorst }) => (isWorst ? "worst" : "")),
];

const sweepLegend =
	"Up to nine sizes: both ends, then where the time or the ratio of head to base jumps. The intervals hold for all sizes together.";

function sizeRowsOf({ points, ...of }: SweepResult, worst: SweepPoint | undefined) {
	return points.map((point) => ({ ...of, ...point, isWorst: point === worst }));
}

const maxCliffs = 3;

function cliffLines({ dim, points, part, model, engine }: SweepResult) {
	const name = subjectName({ model, engine, part });
	return cliffsOf(timesOf(points))
		.slice(0, maxCliffs)
		.map(({ low, high, head, base }) => {
			const ofBase = base === null ? "" : ` (base: ${formatTimes(base)})`;
			return `${name}: ${cleanName(dim)} ${high} costs ${formatTimes(head)} of ${cleanName(dim)} ${low}${ofBase}.`;
		});
}

function rivalLines({ model, engine, dim, points, part }: SweepResult, { workloads }: Result) {
	const others = workloads.filter((one) => one.model === model && one.engine !== engine && one.part === part);
	return points.flatMap(({ size, row }) =>
		others.flatMap((other) => {
			const isSame =
				JSON.stringify(other.shapes) === JSON.stringify(row.shapes) && other.precision === row.precision;
			const ratio = (row.head?.medianMs ?? NaN) / (other.head?.medianMs ?? NaN);
			if (!isSame || other.streams !== row.streams || !(ratio >= 1.25)) return [];
			const name = subjectName({ model, engine, part });
			return [
				`${name}: ${cleanName(dim)} ${size} costs ${formatTimes(ratio)} of ${cleanName(other.engine)}'s.`,
			];
		}),
	);
}

export const sweepSection: ReportSection = {
	id: "sweeps",
	show({ result }, { format }) {
		const { sweeps = [] } = result;
		if (sweeps.length === 0) return null;
		const worst = sweeps.map((sweep) => worstPoint(sweep, "latency"));
		const rows = sweeps.flatMap((sweep, index) => sizeRowsOf(sweep, worst[index]));
		const found = sweeps.flatMap((sweep) => [...cliffLines(sweep), ...rivalLines(sweep, result)]);
		const blocks: Block[] = [
			...found.map((text) => sentence(text)),
			table("sizes", sweepColumns, rows, { noun: "size" }),
			sentence(sweepLegend, "quiet"),
		];
		const drawn = sweeps.map(drawCurve);
		return {
			title: `Sweep of ${counted(sweeps.length, "workload")}`,
			blocks: format === "html" ? [{ kind: "figure", drawn }, ...blocks] : blocks,
			isOpen: found.length > 0,
		};
	},
};

// Sweeps: time by size, the worst size, and cliffs.
import type { Result, SweepPoint, SweepResult } from "../../../../generated/result.ts";
import { cliffsOf, timesOf, worstPoint } from "../../compare/sweep.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { formatMs, formatTimes } from "../../text/units.ts";
import { changeWithInterval } from "../comparison-format.ts";
import { drawCurve } from "../html/charts.ts";
import {
	type Block,
	type Column,
	heading,
	numbers,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";

type Row = Omit<SweepResult, "points"> & SweepPoint & { isWorst: boolean };

const columns: readonly Column<Row>[] = [
	heading("Engine", subjectName),
	numeric("size", ({ dim, size }) => `${cleanName(dim)} ${size}`, { sortBy: ({ size }) => size }),
	numbers("base", ({ row }) => row.base?.medianMs, formatMs),
	numbers("head", ({ row }) => row.head?.medianMs, formatMs),
	plain("change", ({ row }) => changeWithInterval(row.latency)),
	plain("", ({ isWorst }) => (isWorst ? "worst" : "")),
];

const legend =
	"Up to nine sizes: both ends, then where the time or the ratio of head to base jumps. The intervals hold for all sizes together.";

function rowsOf({ points, ...of }: SweepResult, worst: SweepPoint | undefined) {
	return points.map((point) => ({ ...of, ...point, isWorst: point === worst }));
}

const maxCliffs = 3;

function cliffLines({ dim, model, engine, points }: SweepResult) {
	const name = `${cleanName(model)} · ${cleanName(engine)}`;
	return cliffsOf(timesOf(points))
		.slice(0, maxCliffs)
		.map(({ low, high, head, base }) => {
			const ofBase = base === null ? "" : ` (base: ${formatTimes(base)})`;
			return `${name}: ${cleanName(dim)} ${high} costs ${formatTimes(head)} of ${dim} ${low}${ofBase}.`;
		});
}

/** Other engines of the model that are timed at the same shapes, if theirs is far faster. */
function rivalLines({ model, engine, dim, points, part }: SweepResult, { workloads }: Result) {
	const others = workloads.filter((one) => one.model === model && one.engine !== engine && one.part === part);
	return points.flatMap(({ size, row }) =>
		others.flatMap((other) => {
			const isSame =
				JSON.stringify(other.shapes) === JSON.stringify(row.shapes) && other.precision === row.precision;
			const ratio = (row.head?.medianMs ?? NaN) / (other.head?.medianMs ?? NaN);
			if (!isSame || other.streams !== row.streams || !(ratio >= 1.25)) return [];
			const name = `${cleanName(model)} · ${cleanName(engine)}`;
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
		const rows = sweeps.flatMap((sweep, index) => rowsOf(sweep, worst[index]));
		const found = sweeps.flatMap((sweep) => [...cliffLines(sweep), ...rivalLines(sweep, result)]);
		const blocks: Block[] = [
			...found.map((text) => sentence(text)),
			table("sizes", columns, rows, { noun: "size" }),
			sentence(legend, "quiet"),
		];
		const drawn = sweeps.map(drawCurve);
		return {
			title: `Sweep of ${counted(sweeps.length, "workload")}`,
			blocks: format === "html" ? [{ kind: "figure", drawn }, ...blocks] : blocks,
			isOpen: found.length > 0,
		};
	},
};

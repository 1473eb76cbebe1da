import type { Arm, Result } from "../../../../generated/result.ts";
import { comparedOf, shownMs } from "../../stats/summary.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName, withCaveat } from "../../text/labels.ts";
import { levelText } from "../comparison-format.ts";
import { drawForest, forestAxis, forestScale, forestTitle } from "../html/forest.ts";
import { type Column, html, nameOf } from "../html/markup.ts";
import { armTitle, isCounted, type WorkloadRow, workloadTexts } from "../rows.ts";
import { type Block, details, type ReportSection, sentence, table } from "../section.ts";
import { speedHighlights } from "./speed-highlights.ts";
import { workloadAnchors } from "./workload-details.ts";

/** If there are more rows, unchanged ones are folded in HTML too. */
const maxOpenRows = 30;

interface Facts {
	result: Result;
	rows: readonly WorkloadRow[];
	isPage: boolean;
}

/** A caveat that applies only to some parts is in their rows. */
function caveats({ result: { backend }, rows, isPage }: Facts): Block[] {
	if (isPage || (!isCounted(rows) && backend.caveat === undefined)) return [];
	const text = isCounted(rows)
		? `Work counted on ${cleanName(backend.name)}, exact; not time, not TensorRT.`
		: `Speed measured on ${withCaveat(cleanName(backend.name), backend)}.`;
	return [sentence(text)];
}

function armColumn(arm: Arm, title: string): Column<WorkloadRow> {
	return {
		title,
		numeric: true,
		text: (row) => workloadTexts(row)[arm],
		sortBy: ({ workload }) => comparedOf(workload)[arm] ?? shownMs(workload, arm) ?? null,
	};
}

/** The change comes before the times: a phone shows only the first columns. */
function comparedColumns(rows: readonly WorkloadRow[]): Column<WorkloadRow>[] {
	const scale = forestScale(rows);
	const [first] = rows;
	const level =
		first === undefined || isCounted(rows) ? "" : ` (${levelText(first.workload.latency)} interval)`;
	const sortBy = ({ workload }: WorkloadRow) => comparedOf(workload).estimate;
	return [
		{ title: "verdict", text: ({ verdict }) => verdict, tone: ({ tone }) => tone },
		{ title: "change", numeric: true, formats: ["html"], text: (row) => workloadTexts(row).change, sortBy },
		{
			title: forestTitle(rows),
			axis: forestAxis(scale),
			cell: (row) => drawForest(row, scale),
			sortBy: ({ workload }) => comparedOf(workload).interval?.[1] ?? null,
		},
		{
			title: `change${level}`,
			numeric: true,
			formats: ["markdown", "terminal"],
			text(row) {
				const { change, interval } = workloadTexts(row);
				return interval === "" ? change : `${change} (${interval})`;
			},
		},
		armColumn("base", armTitle("base", rows)),
		armColumn("head", armTitle("head", rows)),
	];
}

function timedColumns(isCompared: boolean): Column<WorkloadRow>[] {
	const common = { numeric: true, formats: ["markdown", "html"] } as const;
	return [
		{
			...common,
			title: isCompared ? "P99 change" : "P99",
			text: (row) => workloadTexts(row).p99,
			sortBy: ({ workload }) => workload.p99.estimate ?? workload.head?.p99Ms ?? null,
		},
		{
			...common,
			title: "GPU memory",
			text: (row) => workloadTexts(row).memory,
			sortBy: ({ workload }) => workload.head?.peakMemoryBytes ?? null,
		},
	];
}

function columnsOf({ result, rows, isPage }: Facts): Column<WorkloadRow>[] {
	const anchors = workloadAnchors(rows);
	const isCompared = result.arms.base !== null || !isPage;
	return [
		{
			title: "workload",
			heading: true,
			text: ({ workload }) => subjectName(workload),
			cell(row) {
				const { model, engine, workload, part } = row.workload;
				const anchor = anchors.get(row);
				const name = nameOf(model, [engine, workload], part);
				return anchor === undefined ? name : html`<a href="#${anchor}">${name}</a>`;
			},
		},
		...(isCompared ? comparedColumns(rows) : [armColumn("head", armTitle("time", rows))]),
		...(isCounted(rows) ? [] : timedColumns(isCompared)),
		{
			title: "golden",
			numeric: true,
			text: (row) => workloadTexts(row).golden,
			tone: ({ golden }) => golden?.tone ?? null,
		},
	];
}

/** Folds rows that need no attention, in a comment and on a long page. */
function blocksOf(facts: Facts, isFolded: boolean, showsQuiet: boolean): Block[] {
	const { result, rows } = facts;
	const label = withCaveat("Workloads", result.backend);
	const columns = columnsOf(facts);
	const tableOf = (some: readonly WorkloadRow[]) =>
		table(label, columns, some, { noun: "row", isMain: true });
	const changed = rows.filter(({ isUnchanged }) => !isUnchanged);
	const unchanged = rows.filter(({ isUnchanged }) => isUnchanged);
	if (!isFolded) return [...caveats(facts), tableOf([...changed, ...unchanged])];
	const state = result.arms.base !== null ? "unchanged" : isCounted(rows) ? "counted" : "timed";
	const quiet = showsQuiet ? tableOf(unchanged) : sentence("Left out here; see `report.html`.");
	return [
		...(changed.length === 0 ? [] : caveats(facts)),
		tableOf(changed),
		...(unchanged.length === 0 ? [] : details(counted(unchanged.length, `${state} row`), [quiet])),
	];
}

export const workloadSection: ReportSection = {
	id: "workloads",
	show({ result, rows }, { format, detail }) {
		if (rows.length === 0) return null;
		const isPage = format === "html";
		const isFolded = format === "markdown" || (isPage && rows.length > maxOpenRows);
		const blocks = blocksOf({ result, rows, isPage }, isFolded, detail.quietRows);
		return isPage ? { title: withCaveat("Workloads", result.backend), blocks } : { blocks };
	},
	highlights: speedHighlights,
};

// The speed of every workload, with its evidence.
import type { Arm, Result, WorkloadResult } from "../../../../generated/result.ts";
import {
	changeWithInterval,
	formatDetectable,
	levelText,
	noiseTexts,
	pairsText,
	unchangedText,
	workText,
} from "../../compare/sentence.ts";
import { groupBy } from "../../group.ts";
import { comparedOf, shownMs } from "../../stats/summary.ts";
import { cleanMessage, cleanName } from "../../text/escape.ts";
import {
	capitalize,
	counted,
	present,
	shapesText,
	speedLabel,
	subjectName,
	withCaveat,
} from "../../text/labels.ts";
import { formatMs } from "../../text/units.ts";
import { kernelBlocks, layerBlocks } from "../engine-blocks.ts";
import { armTitle, backendOfRow, isCounted, type WorkloadRow } from "../facts.ts";
import { figureBlocks, runBlocks } from "../figures.ts";
import { engineKey } from "../highlight.ts";
import { drawForest, forestAxis, forestScale, forestTitle } from "../html/charts.ts";
import { html, nameOf } from "../html/markup.ts";
import {
	type Block,
	type Column,
	details,
	type Format,
	heading,
	numeric,
	plain,
	type ReportSection,
	sentence,
	table,
} from "../section.ts";
import { speedHighlights } from "./speed-highlights.ts";

const maxChanged = 100;
const maxUnchanged = 300;
const maxOpen = 8;

function wasTimed({ layers, runs }: WorkloadResult) {
	return layers !== undefined || runs.some(({ medianMs }) => medianMs !== undefined);
}

function verdictText(workload: WorkloadResult, result: Result) {
	const compared = comparedOf(workload);
	const backend = backendOfRow(result, workload);
	if (workload.verdict === "unchanged") return unchangedText(workload, backend);
	const label = speedLabel(workload, backend);
	const change = workload.work === undefined ? changeWithInterval(compared) : workText(compared);
	const why = compared.reason ?? workload.doubt;
	const found = compared.estimate === null ? "" : `: ${change}`;
	return `${capitalize(label)}${found}.${why === undefined ? "" : ` ${cleanMessage(why)}`}`;
}

function basisText(workload: WorkloadResult) {
	const { noise, latency, replaced, streams, everyMs, precision } = workload;
	return present([
		latency.pairs > 0 && pairsText(latency),
		...noiseTexts(workload),
		noise.detectable !== null && `smallest detectable change ${formatDetectable(noise.detectable)}`,
		replaced > 0 && `${counted(replaced, "run")} discarded as invalid and repeated`,
		...shapesText(workload.shapes),
		counted(streams, "stream"),
		everyMs !== undefined && `every ${formatMs(everyMs)}`,
		cleanName(precision, 20),
	]).join(" · ");
}

function evidence({ workload, isSpeedUnchanged }: WorkloadRow, result: Result) {
	return [
		sentence(verdictText(workload, result)),
		sentence(basisText(workload), "quiet"),
		...(workload.notes ?? []).slice(0, 20).map((note) => sentence(cleanMessage(note))),
		...layerBlocks(workload, !isSpeedUnchanged),
		...kernelBlocks(workload),
		...figureBlocks(workload),
		...runBlocks(workload),
	];
}

function workloadAnchors(rows: readonly WorkloadRow[]) {
	const timed = rows.filter((row) => wasTimed(row.workload));
	const changed = timed.filter((row) => !row.isSpeedUnchanged).slice(0, maxChanged);
	const unchanged = timed.filter((row) => row.isSpeedUnchanged).slice(0, maxUnchanged);
	return new Map([...changed, ...unchanged].map((row) => [row, `workload-${rows.indexOf(row) + 1}`]));
}

export const evidenceSection: ReportSection = {
	id: "evidence",
	formats: ["html"],
	show({ result, rows }) {
		const found = [...workloadAnchors(rows)];
		if (found.length === 0) return null;
		const drawn = found.map(
			([row, id], index): Block => ({
				kind: "details",
				id,
				title: withCaveat(subjectName(row.workload), backendOfRow(result, row.workload)),
				blocks: evidence(row, result),
				isOpen: index < maxOpen && !row.isSpeedUnchanged,
			}),
		);
		const changed = found.filter(([row]) => !row.isSpeedUnchanged).length;
		const unchanged = drawn.slice(changed);
		const label = result.arms.base === null ? "timed workload" : "unchanged workload";
		return {
			title: "Evidence by workload",
			blocks: [
				...drawn.slice(0, changed),
				...details(`${counted(unchanged.length, label)}, run by run`, unchanged),
			],
		};
	},
};

const maxOpenRows = 30;

interface Facts {
	result: Result;
	rows: readonly WorkloadRow[];
	format: Format;
}

/** A caveat that applies only to some parts is in their rows. The page and a comment have it in their title. */
function caveats({ result: { backend }, rows, format }: Facts) {
	if (format !== "terminal" || (!isCounted(rows) && backend.caveat === undefined)) return [];
	const text = isCounted(rows)
		? `Work counted on ${cleanName(backend.name)}, exact; not time, not TensorRT.`
		: `Speed measured on ${withCaveat(cleanName(backend.name), backend)}.`;
	return [sentence(text)];
}

function armColumn(arm: Arm, title: string): Column<WorkloadRow> {
	return numeric(title, ({ texts }) => texts[arm], {
		sortBy: ({ workload }) => comparedOf(workload)[arm] ?? shownMs(workload, arm) ?? null,
	});
}

function changeText({ texts: { change, interval } }: WorkloadRow) {
	return interval === "" ? change : `${change} (${interval})`;
}

/** The change comes before the times: a phone shows only the first columns. */
function comparedColumns(rows: readonly WorkloadRow[]): Column<WorkloadRow>[] {
	const scale = forestScale(rows);
	const [first] = rows;
	const level =
		first === undefined || isCounted(rows) ? "" : ` (${levelText(first.workload.latency)} interval)`;
	const sortBy = ({ workload }: WorkloadRow) => comparedOf(workload).estimate;
	return [
		plain("verdict", ({ verdict }) => verdict, { tone: ({ tone }) => tone }),
		numeric("change", ({ texts }) => texts.change, { formats: ["html"], sortBy }),
		{
			title: forestTitle(rows),
			axis: forestAxis(scale),
			cell: (row) => drawForest(row, scale),
			sortBy: ({ workload }) => comparedOf(workload).interval?.[1] ?? null,
		},
		numeric(`change${level}`, changeText, { formats: ["markdown", "terminal"] }),
		armColumn("base", armTitle("base", rows)),
		armColumn("head", armTitle("head", rows)),
	];
}

/** What every row of an engine shares is in its highlight. */
function memoryFormats(rows: readonly WorkloadRow[]): readonly Format[] {
	const byEngine = groupBy(rows, ({ workload }) => engineKey(workload));
	const isShared = [...byEngine.values()].every(
		(own) => new Set(own.map(({ texts }) => texts.memory)).size === 1,
	);
	const isChanged = rows.some(
		({ workload: { memory } }) => memory.verdict === "regressed" || memory.verdict === "improved",
	);
	return isShared || !isChanged ? ["html"] : ["markdown", "html"];
}

function timedColumns(rows: readonly WorkloadRow[], isCompared: boolean): Column<WorkloadRow>[] {
	const formats = ["markdown", "html"] as const;
	return [
		numeric(isCompared ? "P99 change" : "P99", ({ texts }) => texts.p99, {
			formats,
			sortBy: ({ workload }) => workload.p99.estimate ?? workload.head?.p99Ms ?? null,
		}),
		numeric("GPU memory", ({ texts }) => texts.memory, {
			formats: isCompared ? memoryFormats(rows) : formats,
			sortBy: ({ workload }) => workload.head?.peakMemoryBytes ?? null,
		}),
	];
}

function columnsOf({ result, rows, format }: Facts): Column<WorkloadRow>[] {
	const anchors = workloadAnchors(rows);
	const isCompared = result.arms.base !== null || format !== "html";
	return [
		heading("workload", ({ workload }) => subjectName(workload), {
			cell(row) {
				const { model, engine, workload, part } = row.workload;
				const anchor = anchors.get(row);
				const name = nameOf(model, [engine, workload], part);
				return anchor === undefined ? name : html`<a href="#${anchor}">${name}</a>`;
			},
		}),
		...(isCompared ? comparedColumns(rows) : [armColumn("head", armTitle("time", rows))]),
		...(isCounted(rows) ? [] : timedColumns(rows, isCompared)),
		numeric("golden", ({ texts }) => texts.golden, {
			formats: ["html", "terminal"],
			tone: ({ golden }) => golden?.tone ?? null,
		}),
	];
}

const mostOpen = 8;

/** A comment shows rows that changed, the most first; one alone is told by its highlight. */
function splitForComment(rows: readonly WorkloadRow[]) {
	const size = ({ workload }: WorkloadRow) => Math.abs(comparedOf(workload).estimate ?? 0);
	const changed = rows.filter((row) => !row.isSpeedUnchanged);
	const largest = [...changed].sort((a, b) => size(b) - size(a)).slice(0, mostOpen);
	const open = changed.length < 2 ? [] : changed.filter((row) => largest.includes(row));
	return {
		open,
		folded: [...changed, ...rows.filter((row) => row.isSpeedUnchanged)].filter((row) => !open.includes(row)),
	};
}

function splitForPage(rows: readonly WorkloadRow[]) {
	const changed = rows.filter(({ isUnchanged }) => !isUnchanged);
	const unchanged = rows.filter(({ isUnchanged }) => isUnchanged);
	return rows.length > maxOpenRows
		? { open: changed, folded: unchanged }
		: { open: [...changed, ...unchanged], folded: [] };
}

function foldTitle({ result }: Facts, rows: readonly WorkloadRow[]) {
	if (result.arms.base === null) return counted(rows.length, isCounted(rows) ? "counted row" : "timed row");
	return counted(rows.length, rows.every((row) => row.isSpeedUnchanged) ? "unchanged row" : "row");
}

function blocksOf(
	facts: Facts,
	{ open, folded }: Record<"open" | "folded", readonly WorkloadRow[]>,
	showsQuiet: boolean,
) {
	const label = withCaveat("Workloads", facts.result.backend);
	const columns = columnsOf(facts);
	const tableOf = (some: readonly WorkloadRow[]) =>
		table(label, columns, some, { noun: "row", isMain: true });
	const kept = showsQuiet ? folded : folded.filter((row) => !row.isSpeedUnchanged);
	const quiet = kept.length > 0 ? tableOf(kept) : sentence("Left out here; see `report.html`.");
	return [
		...(open.length === 0 ? [] : caveats(facts)),
		tableOf(open),
		...(folded.length === 0 ? [] : details(foldTitle(facts, folded), [quiet])),
	];
}

export const workloadSection: ReportSection = {
	id: "workloads",
	show({ result, rows }, { format, detail }) {
		if (rows.length === 0) return null;
		const split = format === "markdown" ? splitForComment(rows) : splitForPage(rows);
		const all = format === "terminal" ? { open: [...split.open, ...split.folded], folded: [] } : split;
		const blocks = blocksOf({ result, rows, format }, all, detail.quietRows);
		return format === "html" ? { title: withCaveat("Workloads", result.backend), blocks } : { blocks };
	},
	highlights: speedHighlights,
};

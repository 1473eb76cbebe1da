// The evidence for one workload: pairs, distribution, figures and runs.

import type { Result, WorkloadResult } from "../../../../generated/result.ts";
import { workText } from "../../compare/sentence.ts";
import { comparedOf } from "../../stats/summary.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, speedLabel, subjectName, withCaveat } from "../../text/labels.ts";
import { formatCount, formatPercent } from "../../text/units.ts";
import {
	changeWithInterval,
	cleanMessage,
	noiseTexts,
	pairsText,
	unchangedText,
} from "../comparison-format.ts";
import { backendOfRow } from "../facts.ts";
import { drawDistribution } from "../html/distribution.ts";
import { drawGpu } from "../html/gpu-plots.ts";
import { kernelsPart } from "../html/kernels.ts";
import { layersPart } from "../html/layers.ts";
import { folded, html, type Markup, type Piece } from "../html/markup.ts";
import { figuresTable, runsTable } from "../html/runs-table.ts";
import { drawStrip } from "../html/strip.ts";
import type { WorkloadRow } from "../rows.ts";
import { defineSection, type ReportContext } from "../section.ts";

const maxChanged = 100;
const maxUnchanged = 300;
/** Sections that are open; the others are folded. */
const maxOpen = 8;

function wasTimed(workload: WorkloadResult): boolean {
	return (
		workload.layers !== undefined ||
		workload.runs.some((run) => run.medianMs !== undefined) ||
		workload.distribution !== null
	);
}

function shapesText(workload: WorkloadResult): string {
	const shapes = Object.entries(workload.shapes)
		.slice(0, 12)
		.map(([name, shape]) => `${cleanName(name, 40)} ${shape.slice(0, 12).join("×")}`);
	return [...shapes, counted(workload.streams, "stream"), cleanName(workload.precision, 20)].join(" · ");
}

/** The verdict in one sentence. */
function verdictText(workload: WorkloadResult, result: Result): string {
	const compared = comparedOf(workload);
	if (workload.verdict === "unchanged") return unchangedText(workload, backendOfRow(result, workload));
	const label = speedLabel(workload, backendOfRow(result, workload));
	const verdict = label.charAt(0).toUpperCase() + label.slice(1);
	const why = compared.reason ?? workload.doubt;
	const reason = why === undefined ? "" : ` ${cleanMessage(why)}`;
	if (compared.estimate === null) return `${verdict}.${reason}`;
	return `${verdict}: ${workload.work === undefined ? changeWithInterval(compared) : workText(compared)}.${reason}`;
}

/** What the verdict is based on. */
function basisText(workload: WorkloadResult): string {
	const { noise, latency, replaced } = workload;
	return [
		...(latency.pairs === 0 ? [] : [pairsText(latency)]),
		...noiseTexts(workload),
		...(noise.detectable === null ? [] : [`smallest detectable change ${formatPercent(noise.detectable)}`]),
		...(replaced === 0 ? [] : [`${counted(replaced, "run")} discarded as invalid and repeated`]),
		shapesText(workload),
	].join(" · ");
}

function drawings(workload: WorkloadResult, level: 3 | 4): Piece {
	const strip = drawStrip(workload);
	const distribution = drawDistribution(workload);
	if (strip === null && distribution === null) return null;
	const title = (text: string) => (level === 3 ? html`<h3>${text}</h3>` : html`<h4>${text}</h4>`);
	const iterations = (workload.base?.iterations ?? 0) + (workload.head?.iterations ?? 0);
	return html`<div class="two">${strip === null ? null : html`<div>${title("Every run, pair by pair")}<div class="plot">${strip}</div></div>`}${
		distribution === null
			? null
			: html`<div>${title("All iterations")}<div class="plot">${distribution}</div></div>`
	}</div><p class="legend"><i class="base"></i>base<i class="head"></i>head · the statistics use the runs; the ${formatCount(iterations)} iterations are only plotted</p>
`;
}

function gpuPart(workload: WorkloadResult, level: 3 | 4): Piece {
	const plots = drawGpu(workload);
	if (plots === null) return null;
	const heading =
		level === 3 ? html`<h3>The GPU during the runs</h3>` : html`<h4>The GPU during the runs</h4>`;
	return html`${heading}${plots}<p class="legend">each mark is one run, in the order of measurement; its line spans the lowest to the highest reading</p>
`;
}

function evidence({ workload, isSpeedUnchanged }: WorkloadRow, result: Result): Markup {
	const level = 3;
	const notes = (workload.notes ?? []).slice(0, 20).map((note) => html`<p>${cleanMessage(note)}</p>`);
	return html`<p>${verdictText(workload, result)}</p><p class="sub">${basisText(workload)}</p>${notes}${drawings(workload, level)}${layersPart(workload, { open: !isSpeedUnchanged })}${gpuPart(workload, level)}${kernelsPart(workload)}${figuresTable(workload)}${runsTable(workload)}`;
}

/** Which rows get a section of their own, and its anchor. */
export function workloadAnchors(rows: readonly WorkloadRow[]): Map<WorkloadRow, string> {
	const timed = rows.filter((row) => wasTimed(row.workload));
	const changed = timed.filter((row) => !row.isSpeedUnchanged).slice(0, maxChanged);
	const unchanged = timed.filter((row) => row.isSpeedUnchanged).slice(0, maxUnchanged);
	return new Map([...changed, ...unchanged].map((row) => [row, `workload-${rows.indexOf(row) + 1}`]));
}

function details(
	{ result, rows }: ReportContext,
	isSpeedUnchanged: boolean,
): { result: Result; rows: readonly [WorkloadRow, string][] } | null {
	const found = [...workloadAnchors(rows)].filter(([row]) => row.isSpeedUnchanged === isSpeedUnchanged);
	return found.length === 0 ? null : { result, rows: found };
}

/** Rows whose speed needs attention, the first of them open. */
export const changedWorkloadSection = defineSection({
	id: "changed-workloads",
	select: (context) => details(context, false),
	html: ({ result, rows }) =>
		rows.map(([row, anchor], index) => {
			const name = withCaveat(subjectName(row.workload), backendOfRow(result, row.workload));
			if (index >= maxOpen) return folded(html`<span id="${anchor}">${name}</span>`, evidence(row, result));
			return html`<section class="workload" aria-labelledby="${anchor}"><h2 id="${anchor}">${name}</h2>
${evidence(row, result)}</section>
`;
		}),
});

/** The other rows, folded one by one. */
export const unchangedWorkloadSection = defineSection({
	id: "unchanged-workloads",
	select: (context) => details(context, true),
	html: ({ result, rows }) => {
		const label = result.arms.base === null ? "timed" : "unchanged";
		const title = `${counted(rows.length, `${label} workload`)}, run by run`;
		const parts = rows.map(([row, anchor]) =>
			folded(html`<span id="${anchor}">${subjectName(row.workload)}</span>`, evidence(row, result)),
		);
		return html`<section aria-labelledby="unchanged"><h2 id="unchanged">${title}</h2>
${parts}</section>
`;
	},
});

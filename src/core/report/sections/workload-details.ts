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
import type { ReportContext, ReportSection } from "../section.ts";

const maxChanged = 100;
const maxUnchanged = 300;
/** Sections that are open; the others are folded. */
const maxOpen = 8;

function wasTimed({ layers, runs, distribution }: WorkloadResult): boolean {
	return layers !== undefined || distribution !== null || runs.some(({ medianMs }) => medianMs !== undefined);
}

function verdictText(workload: WorkloadResult, result: Result): string {
	const compared = comparedOf(workload);
	const backend = backendOfRow(result, workload);
	if (workload.verdict === "unchanged") return unchangedText(workload, backend);
	const label = speedLabel(workload, backend);
	const change = workload.work === undefined ? changeWithInterval(compared) : workText(compared);
	const why = compared.reason ?? workload.doubt;
	return `${label.charAt(0).toUpperCase()}${label.slice(1)}${compared.estimate === null ? "" : `: ${change}`}.${why === undefined ? "" : ` ${cleanMessage(why)}`}`;
}

function basisText(workload: WorkloadResult): string {
	const { noise, latency, replaced, streams, precision } = workload;
	const shapes = Object.entries(workload.shapes)
		.slice(0, 12)
		.map(([name, shape]) => `${cleanName(name, 40)} ${shape.slice(0, 12).join("×")}`);
	return [
		...(latency.pairs === 0 ? [] : [pairsText(latency)]),
		...noiseTexts(workload),
		...(noise.detectable === null ? [] : [`smallest detectable change ${formatPercent(noise.detectable)}`]),
		...(replaced === 0 ? [] : [`${counted(replaced, "run")} discarded as invalid and repeated`]),
		...shapes,
		counted(streams, "stream"),
		cleanName(precision, 20),
	].join(" · ");
}

function drawings(workload: WorkloadResult): Piece {
	const strip = drawStrip(workload);
	const distribution = drawDistribution(workload);
	if (strip === null && distribution === null) return null;
	const plot = (title: string, drawn: Markup | null): Piece =>
		drawn && html`<div><h3>${title}</h3><div class="plot">${drawn}</div></div>`;
	const iterations = (workload.base?.iterations ?? 0) + (workload.head?.iterations ?? 0);
	return html`<div class="two">${plot("Every run, pair by pair", strip)}${plot("All iterations", distribution)}</div><p class="legend"><i class="base"></i>base<i class="head"></i>head · the statistics use the runs; the ${formatCount(iterations)} iterations are only plotted</p>
`;
}

function gpuPart(workload: WorkloadResult): Piece {
	const plots = drawGpu(workload);
	return (
		plots &&
		html`<h3>The GPU during the runs</h3>${plots}<p class="legend">each mark is one run, in the order of measurement; its line spans the lowest to the highest reading</p>
`
	);
}

function evidence({ workload, isSpeedUnchanged }: WorkloadRow, result: Result): Markup {
	const notes = (workload.notes ?? []).slice(0, 20).map((note) => html`<p>${cleanMessage(note)}</p>`);
	return html`<p>${verdictText(workload, result)}</p><p class="sub">${basisText(workload)}</p>${notes}${drawings(workload)}${layersPart(workload, { open: !isSpeedUnchanged })}${gpuPart(workload)}${kernelsPart(workload)}${figuresTable(workload)}${runsTable(workload)}`;
}

/** Which rows get a section of their own, and its anchor. */
export function workloadAnchors(rows: readonly WorkloadRow[]): Map<WorkloadRow, string> {
	const timed = rows.filter((row) => wasTimed(row.workload));
	const changed = timed.filter((row) => !row.isSpeedUnchanged).slice(0, maxChanged);
	const unchanged = timed.filter((row) => row.isSpeedUnchanged).slice(0, maxUnchanged);
	return new Map([...changed, ...unchanged].map((row) => [row, `workload-${rows.indexOf(row) + 1}`]));
}

function detailsOf({ rows }: ReportContext, isSpeedUnchanged: boolean): [WorkloadRow, string][] {
	return [...workloadAnchors(rows)].filter(([row]) => row.isSpeedUnchanged === isSpeedUnchanged);
}

/** Rows whose speed needs attention, the first of them open. */
export const changedWorkloadSection: ReportSection = {
	id: "changed-workloads",
	formats: ["html"],
	show(context) {
		const { result } = context;
		const drawn = detailsOf(context, false).map(([row, anchor], index) => {
			const name = withCaveat(subjectName(row.workload), backendOfRow(result, row.workload));
			if (index >= maxOpen) return folded(html`<span id="${anchor}">${name}</span>`, evidence(row, result));
			return html`<section class="workload" aria-labelledby="${anchor}"><h2 id="${anchor}">${name}</h2>
${evidence(row, result)}</section>
`;
		});
		return { blocks: [{ kind: "figure", drawn }] };
	},
};

/** The other rows, folded one by one. */
export const unchangedWorkloadSection: ReportSection = {
	id: "unchanged",
	formats: ["html"],
	show(context) {
		const { result } = context;
		const found = detailsOf(context, true);
		if (found.length === 0) return null;
		const drawn = found.map(([row, anchor]) =>
			folded(html`<span id="${anchor}">${subjectName(row.workload)}</span>`, evidence(row, result)),
		);
		const label = result.arms.base === null ? "timed workload" : "unchanged workload";
		return {
			title: `${counted(found.length, label)}, run by run`,
			blocks: [{ kind: "figure", drawn }],
		};
	},
};

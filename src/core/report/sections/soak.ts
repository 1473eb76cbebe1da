// Engines under load for minutes: what short runs do not show.
import type { SoakResult, WorkloadResult } from "../../schema/result.ts";
import { soakText } from "../../soak/describe.ts";
import { subjectName } from "../../text/labels.ts";
import { formatDuration, formatMs, formatPercent } from "../../text/units.ts";
import { html, section } from "../html/markup.ts";
import { drawSoak } from "../html/soak-plot.ts";
import { foldedMarkdown, markdownTable } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { paint } from "../terminal-text.ts";

const title = "Under load for minutes";
const maxShown = 50;

type Soaked = WorkloadResult & { soak: SoakResult };

function cells({ soak, ...row }: Soaked): string[] {
	const { seconds, coldMs, freshMs, steadyMs, drift, throttledShare } = soak;
	const times = [coldMs, freshMs, steadyMs].map(formatMs);
	const throttled = throttledShare === undefined ? "–" : formatPercent(throttledShare);
	return [subjectName(row), formatDuration(seconds * 1000), ...times, formatPercent(drift, { sign: true }), throttled];
}

export const soakSection = defineSection({
	id: "soak",
	select: ({ result }) => {
		const found = result.workloads.filter((row): row is Soaked => row.soak !== undefined).slice(0, maxShown);
		return found.length === 0 ? null : found;
	},
	markdown: (rows) => {
		const head = ["engine", "load", "cold", "fresh", "sustained", "drift", "throttled"];
		return [foldedMarkdown(title, markdownTable(head, rows.map(cells), [1, 2, 3, 4, 5, 6]))];
	},
	html: (rows) =>
		section(
			title,
			rows.map(
				(
					row,
				) => html`<h3>${subjectName(row)}</h3><p>${soakText(row.soak)}</p><div class="plot">${drawSoak(row.soak, subjectName(row))}</div>
<p class="legend"><i class="head"></i>level<i class="base"></i>P99 · each point is a second or more; dashed lines are steps</p>
`,
			),
			"soak",
		),
	terminal: (rows, { color }) => [paint(title, "bold", color), ...rows.map((row) => `  ${subjectName(row)}: ${soakText(row.soak)}`)],
});

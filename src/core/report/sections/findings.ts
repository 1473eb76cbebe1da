// What preflight found in the models.
import type { Finding } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName, type Tone } from "../../text/labels.ts";
import type { Detail } from "../budget.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import { type Column, html, moreText, pill, section, sortableTable } from "../html/markup.ts";
import { foldedMarkdown, markdownTable, withHiddenRows } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";

const maxRows = 1000;

const findingTones: Readonly<Record<Finding["severity"], Tone>> = { error: "bad", warning: "warn", note: "plain" };

const columns: readonly Column<Finding>[] = [
	{
		title: "Where",
		heading: true,
		cell: (finding) => `${subjectName(finding) || dash}${finding.arm === undefined ? "" : ` (${finding.arm})`}`,
	},
	{ title: "severity", cell: (finding) => pill(finding.severity, findingTones[finding.severity]) },
	{ title: "code", cell: (finding) => html`<code>${cleanName(finding.code, 60)}</code>` },
	{
		title: "what",
		wraps: true,
		cell: (finding) =>
			html`${cleanMessage(finding.message)}${finding.node === undefined ? null : html`<small>node ${cleanName(finding.node, 120)}</small>`}`,
	},
	{ title: "what to do", wraps: true, cell: (finding) => (finding.fix === undefined ? "" : cleanMessage(finding.fix)) },
];

function markdownCells(finding: Finding): string[] {
	const subject = subjectName(finding) || dash;
	return [finding.severity, cleanName(finding.code, 60), subject, cleanName(finding.message, 300), cleanName(finding.fix ?? dash, 200)];
}

function markdownBlock(findings: readonly Finding[], detail: Detail): string {
	if (detail.findings === 0) return "See `report.html`.";
	const table = markdownTable(["severity", "code", "where", "what", "fix"], findings.slice(0, detail.findings).map(markdownCells));
	return withHiddenRows(table, findings.length - detail.findings, "more finding");
}

export const findingSection = defineSection({
	id: "findings",
	select: ({ result: { findings } }) =>
		findings.length === 0 ? null : { title: `Preflight: ${counted(findings.length, "finding")}`, findings },
	markdown: ({ title, findings }, detail) => [foldedMarkdown(title, markdownBlock(findings, detail))],
	html: ({ title, findings }) =>
		section(
			title,
			[sortableTable("findings", columns, findings.slice(0, maxRows)), moreText(findings.length - maxRows, "findings")],
			"findings",
		),
});

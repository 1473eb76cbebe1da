// What preflight found in the models.
import type { Finding } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName, type Tone } from "../../text/labels.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import { type Column, html, pill, section } from "../html/markup.ts";
import { foldedMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable } from "../table.ts";

const maxRows = 1000;

const findingTones: Readonly<Record<Finding["severity"], Tone>> = {
	error: "bad",
	warning: "warn",
	note: "plain",
};

const columns: readonly Column<Finding>[] = [
	{
		title: "Where",
		heading: true,
		text: (finding) =>
			`${subjectName(finding) || dash}${finding.arm === undefined ? "" : ` (${finding.arm})`}`,
	},
	{
		title: "severity",
		text: ({ severity }) => severity,
		cell: ({ severity }) => pill(severity, findingTones[severity]),
	},
	{
		title: "code",
		text: ({ code }) => cleanName(code, 60),
		cell: ({ code }) => html`<code>${cleanName(code, 60)}</code>`,
	},
	{
		title: "what",
		wraps: true,
		text: ({ message }) => cleanName(message, 300),
		cell: ({ message, node }) =>
			html`${cleanMessage(message)}${node === undefined ? null : html`<small>node ${cleanName(node, 120)}</small>`}`,
	},
	{
		title: "what to do",
		wraps: true,
		text: ({ fix = dash }) => cleanName(fix, 200),
		cell: ({ fix = "" }) => cleanMessage(fix),
	},
];

const noun = "finding";

export const findingSection = defineSection({
	id: "findings",
	select: ({ result: { findings } }) =>
		findings.length === 0 ? null : { title: `Preflight: ${counted(findings.length, noun)}`, findings },
	markdown: ({ title, findings: rows }, { findings: most }) => [
		most === 0
			? foldedMarkdown(title, "See `report.html`.")
			: foldedTable(title, columns, { rows, most, noun }),
	],
	html: ({ title, findings: rows }) =>
		section(title, htmlTable("findings", columns, { rows, most: maxRows, noun }), "findings"),
});

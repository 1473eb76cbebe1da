// What preflight found in the models.
import type { Finding } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, subjectName, type Tone } from "../../text/labels.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import type { Column } from "../html/markup.ts";
import { type ReportSection, table } from "../section.ts";

const tones: Readonly<Record<Finding["severity"], Tone>> = { error: "bad", warning: "warn", note: "plain" };

const columns: readonly Column<Finding>[] = [
	{
		title: "Where",
		heading: true,
		text: (finding) =>
			`${subjectName(finding) || dash}${finding.arm === undefined ? "" : ` (${finding.arm})`}`,
	},
	{ title: "severity", text: ({ severity }) => severity, tone: ({ severity }) => tones[severity] },
	{ title: "code", code: true, text: ({ code }) => cleanName(code, 60) },
	{
		title: "what",
		wraps: true,
		text: ({ message, node }) =>
			`${cleanMessage(message, 400)}${node === undefined ? "" : ` (node ${cleanName(node, 120)})`}`,
	},
	{ title: "what to do", wraps: true, text: ({ fix = dash }) => cleanMessage(fix, 300) },
];

export const findingSection: ReportSection = {
	id: "findings",
	formats: ["markdown", "html"],
	show: ({ result: { findings } }) =>
		findings.length === 0
			? null
			: {
					title: `Preflight: ${counted(findings.length, "finding")}`,
					blocks: [table("findings", columns, findings, { noun: "finding" })],
				},
};

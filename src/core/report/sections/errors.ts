// Errors: what kept the run from deciding, and what GitHub refused.
import type { ErrorRecord } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatCount } from "../../text/units.ts";
import { cleanMessage, codeSentences } from "../comparison-format.ts";
import { excerptLines, type Highlight } from "../highlight.ts";
import { html, logExcerpt, type Markup, moreText, pill } from "../html/markup.ts";
import { gateKey } from "../index-gates.ts";
import type { ReportSection } from "../section.ts";

const maxErrors = 200;

const faultOf: Readonly<Record<ErrorRecord["kind"], string>> = {
	configuration: "the configuration",
	runner: "the runner; a retry may help",
	github: "GitHub's side; it does not change the outcome",
	internal: "trtgate itself",
};

function errorHighlight(error: ErrorRecord): Highlight {
	const { kind, code, message, fix, excerpt = [], log, model } = error;
	return {
		severity: kind === "github" ? "warn" : "error",
		topic: kind === "github" ? ["GitHub fault", "GitHub faults"] : ["error", "errors"],
		title: [subjectName(error), cleanMessage(message, 400)].filter((part) => part !== "").join(": "),
		sentences: [
			`Code \`${cleanMessage(code, 80).replaceAll("`", "'")}\`, a fault of ${faultOf[kind]}.`,
			...codeSentences("Full log", log),
		],
		fix: fix && cleanMessage(fix),
		excerpt: excerptLines(excerpt),
		explains: model === undefined ? undefined : gateKey("run", { ...error, model }),
	};
}

function errorItem(error: ErrorRecord): Markup {
	const { kind, code, message, fix, excerpt = [], log } = error;
	const lines = excerptLines(excerpt);
	return html`<li>${pill(kind, kind === "github" ? "warn" : "bad")} <code>${cleanName(code, 60)}</code> ${subjectName(error)}<p>${cleanMessage(message, 1000)}</p>${fix === undefined ? null : html`<p>${cleanMessage(fix)}</p>`}${lines.length === 0 ? null : logExcerpt(lines)}${log === undefined ? null : html`<p>Log: <code>${cleanName(log, 200)}</code></p>`}</li>\n`;
}

export const errorSection: ReportSection = {
	id: "errors",
	formats: ["html"],
	show: ({ result: { errors } }) =>
		errors.length === 0
			? null
			: {
					title: `Errors: ${formatCount(errors.length)}`,
					blocks: [
						{
							kind: "figure",
							drawn: [
								html`<ul>${errors.slice(0, maxErrors).map(errorItem)}</ul>`,
								moreText(errors.length - maxErrors, "errors"),
							],
						},
					],
				},
	highlights: ({ errors }) => errors.map(errorHighlight),
};

// Errors: what kept the run from deciding, and what GitHub refused.
import type { ErrorRecord } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatCount } from "../../text/units.ts";
import { cleanMessage } from "../comparison-format.ts";
import { excerptLines, type Highlight } from "../highlight.ts";
import { html, logExcerpt, type Markup, moreText, pill, section } from "../html/markup.ts";
import { gateKey } from "../index-gates.ts";
import { defineSection } from "../section.ts";

const maxErrors = 200;

const faultOf: Readonly<Record<ErrorRecord["kind"], string>> = {
	configuration: "the configuration",
	runner: "the runner; a retry may help",
	github: "GitHub's side; it does not change the outcome",
	internal: "trtgate itself",
};

function errorHighlight(error: ErrorRecord): Highlight {
	const excerpt = excerptLines(error.excerpt ?? []);
	return {
		severity: error.kind === "github" ? "warn" : "error",
		topic: [
			error.kind === "github" ? "GitHub fault" : "error",
			error.kind === "github" ? "GitHub faults" : "errors",
		],
		title: [subjectName(error), cleanMessage(error.message, 400)].filter((part) => part !== "").join(": "),
		sentences: [
			["Code ", { code: cleanMessage(error.code, 80) }, `, a fault of ${faultOf[error.kind]}.`],
			...(error.log === undefined ? [] : [["Full log: ", { code: cleanMessage(error.log, 200) }, "."]]),
		],
		fix: error.fix === undefined ? undefined : cleanMessage(error.fix),
		...(excerpt.length === 0 ? {} : { excerpt }),
		explains: error.model === undefined ? undefined : gateKey("run", { ...error, model: error.model }),
	};
}

function errorItem(error: ErrorRecord): Markup {
	const lines = excerptLines(error.excerpt ?? []);
	const log = error.log === undefined ? null : html`<p>Log: <code>${cleanName(error.log, 200)}</code></p>`;
	const fix = error.fix === undefined ? null : html`<p>${cleanMessage(error.fix)}</p>`;
	return html`<li>${pill(error.kind, error.kind === "github" ? "warn" : "bad")} <code>${cleanName(error.code, 60)}</code> ${subjectName(error)}<p>${cleanMessage(error.message, 1000)}</p>${fix}${lines.length === 0 ? null : logExcerpt(lines)}${log}</li>\n`;
}

export const errorSection = defineSection({
	id: "errors",
	select: ({ result: { errors } }) => (errors.length === 0 ? null : errors),
	html: (errors) => {
		const list = html`<ul>${errors.slice(0, maxErrors).map(errorItem)}</ul>`;
		return section(
			`Errors: ${formatCount(errors.length)}`,
			[list, moreText(errors.length - maxErrors, "errors")],
			"errors",
		);
	},
	highlights: ({ errors }) => errors.map(errorHighlight),
});

// Renders the report as one self-contained HTML file: offline, light and dark, sortable, printable.
import type { Outcome, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { gateTitle, outcomeLabels, type Tone, unverifiedText } from "../../text/labels.ts";
import { fullDetail } from "../budget.ts";
import { armsText, jobFacts } from "../facts.ts";
import { headline, reportContext } from "../highlights.ts";
import { type ReportContext, type ReportSection, shownSections } from "../section.ts";
import { reportSections } from "../sections.ts";
import { drawHtml } from "./blocks.ts";
import { folded, html, type Markup, type Piece, pill, section } from "./markup.ts";
import { sortScript, sortScriptHash, styleSheet } from "./style.ts";

/** Nothing is loaded, sent or framed; one script runs, known by its hash. */
const pagePolicy = `default-src 'none'; style-src 'unsafe-inline'; script-src '${sortScriptHash}'; base-uri 'none'; form-action 'none'`;

export function renderPage(title: string, body: Piece): string {
	return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${{ markup: styleSheet }}</style>
</head>
<body>
${body}<script>${{ markup: sortScript }}</script>
</body>
</html>
`.markup;
}

const outcomeTones: Readonly<Record<Outcome, Tone>> = {
	pass: "ok",
	warn: "warn",
	fail: "bad",
	inconclusive: "open",
	error: "bad",
};

function pageHeader({ result, highlights }: ReportContext): Markup {
	const facts = jobFacts(result).map(({ label, value }) => html`<li>${label} <b>${value}</b></li>`);
	const isForgeable = result.unverified === true;
	const tone = isForgeable && result.outcome === "pass" ? "open" : outcomeTones[result.outcome];
	return html`<header>
${isForgeable ? html`<p><b>${unverifiedText}</b></p>` : null}<h1>${pill(outcomeLabels[result.outcome], tone)} <span>${gateTitle(result.backend)}: ${headline(result, highlights)}</span></h1>
<p class="sub">${armsText(result)}</p>
<ul class="facts" aria-label="facts">${facts}</ul>
</header>
`;
}

function renderBody(result: Result, sections: readonly ReportSection[]): Markup {
	const context = reportContext(result, sections);
	const shown = shownSections(sections, context, { format: "html", detail: fullDetail });
	const draw = ({ id, title, blocks, isFolded, isLate }: (typeof shown)[number]): Piece => {
		const body = drawHtml(blocks);
		if (title === undefined) return body;
		return isFolded || isLate ? folded(title, body) : section(title, body, id);
	};
	const main = shown.filter(({ isLate }) => !isLate).map(draw);
	const appendix = shown.filter(({ isLate }) => isLate).map(draw);
	return html`${pageHeader(context)}<main>
${main}${section("More", appendix, "more")}</main>
<footer>trtgate ${cleanName(result.tool.version, 40)} · ${cleanName(result.startedAt, 40)} · rendered from result.json, which contains every figure on this page</footer>
`;
}

export function renderHtml(
	result: Result,
	sections: readonly ReportSection[] = reportSections,
	before: readonly Result[] = [],
): string {
	return renderPage(
		`${gateTitle(result.backend)} · ${outcomeLabels[result.outcome]}`,
		[...before, result].map((one) => renderBody(one, sections)),
	);
}

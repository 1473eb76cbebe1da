// Renders the report as one self-contained HTML file: offline, light and dark, sortable, printable.
import type { Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { gateTitle, outcomeLabels, statusTones, unverifiedText } from "../../text/labels.ts";
import { armsText, jobFacts } from "../facts.ts";
import { excerptLines, type Highlight } from "../highlight.ts";
import { headline, reportContext } from "../highlights.ts";
import {
	type Block,
	type Column,
	columnsIn,
	type Drawers,
	drawBlock,
	fullDetail,
	type ReportContext,
	type ReportSection,
	shownSections,
} from "../section.ts";
import { reportSections } from "../sections.ts";
import { coded, folded, html, moreText, type Piece, pill, section } from "./markup.ts";
import { sortScript, sortScriptHash, styleSheet } from "./style.ts";

function bodyCell<Row>(column: Column<Row>, row: Row) {
	const text = column.text?.(row) ?? "";
	const tone = column.tone?.(row) ?? null;
	const content =
		column.cell?.(row) ??
		(tone !== null ? pill(text, tone) : column.code ? html`<code>${text}</code>` : coded(text));
	const sort = column.sortBy === undefined ? null : html` data-v="${column.sortBy(row) ?? ""}"`;
	if (column.heading) return html`<th scope="row"${sort}>${content}</th>`;
	const style = column.numeric ? html` class="n"` : column.wraps || column.code ? html` class="wrap"` : null;
	return html`<td${style}${sort}>${content}</td>`;
}

function sortableTable<Row>(label: string, columns: readonly Column<Row>[], rows: readonly Row[]) {
	const head = columns.map(
		({ title, numeric, axis }) =>
			html`<th scope="col"${numeric ? html` class="n"` : null} aria-sort="none"><button type="button" disabled>${title}</button>${axis ?? null}</th>`,
	);
	const body = rows.map((row) => html`<tr>${columns.map((column) => bodyCell(column, row))}</tr>\n`);
	return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table></div>
`;
}

const maxRows = 1000;

const drawers: Drawers<Piece> = {
	heading: ({ text }) => html`<h3>${text}</h3>\n`,
	sentence({ text, style }) {
		if (style === "strong") return html`<p><b>${coded(text)}</b></p>\n`;
		return html`<p${style === "quiet" ? html` class="sub"` : null}>${coded(text)}</p>\n`;
	},
	notice: ({ text, isUrgent }) =>
		isUrgent
			? html`<p class="notice" role="note"><b>${coded(text)}</b></p>\n`
			: html`<p class="notice plain" role="note">${coded(text)}</p>\n`,
	list: ({ items }) => list(items),
	table({ table: { label, columns, rows, noun, hidden = 0 } }) {
		if (rows.length === 0) return null;
		const shown = rows.slice(0, maxRows);
		const drawn = sortableTable(label, columnsIn("html", columns), shown);
		return [drawn, moreText(rows.length + hidden - shown.length, `${noun}s`)];
	},
	highlight: ({ highlight }) => card(highlight),
	figure: ({ drawn }) => drawn,
	details: ({ title, blocks, id, isOpen }) =>
		folded(id === undefined ? title : html`<span id="${id}">${title}</span>`, drawHtml(blocks), isOpen),
};

export function drawHtml(blocks: readonly Block[]): Piece {
	return blocks.map((block) => drawBlock(drawers, block));
}

function list(items: readonly string[]) {
	return items.length === 0 ? null : html`<ul>${items.map((item) => html`<li>${coded(item)}</li>\n`)}</ul>\n`;
}

const severityLabels = {
	...{ fail: "fails", error: "error", inconclusive: "inconclusive", warn: "warns", note: "note" },
};

function card({ severity, title, lines = [], sentences, fix, excerpt = [] }: Highlight) {
	const tone = statusTones[severity];
	const log = excerptLines(excerpt).map((line, index) => [index === 0 ? null : html`\n`, line]);
	return html`<article class="highlight ${tone}"><h2>${title} ${pill(severityLabels[severity], tone)}</h2>
${list(lines)}<p>${sentences.map((text) => [coded(text), " "])}</p>${fix === undefined ? null : html`<p><b>Next:</b> ${coded(fix)}</p>`}${excerpt.length === 0 ? null : folded("Log excerpt", html`<pre tabindex="0" aria-label="log excerpt">${log}</pre>`)}</article>
`;
}

/** Nothing is loaded, sent or framed; one script runs, known by its hash, on pages without a style of their own. */
export function renderPage(title: string, body: Piece, ownStyle?: string): string {
	const script = ownStyle === undefined ? html`<script>${{ markup: sortScript }}</script>` : null;
	const allowed = script && ` script-src '${sortScriptHash}';`;
	const policy = `default-src 'none'; style-src 'unsafe-inline';${allowed ?? ""} base-uri 'none'; form-action 'none'`;
	return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${{ markup: styleSheet + (ownStyle ?? "") }}</style>
</head>
<body>
${body}${script}
</body>
</html>
`.markup;
}

function pageHeader({ result, highlights }: ReportContext) {
	const facts = jobFacts(result).map(([label, value]) => html`<li>${label} <b>${value}</b></li>`);
	const isForgeable = result.unverified === true;
	const tone = isForgeable && result.outcome === "pass" ? "open" : statusTones[result.outcome];
	return html`<header>
${isForgeable ? html`<p><b>${unverifiedText}</b></p>` : null}<h1>${pill(outcomeLabels[result.outcome], tone)} <span>${gateTitle(result.backend)}: ${headline(result, highlights)}</span></h1>
<p class="sub">${armsText(result)}</p>
<ul class="facts" aria-label="facts">${facts}</ul>
</header>
`;
}

function renderBody(result: Result, sections: readonly ReportSection[]) {
	const context = reportContext(result, sections);
	const shown = shownSections(sections, context, { format: "html", detail: fullDetail });
	const draw = ({ id, title, blocks, isFolded, isLate }: (typeof shown)[number]) => {
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

import { excerptLines, type Highlight, severityLooks } from "../highlight.ts";
import { type Block, columnsIn, type Drawers, drawBlock } from "../section.ts";
import {
	coded,
	folded,
	html,
	logExcerpt,
	type Markup,
	moreText,
	type Piece,
	pill,
	sortableTable,
} from "./markup.ts";

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

function list(items: readonly string[]): Piece {
	return items.length === 0 ? null : html`<ul>${items.map((item) => html`<li>${coded(item)}</li>\n`)}</ul>\n`;
}

function card({ severity, title, lines = [], sentences, fix, excerpt = [] }: Highlight): Markup {
	const { tone, label } = severityLooks[severity];
	return html`<article class="highlight ${tone}"><h2>${title} ${pill(label, tone)}</h2>
${list(lines)}<p>${sentences.map((text) => [coded(text), " "])}</p>${fix === undefined ? null : html`<p><b>Next:</b> ${coded(fix)}</p>`}${excerpt.length === 0 ? null : folded("Log excerpt", logExcerpt(excerptLines(excerpt)))}</article>
`;
}

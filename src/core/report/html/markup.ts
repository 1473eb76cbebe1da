// Builds HTML in which everything is escaped unless it is markup already, and the elements that several sections share.
import { cleanName, escapeHtml } from "../../text/escape.ts";
import type { Tone } from "../../text/labels.ts";
import { formatCount } from "../../text/units.ts";
import type { Phrase } from "../highlight.ts";
import type { Style } from "../terminal-text.ts";

export interface Markup {
	readonly markup: string;
}

export type Piece = Markup | string | number | null | readonly Piece[];

function render(piece: Piece): string {
	if (piece === null) return "";
	if (typeof piece === "string") return escapeHtml(piece);
	if (typeof piece === "number") return Number.isFinite(piece) ? String(piece) : "";
	if ("markup" in piece) return piece.markup;
	return piece.map(render).join("");
}

/** A template whose values are escaped; lists are joined, null is nothing. */
export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
	return { markup: parts.reduce((text, part, at) => text + render(pieces[at - 1] ?? null) + part) };
}

/** A coordinate with as many digits as a screen can show. */
export function at(value: number): number {
	return Math.round(value * 10) / 10;
}

export function pill(label: string, tone: Tone): Markup {
	return html`<span class="pill ${tone}">${label}</span>`;
}

export function phrase(pieces: Phrase): Piece {
	return pieces.map((piece) => (typeof piece === "string" ? piece : html`<code>${piece.code}</code>`));
}

export function logExcerpt(lines: readonly string[]): Markup {
	return html`<pre tabindex="0" aria-label="log excerpt">${lines.map((line, index) => [index === 0 ? "" : html`\n`, line])}</pre>`;
}

export function section(title: string, body: Piece, id: string): Markup {
	return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${body}</section>
`;
}

export function folded(summary: Piece, body: Piece): Markup {
	return html`<details><summary>${summary}</summary>
${body}</details>
`;
}

/** The part of a merged result, under the name of what it measured. */
export function partLine(part: string | undefined): Piece {
	return part === undefined ? null : html`<small>${cleanName(part, 60)}</small>`;
}

export function moreText(hidden: number, what: string): Piece {
	return hidden > 0
		? html`<p class="more">… and ${formatCount(hidden)} more ${what}; result.json contains all.</p>`
		: null;
}

interface AnyColumn<Row> {
	title: string;
	numeric?: boolean;
	/** The row's own heading. */
	heading?: boolean;
	/** Long text that may break. */
	wraps?: boolean;
	/** Drawn under the title. */
	axis?: Markup;
	/** Without it the column is HTML's alone. */
	text?(row: Row): string;
	/** In HTML; else the text. */
	cell?(row: Row): Piece;
	/** In the terminal. */
	style?(row: Row): Style;
	/** What the column sorts by, where it is not the text. Null goes last. */
	sortBy?(row: Row): number | string | null;
}

export type Column<Row> = AnyColumn<Row> &
	(Required<Pick<AnyColumn<Row>, "text">> | Required<Pick<AnyColumn<Row>, "cell">>);

function headCell<Row>(column: Column<Row>): Markup {
	const style = column.numeric === true ? html` class="n"` : null;
	return html`<th scope="col"${style} aria-sort="none"><button type="button" disabled>${column.title}</button>${column.axis ?? null}</th>`;
}

function bodyCell<Row>(column: Column<Row>, row: Row): Markup {
	const content = column.cell?.(row) ?? column.text?.(row) ?? null;
	const sort = column.sortBy === undefined ? null : html` data-v="${column.sortBy(row) ?? ""}"`;
	if (column.heading === true) return html`<th scope="row"${sort}>${content}</th>`;
	const style =
		column.numeric === true ? html` class="n"` : column.wraps === true ? html` class="wrap"` : null;
	return html`<td${style}${sort}>${content}</td>`;
}

/** `label` names the table for those who cannot see it. */
export function sortableTable<Row>(
	label: string,
	columns: readonly Column<Row>[],
	rows: readonly Row[],
): Markup {
	const head = columns.map(headCell);
	const body = rows.map((row) => html`<tr>${columns.map((column) => bodyCell(column, row))}</tr>\n`);
	return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table></div>
`;
}

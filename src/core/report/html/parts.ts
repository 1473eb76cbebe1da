// Small parts that several sections of the page share.
import { cleanName } from "../../text/escape.ts";
import type { Tone } from "../../text/labels.ts";
import type { Phrase } from "../highlight.ts";
import { html, type Markup, type Piece } from "./markup.ts";

export function pill(word: string, tone: Tone): Markup {
	return html`<span class="pill ${tone}">${word}</span>`;
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
	return hidden > 0 ? html`<p class="more">… and ${hidden.toLocaleString("en-US")} more ${what}; result.json holds them all.</p>` : null;
}

// Builds HTML in which everything is escaped.
import { cleanName, codePieces, escapeHtml } from "../../text/escape.ts";
import type { Tone } from "../../text/labels.ts";
import { formatCount } from "../../text/units.ts";

export interface Markup {
	readonly markup: string;
}

export type Piece = Markup | string | number | null | readonly Piece[];

function render(piece: Piece): string {
	if (piece === null) return "";
	if (typeof piece === "string") return escapeHtml(piece);
	if (typeof piece === "number") return Number.isFinite(piece) ? String(piece) : "";
	return "markup" in piece ? piece.markup : piece.map(render).join("");
}

export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
	return { markup: parts.reduce((text, part, at) => text + render(pieces[at - 1] ?? null) + part) };
}

export function at(value: number): number {
	return Math.round(value * 10) / 10;
}

export function pill(label: string, tone: Tone): Markup {
	return html`<span class="pill ${tone}">${label}</span>`;
}

export function coded(text: string): Piece {
	return codePieces(text).map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece));
}

export function section(title: string, body: Piece, id: string): Markup {
	return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${body}</section>
`;
}

export function folded(summary: Piece, body: Piece, isOpen = false): Markup {
	return html`<details${isOpen ? html` open` : null}><summary>${summary}</summary>
${body}</details>
`;
}

export function shareBar(share: number): Markup {
	return html`<svg class="gold" viewBox="0 0 170 12" aria-hidden="true"><rect class="own" width="${at(170 * Math.min(1, Math.max(0, share)))}" height="12" rx="2"/></svg>`;
}

export function nameOf(model: string, rest: readonly string[], part: string | undefined): Markup {
	const names = rest.map((name) => cleanName(name)).join(" · ");
	return html`<b>${cleanName(model)}</b> <span>${names}</span>${part === undefined ? null : html`<small>${cleanName(part, 60)}</small>`}`;
}

export function moreText(hidden: number, what: string): Piece {
	return hidden > 0
		? html`<p class="more">… and ${formatCount(hidden)} more ${what}; result.json contains all.</p>`
		: null;
}

export interface Scale {
	from: number;
	to: number;
	place(value: number): number;
}

export function linearScale(domain: readonly [number, number], range: readonly [number, number]): Scale {
	const [from, to] = domain;
	const width = to - from;
	const place = (value: number) => {
		const share = width > 0 ? Math.min(1, Math.max(0, (value - from) / width)) : 0.5;
		return range[0] + share * (range[1] - range[0]);
	};
	return { from, to, place };
}

function roundStep(width: number, count: number) {
	const rough = width / count;
	const power = 10 ** Math.floor(Math.log10(rough));
	return ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
}

export function roundTicks({ from, to }: Pick<Scale, "from" | "to">, count: number): number[] {
	const width = to - from;
	if (!(width > 0) || !Number.isFinite(width)) return [from];
	const step = roundStep(width, count);
	const first = Math.ceil(from / step - 1e-9);
	const last = Math.floor(to / step + 1e-9);
	// Multiples of the step, freed of the error of the multiplication.
	return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
		Number(((first + index) * step).toPrecision(12)),
	);
}

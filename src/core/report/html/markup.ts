// Builds HTML in which everything is escaped unless it is markup already.
import { escapeHtml } from "../../text/escape.ts";

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

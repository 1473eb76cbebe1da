// Pieces of Markdown that several sections share.
import { escapeMarkdown, markdownCode } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import type { Phrase } from "./highlight.ts";

export function phraseMarkdown(phrase: Phrase): string {
	return phrase
		.map((piece) => (typeof piece === "string" ? escapeMarkdown(piece) : markdownCode(piece.code)))
		.join("");
}

/** `summary` is ours and holds no markup. */
export function foldedMarkdown(summary: string, body: string): string {
	return `<details><summary>${summary}</summary>\n\n${body}\n\n</details>`;
}

/** Folded blocks become one at the end, whose summary lists theirs: what happened stays on one screen. */
export function foldTogether(blocks: readonly string[]): string[] {
	const summaries = blocks.flatMap((block) => /^<details><summary>(.*)<\/summary>/.exec(block)?.[1] ?? []);
	if (summaries.length < 2) return [...blocks];
	const isFolded = (block: string): boolean => block.startsWith("<details><summary>");
	const folded = foldedMarkdown(summaries.join(" · "), blocks.filter(isFolded).join("\n\n"));
	return [...blocks.filter((block) => !isFolded(block)), folded];
}

/** `numeric`: columns that are aligned to the right. */
export function markdownTable(
	head: readonly string[],
	rows: readonly (readonly string[])[],
	numeric: readonly number[] = [],
): string {
	const rule = head.map((_, column) => (numeric.includes(column) ? "--:" : "---"));
	const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	const cell = (text: string, column: number) =>
		escapeMarkdown(numeric.includes(column) ? keepUnits(text) : text);
	return [line(head), `|${rule.join("|")}|`, ...rows.map((row) => line(row.map(cell)))].join("\n");
}

/** A table of many columns breaks its cells, which must not part a number from its unit. */
function keepUnits(text: string): string {
	return text.replace(/(\d) (?=[%µ\p{L}])/gu, "$1\u00a0");
}

/** The table, and how many rows are hidden. */
export function withHiddenRows(table: string, hidden: number, what: string): string {
	return hidden > 0 ? `${table}\n\n… and ${counted(hidden, what)}.` : table;
}

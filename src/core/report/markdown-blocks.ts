import { escapeHtml, escapeMarkdown, markdownCode, markdownFence } from "../text/escape.ts";
import { counted, outcomeSymbols, present } from "../text/labels.ts";
import type { Detail } from "./budget.ts";
import { brief, codePieces, excerptLines, type Highlight } from "./highlight.ts";
import { type Block, columnsIn, type Drawers, drawBlock, type Table } from "./section.ts";

/** Escaped, with what stood between backticks as code. */
export function inlineMarkdown(text: string): string {
	return codePieces(text)
		.map((piece, index) => (index % 2 === 1 ? markdownCode(piece) : escapeMarkdown(piece)))
		.join("");
}

const maxWords = 60;

const styleMarks = { strong: "**", quiet: "_" } as const;

export function drawMarkdown(blocks: readonly Block[], detail: Detail): string[] {
	const drawers: Drawers<string> = {
		heading: ({ text }) => `### ${escapeMarkdown(text)}`,
		sentence({ text, style }) {
			const mark = style === undefined ? "" : styleMarks[style];
			return `${mark}${inlineMarkdown(text)}${mark}`;
		},
		notice: ({ text, isUrgent }) => `> [!${isUrgent ? "WARNING" : "NOTE"}]\n> ${inlineMarkdown(text)}`,
		list: ({ items }) => items.map((item) => `- ${inlineMarkdown(item)}`).join("\n"),
		table: ({ table }) => tableMarkdown(table, table.isMain ? detail.rows : detail.foldedRows),
		highlight: ({ highlight }) => highlightMarkdown(highlight, detail),
		details: ({ title, blocks: folded }) => foldedMarkdown(title, drawMarkdown(folded, detail)),
		figure: () => "",
	};
	return blocks.map((block) => drawBlock(drawers, block)).filter((part) => part !== "");
}

export function foldedMarkdown(title: string, parts: readonly string[]): string {
	return `<details><summary>${escapeHtml(title)}</summary>\n\n${parts.join("\n\n")}\n\n</details>`;
}

/** Folded parts become one at the end, so that the news fits on one screen. */
export function foldTogether(parts: readonly string[]): string[] {
	const summaryOf = (part: string): string | undefined =>
		/^<details><summary>(.*)<\/summary>/.exec(part)?.[1];
	const folded = parts.filter((part) => summaryOf(part) !== undefined);
	if (folded.length < 2) return [...parts];
	const summary = folded.map(summaryOf).join(" · ");
	const body = `<details><summary>${summary}</summary>\n\n${folded.join("\n\n")}\n\n</details>`;
	return [...parts.filter((part) => !folded.includes(part)), body];
}

function tableMarkdown({ columns, rows, noun, hidden: beyond = 0 }: Table, most: number): string {
	if (rows.length === 0) return "";
	if (most === 0) return `${counted(rows.length + beyond, noun)}, in \`report.html\`.`;
	const shown = columnsIn("markdown", columns);
	const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	const lines = rows.slice(0, most).map((row) =>
		line(
			shown.map(({ text, numeric }) => {
				const cell = text?.(row) ?? "";
				// A narrow table must not separate a number from its unit.
				return inlineMarkdown(numeric ? cell.replace(/(\d) (?=[%µ\p{L}])/gu, "$1\u00a0") : cell);
			}),
		),
	);
	const hidden = rows.length + beyond - lines.length;
	const more = hidden > 0 ? `\n\n… and ${counted(hidden, `more ${noun}`)}.` : "";
	const rule = `|${shown.map(({ numeric }) => (numeric ? "--:" : "---")).join("|")}|`;
	return `${[line(shown.map(({ title }) => title)), rule, ...lines].join("\n")}${more}`;
}

function highlightMarkdown(whole: Highlight, detail: Detail): string {
	const { severity, title, lines = [], sentences, fix, excerpt = [] } = brief(whole, maxWords);
	const first = `${outcomeSymbols[severity]} **${escapeMarkdown(title)}**`;
	if (!detail.sentences) return first;
	const listed = [first, ...lines.map((line) => `- ${inlineMarkdown(line)}`)].join("\n");
	const below = present([
		sentences.map(inlineMarkdown).join(" "),
		fix !== undefined && `**Next:** ${inlineMarkdown(fix)}`,
	]).join("\n");
	// Text after a list needs a blank line to be a paragraph.
	const text = present([listed, below]).join(lines.length > 0 ? "\n\n" : "\n");
	if (!detail.excerpts || excerpt.length === 0) return text;
	return `${text}\n\n${foldedMarkdown("log excerpt", [markdownFence(excerptLines(excerpt))])}`;
}

// The report for a terminal.
import type { Result } from "../../../generated/result.ts";
import { withoutMarks } from "../text/escape.ts";
import {
	counted,
	gateTitle,
	outcomeLabels,
	present,
	statusTones,
	type Tone,
	unverifiedText,
} from "../text/labels.ts";
import { paint, type Style } from "../text/paint.ts";
import { armsText, jobFacts } from "./facts.ts";
import { excerptLines, type Highlight } from "./highlight.ts";
import { headline, reportContext } from "./highlights.ts";
import {
	type Block,
	columnsIn,
	type Drawers,
	drawBlock,
	fullDetail,
	type ReportContext,
	shownSections,
	type Table,
} from "./section.ts";
import { reportSections } from "./sections.ts";

export interface TerminalOptions {
	color: boolean;
	columns: number;
}

const toneStyles: Readonly<Record<Tone, Style>> = {
	bad: "red",
	warn: "yellow",
	ok: "green",
	open: "magenta",
	plain: "dim",
};

// Pictographs and the East Asian scripts take two columns; marks that join or combine take none.
const wide =
	/[\p{Extended_Pictographic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\uff01-\uff60]/u;
const narrow = /[\p{Mark}\p{Format}]/u;

export function textWidth(text: string): number {
	if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
	return [...text].reduce((width, char) => width + (narrow.test(char) ? 0 : wide.test(char) ? 2 : 1), 0);
}

/** A word longer than a line is never cut, so that paths can be copied. */
export function wrapText(text: string, columns: number): string[] {
	const lines: string[] = [];
	let line = "";
	for (const word of text.split(" ").filter((part) => part !== "")) {
		const longer = line === "" ? word : `${line} ${word}`;
		if (line !== "" && textWidth(longer) > columns) {
			lines.push(line);
			line = word;
		} else line = longer;
	}
	return line === "" ? lines : [...lines, line];
}

export interface Cell {
	text: string;
	style?: Style;
	right?: boolean;
}

const gap = 2;
const leastFirst = 24;

function pad({ text, style, right }: Cell, width: number, color: boolean) {
	const space = " ".repeat(Math.max(0, width - textWidth(text)));
	const painted = style === undefined ? text : paint(text, style, color);
	return right ? space + painted : painted + space;
}

/** Where the terminal is too narrow, names wrap, then whole columns go; the second stays. */
export function renderColumns(rows: readonly (readonly Cell[])[], options: TerminalOptions): string[][] {
	const most = Math.max(0, ...rows.map((row) => row.length));
	const widths = Array.from({ length: most }, (_, column) =>
		Math.max(0, ...rows.map((row) => textWidth(row[column]?.text ?? ""))),
	);
	const [widest = 0] = widths;
	const rest = (count: number) => widths.slice(1, count).reduce((sum, width) => sum + width + gap, 0);
	let count = most;
	while (count > 2 && Math.min(widest, leastFirst) + rest(count) > options.columns) count -= 1;
	const width = Math.min(widest, Math.max(leastFirst, options.columns - rest(count)));
	return rows.map(([name = { text: "" }, ...others]) => {
		const [first = "", ...more] = wrapText(name.text, width);
		const cells = others
			.slice(0, count - 1)
			.map((cell, column) => pad(cell, widths[column + 1] ?? 0, options.color));
		const line = (text: string) =>
			[pad({ ...name, text }, width, options.color), ...cells].join(" ".repeat(gap)).trimEnd();
		// A word that is too long to break has a line to itself.
		return textWidth(first) > width && cells.length > 0 ? [first, ...more, line("")] : [line(first), ...more];
	});
}

const severityMarks = { fail: "✗", error: "✗", inconclusive: "?", warn: "!", note: "i" };

function headLines({ result, highlights }: ReportContext, { color, columns }: TerminalOptions) {
	const label = outcomeLabels[result.outcome].toUpperCase();
	const [first = "", ...others] = wrapText(
		`${gateTitle(result.backend)}: ${headline(result, highlights)}`,
		columns - label.length - 2,
	);
	const facts = [armsText(result), ...jobFacts(result).map((fact) => fact.join(" "))];
	return [
		...(result.unverified === true ? [paint(unverifiedText, "bold", color)] : []),
		`${paint(label, toneStyles[statusTones[result.outcome]], color)}  ${paint(first, "bold", color)}`,
		...others.map((line) => paint(line, "bold", color)),
		...wrapText(facts.join(" · "), columns).map((line) => paint(line, "dim", color)),
	];
}

export function renderTerminal(
	result: Result,
	{ resultPath, ...given }: TerminalOptions & { resultPath?: string },
	sections = reportSections,
): string {
	const options = { ...given, columns: Math.max(40, Math.min(given.columns, 400)) };
	const context = reportContext(result, sections);
	const view = { format: "terminal", detail: fullDetail, resultPath } as const;
	const parts = shownSections(sections, context, view).map(({ title, blocks }) => [
		...(title === undefined ? [] : [paint(title, "bold", options.color)]),
		...drawTerminal(blocks, options),
	]);
	return `${[headLines(context, options), ...parts]
		.filter((lines) => lines.length > 0)
		.map((lines) => lines.join("\n"))
		.join("\n\n")}\n`;
}

export function drawTerminal(blocks: readonly Block[], options: TerminalOptions): string[] {
	const { color, columns } = options;
	const painted = (text: string, style: Style) =>
		wrapText(text, columns).map((line) => paint(line, style, color));
	const drawers: Drawers<string[]> = {
		heading: ({ text }) => [paint(text, "bold", color)],
		sentence({ text, style }) {
			const bare = withoutMarks(text);
			return style === undefined
				? wrapText(bare, columns)
				: painted(bare, style === "strong" ? "bold" : "dim");
		},
		notice: ({ text }) => painted(text, "yellow"),
		// Backticks stay: they show where a command begins and ends.
		list: ({ items }) => items.map((item) => `  - ${wrapText(item, columns - 4).join("\n    ")}`),
		table: ({ table }) => tableLines(table, options),
		highlight: ({ highlight }) => highlightLines(highlight, options),
		figure: () => [],
		details: () => [],
	};
	return blocks.flatMap((block, index) => [
		...(index > 0 && blocks[index - 1]?.kind === "highlight" ? [""] : []),
		...drawBlock(drawers, block),
	]);
}

function tableLines({ columns, rows, noun, isMain, hidden: beyond = 0 }: Table, options: TerminalOptions) {
	if (rows.length === 0) return [];
	const shown = columnsIn("terminal", columns);
	const beside = shown.filter(({ wraps }) => !wraps);
	const titles = beside.map(({ title, numeric }): Cell => ({ text: title, style: "dim", right: numeric }));
	const listed = rows.slice(0, isMain ? 40 : 20);
	const cells = listed.map((row) =>
		beside.map(({ text, tone, numeric }): Cell => {
			const own = tone?.(row) ?? null;
			const style = own === null ? undefined : toneStyles[own];
			return { text: withoutMarks(text?.(row) ?? ""), right: numeric, style };
		}),
	);
	const [head = [], ...lines] = renderColumns([titles, ...cells], options);
	const below = (row: unknown) =>
		shown
			.filter(({ wraps }) => wraps)
			.flatMap(({ text }) => wrapText(withoutMarks(text?.(row) ?? ""), options.columns - 4))
			.map((line) => paint(`    ${line}`, "dim", options.color));
	const hidden = rows.length + beyond - listed.length;
	return [
		...head,
		...listed.flatMap((row, index) => [...(lines[index] ?? []), ...below(row)]),
		...present([
			hidden > 0 && paint(`… and ${counted(hidden, `more ${noun}`)} in the report`, "dim", options.color),
		]),
	];
}

function highlightLines(highlight: Highlight, { color, columns }: TerminalOptions) {
	const { severity, title, lines = [], sentences, excerpt = [] } = highlight;
	const style = severity === "note" ? "cyan" : toneStyles[statusTones[severity]];
	const [first = "", ...others] = wrapText(title, columns - 2);
	const texts = [...lines, sentences.join(" ")].map(withoutMarks);
	return [
		`${paint(severityMarks[severity], style, color)} ${paint(first, "bold", color)}`,
		...others.map((line) => `  ${paint(line, "bold", color)}`),
		...texts.flatMap((text) => wrapText(text, columns - 2)).map((line) => `  ${line}`),
		...excerptLines(excerpt).map((line) => paint(`  │ ${line}`, "dim", color)),
	];
}

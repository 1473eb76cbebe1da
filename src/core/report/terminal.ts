// The report for a terminal.

import type { Result } from "../../../generated/result.ts";
import { withoutMarks } from "../text/escape.ts";
import { counted, gateTitle, outcomeLabels, present, statusTones, unverifiedText } from "../text/labels.ts";
import { fullDetail } from "./budget.ts";
import { armsText, jobFacts } from "./facts.ts";
import { excerptLines, type Highlight } from "./highlight.ts";
import { headline, reportContext } from "./highlights.ts";
import {
	type Block,
	columnsIn,
	type Drawers,
	drawBlock,
	type ReportContext,
	shownSections,
	type Table,
} from "./section.ts";
import { reportSections } from "./sections.ts";
import {
	type Cell,
	paint,
	renderColumns,
	type Style,
	type TerminalOptions,
	toneStyles,
	wrapText,
} from "./terminal-text.ts";

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

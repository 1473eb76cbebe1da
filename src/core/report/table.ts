// One table for every format: HTML shows all columns, Markdown and the terminal those that have a text.
import { counted } from "../text/labels.ts";
import { type Column, moreText, type Piece, sortableTable } from "./html/markup.ts";
import { foldedMarkdown, markdownTable, withHiddenRows } from "./markdown-parts.ts";
import { paint, renderColumns, type TerminalOptions } from "./terminal-text.ts";

interface Rows<Row> {
	rows: readonly Row[];
	most: number;
	/** One of the rows, for how many are hidden. */
	noun: string;
}

/** `label` names the table for those who cannot see it; null without rows. */
export function htmlTable<Row>(
	label: string,
	columns: readonly Column<Row>[],
	{ rows, most, noun }: Rows<Row>,
): Piece {
	return rows.length === 0
		? null
		: [sortableTable(label, columns, rows.slice(0, most)), moreText(rows.length - most, `${noun}s`)];
}

/** Folded under the title; `note` follows the table. */
export function foldedTable<Row>(
	title: string,
	columns: readonly Column<Row>[],
	{ rows, most, noun, note }: Rows<Row> & { note?: string },
): string {
	const shown = columns.flatMap((column) =>
		column.text === undefined ? [] : [{ ...column, text: column.text }],
	);
	const numeric = shown.flatMap(({ numeric }, index) => (numeric === true ? [index] : []));
	const cells = rows.slice(0, most).map((row) => shown.map(({ text }) => text(row)));
	const table = markdownTable(
		shown.map(({ title }) => title),
		cells,
		numeric,
	);
	const body = withHiddenRows(table, rows.length - most, `more ${noun}`);
	return foldedMarkdown(title, note === undefined ? body : `${body}\n\n${note}`);
}

/** Under the title, without the columns' own. */
export function terminalTable<Row>(
	title: string,
	columns: readonly Column<Row>[],
	{ rows, most, noun, options }: Rows<Row> & { options: TerminalOptions },
): string[] {
	const cells = rows.slice(0, most).map((row) =>
		columns.map(({ text, numeric, style }) => ({
			text: text?.(row) ?? "",
			...(numeric === true ? { right: true } : {}),
			style: style === undefined ? undefined : style(row),
		})),
	);
	const hidden = rows.length - cells.length;
	return [
		paint(title, "bold", options.color),
		...renderColumns(cells, options),
		...(hidden > 0
			? [paint(`… and ${counted(hidden, `more ${noun}`)} in the report`, "dim", options.color)]
			: []),
	];
}

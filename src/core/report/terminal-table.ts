// Lays cells out in columns that fit a terminal's width; where it is too narrow, whole columns go.
import { fitText, paint, type Style, textWidth } from "./terminal-text.ts";

export interface Cell {
	text: string;
	style?: Style;
	right?: boolean;
}

const gap = 2;
const leastFirst = 16;

function widths(rows: readonly (readonly Cell[])[]): number[] {
	const columns = Math.max(0, ...rows.map((row) => row.length));
	return Array.from({ length: columns }, (_, column) => Math.max(0, ...rows.map((row) => textWidth(row[column]?.text ?? ""))));
}

/** How many columns fit if the first, the names, may shrink; the verdict beside it always stays. */
function fitting(all: readonly number[], available: number): number {
	const used = (count: number) => all.slice(1, count).reduce((sum, width) => sum + width + gap, Math.min(all[0] ?? 0, leastFirst));
	let count = all.length;
	while (count > 2 && used(count) > available) count -= 1;
	return count;
}

function pad(cell: Cell, width: number, color: boolean): string {
	const text = fitText(cell.text, width);
	const space = " ".repeat(Math.max(0, width - textWidth(text)));
	const painted = cell.style === undefined ? text : paint(text, cell.style, color);
	return cell.right === true ? space + painted : painted + space;
}

export function renderColumns(rows: readonly (readonly Cell[])[], options: { color: boolean; columns: number }): string[] {
	const all = widths(rows);
	const count = fitting(all, options.columns);
	const rest = all.slice(1, count).reduce((sum, width) => sum + width + gap, 0);
	const first = Math.max(leastFirst, Math.min(all[0] ?? 0, options.columns - rest));
	const sizes = [first, ...all.slice(1, count)];
	return rows.map((row) =>
		row
			.slice(0, count)
			.map((cell, column) => pad(cell, sizes[column] ?? 0, options.color))
			.join(" ".repeat(gap))
			.trimEnd(),
	);
}

// Text in a terminal: its width, wrapping, colour, and columns that fit.
import type { Tone } from "../text/labels.ts";

export interface TerminalOptions {
	color: boolean;
	columns: number;
	/** Where `result.json` is, for commands to copy. */
	resultPath?: string;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "magenta" | "cyan";

export const toneStyles: Readonly<Record<Tone, Style>> = {
	bad: "red",
	warn: "yellow",
	ok: "green",
	open: "magenta",
	plain: "dim",
};

/** SGR parameters of ECMA-48. */
const codes: Readonly<Record<Style, number>> = {
	bold: 1,
	dim: 2,
	red: 31,
	green: 32,
	yellow: 33,
	magenta: 35,
	cyan: 36,
};

export function paint(text: string, style: Style, color: boolean): string {
	return color && text !== "" ? `\u001b[${codes[style]}m${text}\u001b[0m` : text;
}

// Pictographs and the East Asian scripts take two columns; marks that join or combine take none.
const wide =
	/[\p{Extended_Pictographic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\uff01-\uff60]/u;
const narrow = /[\p{Mark}\p{Format}]/u;

/** Columns that a text takes, near enough for tables. */
export function textWidth(text: string): number {
	if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
	return [...text].reduce((width, char) => width + (narrow.test(char) ? 0 : wide.test(char) ? 2 : 1), 0);
}

/** Breaks between words; a word longer than a line stands alone and is never cut, so that paths can be copied. */
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

/** Cuts the middle out, because names of one list tend to share their beginning and end. */
export function fitText(text: string, columns: number): string {
	if (textWidth(text) <= columns) return text;
	const end = firstThatFit([...text].reverse(), Math.floor((columns - 1) / 2))
		.reverse()
		.join("");
	return `${firstThatFit([...text], columns - 1 - textWidth(end)).join("")}…${end}`;
}

/** The smallest width, from `least` on, at which different texts stay different. */
function distinctWidth(texts: readonly string[], least: number): number {
	const different = new Set(texts).size;
	let width = least;
	while (new Set(texts.map((text) => fitText(text, width))).size < different) width += 1;
	return width;
}

function firstThatFit(chars: readonly string[], columns: number): string[] {
	const kept: string[] = [];
	for (const char of chars) {
		if (textWidth(kept.join("") + char) > columns) break;
		kept.push(char);
	}
	return kept;
}

export interface Cell {
	text: string;
	style?: Style;
	right?: boolean;
}

const gap = 2;
const leastFirst = 16;

function widths(rows: readonly (readonly Cell[])[]): number[] {
	const columns = Math.max(0, ...rows.map((row) => row.length));
	return Array.from({ length: columns }, (_, column) =>
		Math.max(0, ...rows.map((row) => textWidth(row[column]?.text ?? ""))),
	);
}

/** How many columns fit if the first, the names, may shrink to `first`; the verdict beside it always stays. */
function fitting(all: readonly number[], first: number, available: number): number {
	const used = (count: number) => all.slice(1, count).reduce((sum, width) => sum + width + gap, first);
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

/** Lays cells out in columns; where the terminal is too narrow, whole columns go. */
export function renderColumns(rows: readonly (readonly Cell[])[], options: TerminalOptions): string[] {
	const all = widths(rows);
	const least = distinctWidth(
		rows.map((row) => row[0]?.text ?? ""),
		Math.min(all[0] ?? 0, leastFirst),
	);
	const count = fitting(all, least, options.columns);
	const rest = all.slice(1, count).reduce((sum, width) => sum + width + gap, 0);
	const first = Math.max(least, Math.min(all[0] ?? 0, options.columns - rest));
	const sizes = [first, ...all.slice(1, count)];
	return rows.map((row) =>
		row
			.slice(0, count)
			.map((cell, column) => pad(cell, sizes[column] ?? 0, options.color))
			.join(" ".repeat(gap))
			.trimEnd(),
	);
}

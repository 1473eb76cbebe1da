// Text in a terminal: its width, wrapping, colour, and columns that fit.
import type { Tone } from "../text/labels.ts";

export interface TerminalOptions {
	color: boolean;
	columns: number;
}

/** SGR parameters of ECMA-48. */
const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;

export type Style = keyof typeof codes;

export const toneStyles: Readonly<Record<Tone, Style>> = {
	bad: "red",
	warn: "yellow",
	ok: "green",
	open: "magenta",
	plain: "dim",
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
/** Columns that the first column, of names, may shrink to. */
const leastFirst = 16;

function pad(cell: Cell, width: number, color: boolean): string {
	const text = fitText(cell.text, width);
	const space = " ".repeat(Math.max(0, width - textWidth(text)));
	const painted = cell.style === undefined ? text : paint(text, cell.style, color);
	return cell.right ? space + painted : painted + space;
}

/** Lays cells out in columns. Where the terminal is too narrow, names shrink, then whole columns go; the second stays. */
export function renderColumns(rows: readonly (readonly Cell[])[], options: TerminalOptions): string[] {
	const most = Math.max(0, ...rows.map((row) => row.length));
	const widths = Array.from({ length: most }, (_, column) =>
		Math.max(0, ...rows.map((row) => textWidth(row[column]?.text ?? ""))),
	);
	const [widest = 0] = widths;
	const names = rows.map((row) => row[0]?.text ?? "");
	const least = distinctWidth(names, Math.min(widest, leastFirst));
	const rest = (count: number) => widths.slice(1, count).reduce((sum, width) => sum + width + gap, 0);
	let count = most;
	while (count > 2 && least + rest(count) > options.columns) count -= 1;
	const first = Math.max(least, Math.min(widest, options.columns - rest(count)));
	return rows.map((row) =>
		row
			.slice(0, count)
			.map((cell, column) => pad(cell, column === 0 ? first : (widths[column] ?? 0), options.color))
			.join(" ".repeat(gap))
			.trimEnd(),
	);
}

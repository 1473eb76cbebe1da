// Text and columns that fit a terminal.
import type { Tone } from "../text/labels.ts";

export interface TerminalOptions {
	color: boolean;
	columns: number;
}

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

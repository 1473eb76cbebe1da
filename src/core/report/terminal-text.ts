// Text in a terminal: its width, wrapping, and colour.

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "magenta" | "cyan";

/** SGR parameters of ECMA-48. */
const codes: Readonly<Record<Style, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 };

export function paint(text: string, style: Style, color: boolean): string {
	return color && text !== "" ? `\u001b[${codes[style]}m${text}\u001b[0m` : text;
}

// Pictographs and the East Asian scripts take two columns; marks that join or combine take none.
const wide = /[\p{Extended_Pictographic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\uff01-\uff60]/u;
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

export function fitText(text: string, columns: number): string {
	if (textWidth(text) <= columns) return text;
	let kept = "";
	for (const char of text) {
		if (textWidth(kept + char) > columns - 1) break;
		kept += char;
	}
	return `${kept}…`;
}

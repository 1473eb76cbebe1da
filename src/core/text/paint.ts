// Colours of a terminal.
const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;

export type Style = keyof typeof codes;

export function paint(text: string, style: Style, color: boolean): string {
	return color && text !== "" ? `\u001b[${codes[style]}m${text}\u001b[0m` : text;
}

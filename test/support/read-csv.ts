// Reads CSV by RFC 4180, without leniency: what it refuses is no CSV.

const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y;

export function readCsv(text: string): string[][] {
	const rows: string[][] = [];
	let row: string[] = [];
	cell.lastIndex = 0;
	while (cell.lastIndex < text.length) {
		const at = cell.lastIndex;
		const match = cell.exec(text);
		if (match === null) throw new Error(`no CSV at character ${at}: ${text.slice(at, at + 40)}`);
		const [, raw = "", end] = match;
		row.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
		if (end === ",") continue;
		rows.push(row);
		row = [];
	}
	return rows;
}

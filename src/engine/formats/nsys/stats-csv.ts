// Reads the kernel table of `nsys stats --format csv`.
import type { KernelFact } from "../../core/explain/kernels.ts";

export type KernelTable =
	| { state: "ok"; kernels: KernelFact[] }
	| { state: "no-data" }
	| { state: "unknown"; why: string };

/** Networks have at most a few thousand kernels; a larger table is something else. */
const maxRows = 100_000;

/** Columns are found by their header, so added ones do no harm. `text` may have sentences before the table. */
export function parseKernelTable(text: string): KernelTable {
	const lines = text.split(/\r?\n/);
	const at = lines.findIndex((line) => /^"?Time ?\(%\)"?,/.test(line));
	const header = lines[at];
	if (header === undefined) {
		if (text.trim() === "" || /does not contain .* data/.test(text)) return { state: "no-data" };
		return { state: "unknown", why: `no header in ${lines.length} lines` };
	}
	const columns = splitCsvLine(header, Number.POSITIVE_INFINITY).map((name) =>
		name.replace(/\s+/g, " ").trim(),
	);
	for (const name of ["Name", "Total Time (ns)"])
		if (!columns.includes(name))
			return { state: "unknown", why: `no column ${name} in ${columns.join(", ")}` };
	const body = lines.slice(at + 1, at + 1 + maxRows).filter((line) => line.trim() !== "");
	const kernels = body.flatMap((line) => rowOf(splitCsvLine(line, columns.length), columns) ?? []);
	return { state: "ok", kernels };
}

function rowOf(cells: readonly string[], columns: readonly string[]): KernelFact | null {
	const name = cells[columns.indexOf("Name")]?.trim();
	const value = (...titles: string[]): number | null => {
		const text = titles
			.map((title) => cells[columns.indexOf(title)])
			.find((cell) => cell !== undefined && cell !== "");
		const number = text === undefined ? Number.NaN : Number(text);
		return Number.isFinite(number) ? number : null;
	};
	const totalNs = value("Total Time (ns)");
	const instances = value("Instances", "Count");
	if (name === undefined || name === "" || totalNs === null || instances === null) return null;
	return { name, totalNs, instances };
}

/**
 * At most `most` cells; the last takes the remaining text. nsys does not escape quotes inside a cell, so the end of a
 * kernel's name, the last cell, cannot be found otherwise.
 */
function splitCsvLine(line: string, most: number): string[] {
	const cells: string[] = [];
	let at = 0;
	while (at <= line.length) {
		const quoted = line[at] === '"';
		const end = cells.length + 1 === most ? line.length : endOfCell(line, at);
		const cell = line.slice(at, end);
		cells.push(quoted ? cell.slice(1, cell.endsWith('"') ? -1 : undefined).replaceAll('""', '"') : cell);
		at = end + 1;
	}
	return cells;
}

function endOfCell(line: string, from: number): number {
	if (line[from] !== '"') return line.indexOf(",", from) === -1 ? line.length : line.indexOf(",", from);
	const end = line.indexOf('",', from + 1);
	return end === -1 ? line.length : end + 1;
}

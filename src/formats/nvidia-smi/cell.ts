// Reads one cell of nvidia-smi's output: a value, or a token for a missing one.

/** What nvidia-smi prints where it has no value: `[N/A]`, `[Not Supported]`, bare `N/A`, `-`; `ERR!` and `Unknown Error` on failure. */
export type Cell = { state: "value"; text: string } | { state: "none"; why: string } | { state: "lost"; why: string };

/** Not a missing value: the GPU no longer responds (NVML's error strings). */
const losses = /GPU is lost|GPU requires reset|fallen off the bus|Unable to determine the device handle/i;

export function readCell(text: string): Cell {
	const trimmed = text.trim();
	if (losses.test(trimmed)) return { state: "lost", why: unbracket(trimmed) };
	if (trimmed === "" || trimmed === "-" || trimmed.startsWith("[") || /^(N\/A|ERR!|(Unknown|Insufficient|Not) \w+)$/i.test(trimmed))
		return { state: "none", why: unbracket(trimmed) };
	return { state: "value", text: trimmed };
}

function unbracket(text: string): string {
	return text.replace(/^\[|\]$/g, "");
}

/** A finite number, a unit behind it allowed; null for every other cell. */
export function cellNumber(text: string | undefined): number | null {
	if (text === undefined) return null;
	const cell = readCell(text);
	const match = cell.state === "value" ? /^(-?\d+(?:\.\d+)?)(?: ?(?:%|MiB|MHz|W|C|us))?$/.exec(cell.text) : null;
	const value = match ? Number(match[1]) : Number.NaN;
	return Number.isFinite(value) ? value : null;
}

/** The cell's text, or null where it has none. */
export function cellText(text: string | undefined): string | null {
	const cell = readCell(text ?? "");
	return cell.state === "value" ? cell.text : null;
}

/** A 64-bit mask, `0x0000000000000004`. */
export function cellMask(text: string | undefined): bigint | null {
	const trimmed = text?.trim() ?? "";
	return /^0x[0-9a-f]{1,16}$/i.test(trimmed) ? BigInt(trimmed) : null;
}

/** Cells of one line. nvidia-smi quotes nothing; its separator is comma and space. */
export function splitCells(line: string): string[] {
	return line.split(/, ?/);
}

// Keeps a comment under GitHub's size limit by dropping detail step by step.

export interface Detail {
	environment: boolean;
	quietRows: boolean;
	excerpts: boolean;
	rows: number;
	foldedRows: number;
	highlights: number;
	sentences: boolean;
}

export const fullDetail: Detail = {
	environment: true,
	quietRows: true,
	excerpts: true,
	rows: 400,
	foldedRows: 100,
	highlights: 8,
	sentences: true,
};

/** Cheapest loss first, with what the reader is told is left out. */
const steps: readonly (readonly [leavesOut: string, less: Partial<Detail>])[] = [
	["the environment", { environment: false }],
	["unchanged rows and engines that were built", { quietRows: false }],
	["log excerpts", { excerpts: false }],
	["all but 60 rows, and most findings and goldens", { rows: 60, foldedRows: 20 }],
	["all but 15 rows and 6 highlights", { rows: 15, highlights: 6, foldedRows: 5 }],
	["all sentences but the titles", { rows: 5, highlights: 5, foldedRows: 0, sentences: false }],
];

export function utf8Bytes(text: string): number {
	return new TextEncoder().encode(text).length;
}

/** The last resort, so that a comment can always be posted. */
function cut(text: string, limit: number) {
	const notice = "\n\n_Truncated here: the report is too large for a comment._\n";
	const kept: string[] = [];
	let bytes = utf8Bytes(notice);
	for (const line of text.split("\n")) {
		bytes += utf8Bytes(line) + 1;
		if (bytes > limit) break;
		kept.push(line);
	}
	return kept.join("\n") + notice;
}

/** Renders with less and less detail until the text fits `limit` bytes, which are never fewer than UTF-16 units. */
export function fitBudget(
	render: (detail: Detail, leftOut: readonly string[]) => string,
	limit: number,
): string {
	let detail = fullDetail;
	let text = render(detail, []);
	const leftOut: string[] = [];
	for (const [leavesOut, less] of steps) {
		if (utf8Bytes(text) <= limit) return text;
		detail = { ...detail, ...less };
		leftOut.push(leavesOut);
		text = render(detail, leftOut);
	}
	return utf8Bytes(text) <= limit ? text : cut(text, limit);
}

// Keeps a comment under GitHub's size limit: drops detail step by step and reports what was dropped.

/** What a comment shows; each step of the budget takes some of it away. */
export interface Detail {
	environment: boolean;
	quietRows: boolean;
	builtEngines: boolean;
	excerpts: boolean;
	findings: number;
	goldens: number;
	rows: number;
	highlights: number;
	sentences: boolean;
}

const fullDetail: Detail = {
	environment: true,
	quietRows: true,
	builtEngines: true,
	excerpts: true,
	findings: 50,
	goldens: 100,
	rows: 400,
	// More would push the table off the screen.
	highlights: 12,
	sentences: true,
};

interface Step {
	/** Named to the reader. */
	leavesOut: string;
	less: Partial<Detail>;
}

/** Cheapest loss first. */
const steps: readonly Step[] = [
	{ leavesOut: "the environment", less: { environment: false } },
	{ leavesOut: "unchanged rows", less: { quietRows: false } },
	{ leavesOut: "engines that were built", less: { builtEngines: false } },
	{ leavesOut: "log excerpts", less: { excerpts: false } },
	{ leavesOut: "most findings and goldens", less: { findings: 10, goldens: 20 } },
	{ leavesOut: "all but 60 rows", less: { rows: 60 } },
	{
		leavesOut: "all but 15 rows and 8 highlights",
		less: { rows: 15, highlights: 8, findings: 0, goldens: 5 },
	},
	{
		leavesOut: "all sentences but the titles",
		less: { rows: 5, highlights: 5, goldens: 0, sentences: false },
	},
];

export interface Budget {
	/** A limit on both UTF-16 units and UTF-8 bytes. */
	limit: number;
}

/** Bytes of a text in UTF-8. */
export function utf8Bytes(text: string): number {
	return new TextEncoder().encode(text).length;
}

function fits(text: string, { limit }: Budget): boolean {
	// No code unit takes more than three bytes, so most texts need no count.
	return text.length <= limit && (text.length * 3 <= limit || utf8Bytes(text) <= limit);
}

/** The last resort, so that a comment can always be posted: the lines that fit, and a notice. */
function cut(text: string, { limit }: Budget): string {
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

/** Renders with less and less detail until it fits; `render` gets what was left out. */
export function fitBudget(
	render: (detail: Detail, leftOut: readonly string[]) => string,
	budget: Budget,
): string {
	let detail = fullDetail;
	let text = render(detail, []);
	const leftOut: string[] = [];
	for (const step of steps) {
		if (fits(text, budget)) return text;
		detail = { ...detail, ...step.less };
		leftOut.push(step.leavesOut);
		text = render(detail, leftOut);
	}
	return fits(text, budget) ? text : cut(text, budget);
}

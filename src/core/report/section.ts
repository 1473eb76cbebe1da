// What a report section is, the blocks that it shows, and how much of them fits into a comment.
import type { Result } from "../../../generated/result.ts";
import { dash } from "../compare/sentence.ts";
import type { Tone } from "../text/labels.ts";
import type { WorkloadRow } from "./facts.ts";
import type { GateIndex, Highlight } from "./highlight.ts";
import type { Markup, Piece } from "./html/markup.ts";

export interface ReportContext {
	result: Result;
	highlights: readonly Highlight[];
	lead: Highlight | undefined;
	rows: readonly WorkloadRow[];
}

interface View {
	format: Format;
	detail: Detail;
	resultPath?: string;
}

export type Format = "markdown" | "html" | "terminal";

export interface Column<Row> {
	title: string;
	numeric?: boolean;
	heading?: boolean;
	wraps?: boolean;
	code?: boolean;
	axis?: Markup;
	/** All formats unless given; HTML only if there is no text. */
	formats?: readonly Format[];
	text?(row: Row): string;
	cell?(row: Row): Piece;
	tone?(row: Row): Tone | null;
	/** If it is not the text; null goes last. */
	sortBy?(row: Row): number | string | null;
}

export interface Table {
	label: string;
	columns: readonly Column<unknown>[];
	rows: readonly unknown[];
	noun: string;
	hidden?: number;
	isMain?: boolean;
}

/** Texts are clean and not escaped; backticks mark code in all but titles. */
export type Block =
	| { kind: "heading"; text: string }
	| { kind: "sentence"; text: string; style?: "strong" | "quiet" }
	| { kind: "notice"; text: string; isUrgent?: boolean }
	| { kind: "list"; items: readonly string[] }
	| { kind: "table"; table: Table }
	| { kind: "highlight"; highlight: Highlight; isLead?: boolean }
	| { kind: "figure"; drawn: Piece }
	| { kind: "details"; title: string; blocks: readonly Block[]; id?: string; isOpen?: boolean };

export type Drawers<Drawn> = { [Kind in Block["kind"]]: (block: Extract<Block, { kind: Kind }>) => Drawn };

export function drawBlock<Drawn>(drawers: Drawers<Drawn>, block: Block): Drawn {
	return drawers[block.kind](block as never);
}

interface Shown {
	title?: string;
	blocks: readonly Block[];
	isFolded?: boolean;
	isOpen?: boolean;
}

export interface ReportSection {
	id: string;
	formats?: readonly Format[];
	appendix?: readonly Format[];
	show(context: ReportContext, view: View): Shown | null;
	highlights?(result: Result, gates: GateIndex): readonly Highlight[];
}

export function table<Row>(
	label: string,
	columns: readonly Column<Row>[],
	rows: readonly Row[],
	more: Pick<Table, "noun" | "hidden" | "isMain">,
): Block {
	return { kind: "table", table: { label, columns, rows, ...more } };
}

type MakeColumn = <Row>(
	title: string,
	text: (row: Row) => string,
	more?: Partial<Column<Row>>,
) => Column<Row>;
const columnOf =
	(kind: "numeric" | "heading" | "wraps" | "code"): MakeColumn =>
	(title, text, more) => ({ title, text, [kind]: true, ...more });
export const [heading, numeric] = [columnOf("heading"), columnOf("numeric")];
export const [code, long] = [columnOf("code"), columnOf("wraps")];
export const plain: MakeColumn = (title, text, more) => ({ title, text, ...more });

export function numbers<Row>(
	title: string,
	of: (row: Row) => number | null | undefined,
	format: (value: number) => string,
): Column<Row> {
	const text = (row: Row) => {
		const value = of(row);
		return value == null ? dash : format(value);
	};
	return numeric(title, text, { sortBy: (row) => of(row) ?? null });
}

export function sentence(text: string, style?: "strong" | "quiet"): Block {
	return { kind: "sentence", text, style };
}

export function details(title: string, blocks: readonly Block[]): Block[] {
	return blocks.length === 0 ? [] : [{ kind: "details", title, blocks }];
}

export function shownSections(
	sections: readonly ReportSection[],
	context: ReportContext,
	view: View,
): (Shown & { id: string; isLate: boolean })[] {
	const shown = sections.flatMap((section) => {
		const { id, formats, appendix = [] } = section;
		const found = formats?.includes(view.format) === false ? null : section.show(context, view);
		return found === null ? [] : [{ ...found, id, isLate: appendix.includes(view.format) }];
	});
	return [...shown.filter(({ isLate }) => !isLate), ...shown.filter(({ isLate }) => isLate)];
}

export function columnsIn<Row>(format: Format, columns: readonly Column<Row>[]): Column<Row>[] {
	return columns.filter(
		({ formats, text }) => (formats?.includes(format) ?? true) && (format === "html" || text !== undefined),
	);
}

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

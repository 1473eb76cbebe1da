// What a report section is, and the blocks that it shows.

import type { Result } from "../../../generated/result.ts";
import type { Tone } from "../text/labels.ts";
import type { Detail } from "./budget.ts";
import { dash } from "./comparison-format.ts";
import type { Highlight } from "./highlight.ts";
import type { Markup, Piece } from "./html/markup.ts";
import type { GateIndex } from "./index-gates.ts";
import type { WorkloadRow } from "./rows.ts";

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
	/** In HTML it may break, in a terminal it stands below its row. */
	wraps?: boolean;
	code?: boolean;
	axis?: Markup;
	/** All formats unless given; HTML only if there is no text. */
	formats?: readonly Format[];
	text?(row: Row): string;
	/** Replaces the text in HTML. */
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
	/** Every format shows more of its rows. */
	isMain?: boolean;
}

/** Texts are clean and not escaped; backticks mark code in all but titles. */
export type Block =
	| { kind: "heading"; text: string }
	| { kind: "sentence"; text: string; style?: "strong" | "quiet" }
	| { kind: "notice"; text: string; isUrgent?: boolean }
	| { kind: "list"; items: readonly string[] }
	| { kind: "table"; table: Table }
	/** isLead: its title is in the first line already. */
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
	/** Formats that show it after the main part. */
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
	return { kind: "sentence", text, ...(style && { style }) };
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

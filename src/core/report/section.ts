import type { Result } from "../../../generated/result.ts";
import type { Detail } from "./budget.ts";
import { dash } from "./comparison-format.ts";
import type { Highlight } from "./highlight.ts";
import type { Column, Format, Piece } from "./html/markup.ts";
import type { GateIndex } from "./index-gates.ts";
import type { WorkloadRow } from "./rows.ts";

export interface ReportContext {
	result: Result;
	highlights: readonly Highlight[];
	rows: readonly WorkloadRow[];
}

export interface View {
	format: Format;
	detail: Detail;
	/** Path of `result.json`, for commands to copy. */
	resultPath?: string;
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
	| { kind: "highlight"; highlight: Highlight }
	/** Shown only in HTML. */
	| { kind: "figure"; drawn: Piece }
	/** A terminal leaves it out. */
	| { kind: "details"; title: string; blocks: readonly Block[]; id?: string; isOpen?: boolean };

export type Drawers<Drawn> = { [Kind in Block["kind"]]: (block: Extract<Block, { kind: Kind }>) => Drawn };

export function drawBlock<Drawn>(drawers: Drawers<Drawn>, block: Block): Drawn {
	return drawers[block.kind](block as never);
}

interface Shown {
	/** Without one the blocks stand by themselves. */
	title?: string;
	blocks: readonly Block[];
	/** In HTML. */
	isFolded?: boolean;
	/** In Markdown. */
	isOpen?: boolean;
}

export interface ReportSection {
	id: string;
	formats?: readonly Format[];
	/** Formats that show it after the main part. */
	appendix?: readonly Format[];
	/** null if there is nothing to show. */
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

/** Sorted by its numbers. */
export function numbers<Row>(
	title: string,
	of: (row: Row) => number | null | undefined,
	format: (value: number) => string,
): Column<Row> {
	const text = (row: Row): string => {
		const value = of(row);
		return value == null ? dash : format(value);
	};
	return { title, numeric: true, text, sortBy: (row) => of(row) ?? null };
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

/** HTML draws cells, the others need a text. */
export function columnsIn<Row>(format: Format, columns: readonly Column<Row>[]): Column<Row>[] {
	return columns.filter(
		({ formats, text }) => (formats?.includes(format) ?? true) && (format === "html" || text !== undefined),
	);
}

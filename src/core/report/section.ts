// A report section: what it takes from the result, how each format shows it, and which highlights it contributes.
import type { Result } from "../../../generated/result.ts";
import type { Detail } from "./budget.ts";
import type { Highlight } from "./highlight.ts";
import type { Piece } from "./html/markup.ts";
import type { GateIndex } from "./index-gates.ts";
import type { WorkloadRow } from "./rows.ts";
import type { TerminalOptions } from "./terminal-text.ts";

/** What every section can read, computed once for a report. */
export interface ReportContext {
	result: Result;
	highlights: readonly Highlight[];
	rows: readonly WorkloadRow[];
}

/** A format without a method does not show the section. */
interface SectionDefinition<Facts> {
	id: string;
	/** Formats that show it after the main part, among what a reader may want to look up. */
	appendix?: readonly ("markdown" | "html")[];
	/** What the section shows of the result; null: nothing, and every format leaves it out. */
	select(context: ReportContext): Facts | null;
	/** Blocks, separated by empty lines. */
	markdown?(facts: Facts, detail: Detail): readonly string[];
	html?(facts: Facts): Piece;
	/** The lines of one block. */
	terminal?(facts: Facts, options: TerminalOptions): readonly string[];
	highlights?(result: Result, gates: GateIndex): readonly Highlight[];
}

export interface ReportSection {
	id: string;
	appendix: readonly ("markdown" | "html")[];
	markdown(context: ReportContext, detail: Detail): readonly string[];
	html(context: ReportContext): Piece;
	terminal(context: ReportContext, options: TerminalOptions): readonly string[];
	highlights(result: Result, gates: GateIndex): readonly Highlight[];
}

export function defineSection<Facts>(definition: SectionDefinition<Facts>): ReportSection {
	const { id, appendix = [], select, markdown, html, terminal, highlights } = definition;
	const show = <Shown>(
		context: ReportContext,
		render: ((facts: Facts) => Shown) | undefined,
	): Shown | null => {
		if (render === undefined) return null;
		const facts = select(context);
		return facts === null ? null : render(facts);
	};
	return {
		id,
		appendix,
		markdown: (context, detail) => show(context, markdown && ((facts) => markdown(facts, detail))) ?? [],
		html: (context) => show(context, html),
		terminal: (context, options) => show(context, terminal && ((facts) => terminal(facts, options))) ?? [],
		highlights: (result, gates) => highlights?.(result, gates) ?? [],
	};
}

// The report for a terminal: headline and sections.
import type { Result } from "../../../generated/result.ts";
import { gateTitle, outcomeLabels, unverifiedText } from "../text/labels.ts";
import { armsText, jobFacts } from "./facts.ts";
import { headline, reportContext } from "./highlights.ts";
import type { ReportContext, ReportSection } from "./section.ts";
import { reportSections } from "./sections.ts";
import { paint, type Style, type TerminalOptions, wrapText } from "./terminal-text.ts";

const outcomeStyles: Readonly<Record<Result["outcome"], Style>> = {
	pass: "green",
	warn: "yellow",
	fail: "red",
	inconclusive: "magenta",
	error: "red",
};

function headLines({ result, highlights }: ReportContext, { color, columns }: TerminalOptions): string[] {
	const outcome = paint(outcomeLabels[result.outcome].toUpperCase(), outcomeStyles[result.outcome], color);
	const facts = jobFacts(result).map(({ label, value }) => `${label} ${value}`);
	const [first = "", ...others] = wrapText(
		`${gateTitle(result.backend)}: ${headline(result, highlights)}`,
		columns - outcomeLabels[result.outcome].length - 2,
	);
	return [
		...(result.unverified === true ? [paint(unverifiedText, "bold", color)] : []),
		`${outcome}  ${paint(first, "bold", color)}`,
		...others.map((line) => paint(line, "bold", color)),
		...wrapText([armsText(result), ...facts].join(" · "), columns).map((line) => paint(line, "dim", color)),
	];
}

/** Ends with a line break. */
export function renderTerminal(
	result: Result,
	options: TerminalOptions,
	sections: readonly ReportSection[] = reportSections,
): string {
	const bounded = { ...options, columns: Math.max(40, Math.min(options.columns, 400)) };
	const context = reportContext(result, sections);
	const blocks = [
		headLines(context, bounded),
		...sections.map((section) => section.terminal(context, bounded)),
	];
	return `${blocks
		.filter((block) => block.length > 0)
		.map((block) => block.join("\n"))
		.join("\n\n")}\n`;
}

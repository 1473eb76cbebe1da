// Words for stored outputs that were judged against a golden.
import { quoteName, showText } from "../../core/onnx/quote.ts";
import { goldenCounts } from "../../core/report/golden-words.ts";
import { counted } from "../../core/report/words.ts";
import type { Precision } from "../../core/schema/golden.ts";
import type { GoldenCheck, GoldenVerdict } from "../../core/schema/result.ts";
import { formatValue } from "../../core/units.ts";

export interface CheckReport {
	golden: string;
	precision: Precision;
	outputs: string;
	/** match only where every case is. */
	state: "match" | "mismatch";
	cases: GoldenVerdict[];
}

export function renderCheck({ golden, precision, state, cases }: CheckReport): string {
	const title = `${state === "match" ? "✓" : "✗"} ${golden} at ${precision}: ${goldenCounts(cases)}`;
	return `${[title, ...cases.flatMap(caseLines)].join("\n")}\n`;
}

function caseLines(verdict: GoldenVerdict): string[] {
	const mark = verdict.state === "match" ? "✓" : "✗";
	const message = verdict.message === undefined ? "" : `: ${showText(verdict.message)}`;
	const extent = verdict.scope === undefined ? "" : `, ${counted(verdict.cases ?? 0, "case")} together`;
	return [`${mark} ${quoteName(verdict.case, "")}${extent}${message}`, ...verdict.checks.map(checkLine)];
}

function checkLine(check: GoldenCheck): string {
	const { pass, severity, output, metric, got, allowed, bound, detail, sample } = check;
	const mark = pass ? "✓" : severity === "warn" ? "!" : "✗";
	const limit = allowed === null ? "" : ` (${bound === "at-most" ? "≤" : "≥"} ${formatValue(allowed)})`;
	const where = sample === undefined ? "" : `, sample ${sample}`;
	const more = detail === undefined || (pass && !metric.startsWith("accuracy")) ? "" : `; ${showText(detail)}`;
	return `    ${mark} ${quoteName(output, "")}: ${metric}${where} ${got === null ? "" : formatValue(got)}${limit}${more}`;
}

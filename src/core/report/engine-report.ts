// Comparisons of engines as text, Markdown and JSON, each with its title.
import type { EngineDiff, EngineRow, EngineSummary } from "../../../generated/result.ts";
import { jsonText, quoted } from "../text/escape.ts";
import { counted, listNames } from "../text/labels.ts";
import { formatPercent } from "../text/units.ts";
import {
	accountSentence,
	changeText,
	detailTexts,
	headlineOf,
	machineSentences,
	mostRows,
	repeatText,
	rowSentence,
	unchangedSentence,
	unitOf,
} from "./engine-format.ts";
import { withoutMarks as plain } from "./highlight.ts";
import { inlineMarkdown as markdown } from "./markdown-blocks.ts";

export interface TitledDiff {
	title: string;
	diff: EngineDiff;
}

export function summaryText({ layers, kernels, reformats, mapped, precisions }: EngineSummary): string {
	const types = Object.entries(precisions).map(([precision, count]) => `${count} ${precision}`);
	const share =
		mapped === null
			? ""
			: `; ${formatPercent(mapped, { digits: 0 })} of the profiled time belongs to ONNX nodes`;
	return `${counted(layers, "layer")}, ${counted(kernels, "kernel")} (${types.join(", ")}), ${counted(reformats, "reformat")}${share}`;
}

const mostMembers = 12;

function detailsOf(row: EngineRow): string[] {
	const others = row.members.filter((name) => name !== row.label);
	const named = others.map((name) => quoted(name, 40));
	const members = others.length > 0 ? [`also ${listNames(named, mostMembers)}`] : [];
	return [...members, ...detailTexts(row)];
}

const textRows = 20;

export function diffText({ title, diff }: TitledDiff): string {
	const unit = unitOf(diff);
	const account = accountSentence(diff, unit);
	const rows = diff.rows
		.slice(0, textRows)
		.flatMap((row) => [
			`  ${plain(rowSentence(row, unit))}`,
			...detailsOf(row).map((line) => `      ${plain(line)}`),
		]);
	const hidden = diff.rows.length + diff.hidden - textRows;
	return [
		title,
		`  ${plain(headlineOf(diff, unit))}`,
		...(account === null ? [] : [`  ${account}`]),
		...machineSentences(diff).map((line) => `  ${plain(line)}`),
		...(diff.warnings.length === 0 ? [] : ["", ...diff.warnings.map((warning) => `  ! ${plain(warning)}`)]),
		...(rows.length === 0 ? [] : ["", ...rows]),
		...(hidden > 0 ? [`  … and ${counted(hidden, "more row")}; --format json has all.`] : []),
		"",
		`  ${unchangedSentence(diff, unit)}`,
		`  base: ${summaryText(diff.base)}`,
		`  head: ${summaryText(diff.head)}`,
		"",
	].join("\n");
}

/** A comment holds it: a sentence, a table of few rows, what did not change. */
export function diffMarkdown({ title, diff }: TitledDiff, next?: string): string {
	const unit = unitOf(diff);
	const account = accountSentence(diff, unit);
	const line = (row: EngineRow): string => {
		const name = `${quoted(row.label)}${row.members.length > 1 ? ` (${repeatText(row)})` : ""}`;
		const why = row.causes.map(({ says }) => says).join("; ");
		return `| ${[changeText(row, unit) || "–", name, why].map((cell) => markdown(cell)).join(" | ")} |`;
	};
	const shown = diff.rows.slice(0, mostRows);
	const hidden = diff.rows.length + diff.hidden - shown.length;
	return [
		`### ${markdown(title)}`,
		"",
		markdown(
			[headlineOf(diff, unit), account, ...machineSentences(diff)].filter((text) => text !== null).join(" "),
		),
		...diff.warnings.map((warning) => `- **${markdown(warning)}**`),
		...(shown.length === 0 ? [] : ["", "| change | ONNX nodes | why |", "|--:|---|---|", ...shown.map(line)]),
		"",
		markdown(
			`${unchangedSentence(diff, unit)}${hidden > 0 ? ` ${counted(hidden, "more row")}.` : ""}${next === undefined ? "" : ` Next: ${next}`}`,
		),
		"",
	].join("\n");
}

export function diffJson(diffs: readonly TitledDiff[]): string {
	return jsonText({ comparisons: diffs });
}

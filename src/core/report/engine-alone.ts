// One engine without another as text, Markdown and JSON: where its time goes, by groups of ONNX nodes.
import type { EngineAlone } from "../engine/alone.ts";
import { jsonText, quoted } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatPercent } from "../text/units.ts";
import { partTexts } from "./engine-format.ts";
import { summaryText } from "./engine-report.ts";
import { withoutMarks as plain } from "./highlight.ts";
import { layerUnit } from "./layer-format.ts";
import { inlineMarkdown as markdown } from "./markdown-blocks.ts";

export interface TitledEngine {
	title: string;
	alone: EngineAlone;
}

const mostGroups = 20;

export interface GroupFacts {
	time: string;
	share: string;
	/** Backticks mark it as a name. */
	name: string;
	precision: string;
	/** Bytes, operations, and the limit of the GPU that is nearer. */
	work: string[];
}

export function factsOfGroups({ summary, groups }: EngineAlone): { unit: string; rows: GroupFacts[] } {
	const unit = layerUnit(groups[0]?.part.meanMs ?? 0);
	const totalMs = summary.meanMs ?? 0;
	const rows = groups.map(({ label, part }) => ({
		time: part.meanMs === null ? "" : unit.format(part.meanMs),
		share: part.meanMs === null || totalMs <= 0 ? "" : formatPercent(part.meanMs / totalMs, { digits: 0 }),
		name: quoted(label),
		precision: part.precision ?? "",
		work: partTexts(part),
	}));
	return { unit: unit.name, rows };
}

export function engineText({ title, alone }: TitledEngine): string {
	const { unit, rows } = factsOfGroups(alone);
	const lines = rows.slice(0, mostGroups).map(({ time, share, name, precision, work }) => {
		const timed = time === "" ? "" : `${time} ${unit} (${share})`;
		return `  ${[timed, plain(name), precision, ...work].filter((text) => text !== "").join("  ")}`;
	});
	const hidden = rows.length - lines.length;
	return [
		title,
		`  ${summaryText(alone.summary)}`,
		...alone.warnings.map((warning) => `  ! ${plain(warning)}`),
		"",
		...lines,
		...(hidden > 0 ? [`  … and ${counted(hidden, "more group")}; --format json has all.`] : []),
		"",
	].join("\n");
}

export function engineMarkdown({ title, alone }: TitledEngine): string {
	const { unit, rows } = factsOfGroups(alone);
	const cells = rows
		.slice(0, mostGroups)
		.map(({ time, share, name, precision, work }) =>
			[time, share, name, precision, work.join("; ")].map((text) => markdown(text || "–")),
		);
	const hidden = rows.length - cells.length;
	return [
		`### ${markdown(title)}`,
		"",
		markdown(`${summaryText(alone.summary)}.`),
		...alone.warnings.map((warning) => `- **${markdown(warning)}**`),
		"",
		`| time, ${unit} | share | ONNX nodes | precision | work |`,
		"|--:|--:|---|---|---|",
		...cells.map((row) => `| ${row.join(" | ")} |`),
		...(hidden > 0 ? ["", `… and ${counted(hidden, "more group")}; \`--format html\` has all.`] : []),
		"",
	].join("\n");
}

export function engineJson(engines: readonly TitledEngine[]): string {
	return jsonText({ engines: engines.map(({ title, alone }) => ({ title, ...alone })) });
}

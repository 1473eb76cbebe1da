// The probes in the terminal: a small table of those that were asked.
import type { Result } from "../schema/result.ts";
import { cleanName } from "../text/escape.ts";
import { counted, subjectName, type Tone } from "../text/labels.ts";
import { allowedApartText, apartText, probeLabels, probeStateLabels, probesTitle, probeTones, sortedProbes } from "./probe-labels.ts";
import { type Cell, renderColumns } from "./terminal-table.ts";
import { paint, type Style } from "./terminal-text.ts";

const mostRows = 12;
const styles: Readonly<Record<Tone, Style>> = { bad: "red", warn: "yellow", ok: "green", open: "magenta", plain: "dim" };

export function probeLines(result: Result, options: { color: boolean; columns: number }): string[] {
	const asked = sortedProbes(result.probes ?? []).filter(({ state }) => state !== "skipped");
	if ((result.probes ?? []).length === 0) return [];
	const rows = asked
		.slice(0, mostRows)
		.map((probe): Cell[] => [
			{ text: subjectName({ model: probe.model, engine: probe.engine, part: probe.part }) },
			{ text: probeStateLabels[probe.state], style: styles[probeTones[probe.state]] },
			{ text: probeLabels[probe.probe] },
			{ text: apartText(probe), right: true },
			{ text: allowedApartText(probe), right: true },
			{ text: probe.output === undefined ? "" : cleanName(probe.output, 40) },
		]);
	const more = asked.length - rows.length;
	return [
		paint(probesTitle(result), "bold", options.color),
		...renderColumns(rows, options),
		...(more > 0 ? [paint(`… and ${counted(more, "more probe")} in the report`, "dim", options.color)] : []),
	];
}

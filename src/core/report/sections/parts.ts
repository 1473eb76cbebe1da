// The parts of a merged result: which job measured what on which device, and what is missing.
import type { Part } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { outcomeLabels, statusTones } from "../../text/labels.ts";
import { formatCount, formatDuration } from "../../text/units.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import { partsText, partsToReport } from "../facts.ts";
import type { Column } from "../html/markup.ts";
import { type ReportSection, table } from "../section.ts";

function whyText({ reason, partial, attempt }: Part): string {
	if (reason !== undefined) return cleanMessage(reason, 300);
	return [
		...(attempt === undefined ? [] : [`from attempt ${attempt}`]),
		...(partial === undefined
			? []
			: [`partial: ended in ${cleanName(partial.stage, 40)} (${cleanMessage(partial.reason, 200)})`]),
	].join("; ");
}

const columns: readonly Column<Part>[] = [
	{ title: "Part", heading: true, text: ({ name }) => cleanName(name, 80) },
	{
		title: "state",
		text: ({ state, outcome }) =>
			state === "merged" && outcome !== undefined ? outcomeLabels[outcome] : state,
		tone: ({ state, outcome }) =>
			state !== "merged" ? "bad" : outcome === undefined ? "plain" : statusTones[outcome],
	},
	{
		title: "device",
		text: ({ backend }) =>
			backend === undefined
				? dash
				: `${cleanName(backend.device, 80)}${backend.caveat === undefined ? "" : ` (${cleanName(backend.caveat, 60)})`}`,
	},
	{
		title: "software",
		text: ({ backend }) =>
			backend === undefined ? dash : cleanName(`${backend.name} ${backend.version}`, 100),
	},
	{
		title: "workloads",
		numeric: true,
		text: ({ workloads }) => (workloads === undefined ? dash : formatCount(workloads)),
		sortBy: ({ workloads }) => workloads ?? null,
	},
	{
		title: "took",
		numeric: true,
		text: ({ durationMs }) => (durationMs === undefined ? dash : formatDuration(durationMs)),
		sortBy: ({ durationMs }) => durationMs ?? null,
	},
	{ title: "why", wraps: true, text: whyText },
];

const urgency: Readonly<Record<Part["state"], number>> = { refused: 0, missing: 1, merged: 2 };

export const partSection: ReportSection = {
	id: "parts",
	formats: ["markdown", "html"],
	show({ result }) {
		const parts = partsToReport(result);
		if (parts.length === 0) return null;
		// What needs attention first; otherwise in the order of the result.
		const rank = ({ state, partial }: Part): number => urgency[state] * 2 + (partial === undefined ? 1 : 0);
		const rows = [...parts].sort((a, b) => rank(a) - rank(b));
		const rule = "No gate compares numbers of different parts with each other.";
		return {
			title: `Parts: ${partsText(parts)}`,
			blocks: [
				table("parts", columns, rows, { noun: "part" }),
				{ kind: "sentence", style: "quiet", text: rule },
			],
		};
	},
};

// The parts of a merged result: which job measured what on which device, and what is missing.
import type { Part } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { outcomeLabels, statusTones, type Tone } from "../../text/labels.ts";
import { formatCount, formatDuration } from "../../text/units.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import { partsText, partsToReport } from "../facts.ts";
import { type Column, html, pill, section, sortableTable } from "../html/markup.ts";
import { defineSection } from "../section.ts";
import { foldedTable } from "../table.ts";

function stateText({ state, outcome }: Part): string {
	return state === "merged" && outcome !== undefined ? outcomeLabels[outcome] : state;
}

function deviceText({ backend }: Part): string {
	if (backend === undefined) return dash;
	return `${cleanName(backend.device, 80)}${backend.caveat === undefined ? "" : ` (${cleanName(backend.caveat, 60)})`}`;
}

function whyText({ reason, partial, attempt }: Part): string {
	if (reason !== undefined) return cleanMessage(reason, 300);
	const from = attempt === undefined ? [] : [`from attempt ${attempt}`];
	const cut =
		partial === undefined
			? []
			: [`partial: ended in ${cleanName(partial.stage, 40)} (${cleanMessage(partial.reason, 200)})`];
	return [...from, ...cut].join("; ");
}

const urgency: Readonly<Record<Part["state"], number>> = { refused: 0, missing: 1, merged: 2 };

/** What needs attention first; otherwise in the order of the result. */
function orderedParts(parts: readonly Part[]): Part[] {
	const rank = (part: Part): number => urgency[part.state] * 2 + (part.partial === undefined ? 1 : 0);
	return [...parts].sort((a, b) => rank(a) - rank(b));
}

function toneOf({ state, outcome }: Part): Tone {
	if (state !== "merged") return "bad";
	return outcome === undefined ? "plain" : statusTones[outcome];
}

const columns: readonly Column<Part>[] = [
	{ title: "Part", heading: true, text: ({ name }) => cleanName(name, 80) },
	{ title: "state", text: stateText, cell: (part) => pill(stateText(part), toneOf(part)) },
	{ title: "device", text: deviceText },
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

const rule = "No gate compares numbers of different parts with each other.";

export const partSection = defineSection({
	id: "parts",
	select: ({ result }) => {
		const parts = partsToReport(result);
		return parts.length === 0 ? null : { title: `Parts: ${partsText(parts)}`, parts: orderedParts(parts) };
	},
	markdown: ({ title, parts: rows }, { rows: most }) => [
		foldedTable(title, columns, { rows, most, noun: "part", note: rule }),
	],
	html: ({ title, parts }) =>
		section(title, [sortableTable("parts", columns, parts), html`<p class="sub">${rule}</p>`], "parts"),
});

// The parts of a merged result: which job measured what on which device, and what is missing.
import type { Part } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { outcomeLabels, statusTones, type Tone } from "../../text/labels.ts";
import { formatCount, formatDuration } from "../../text/units.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import { partsText, partsToReport } from "../facts.ts";
import { type Column, html, pill, section, sortableTable } from "../html/markup.ts";
import { foldedMarkdown, markdownTable, withHiddenRows } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";

interface PartTexts {
	name: string;
	state: string;
	device: string;
	software: string;
	workloads: string;
	took: string;
	why: string;
}

function partTexts(part: Part): PartTexts {
	const { backend, partial, reason } = part;
	const caveat = backend?.caveat === undefined ? "" : ` (${cleanName(backend.caveat, 60)})`;
	return {
		name: cleanName(part.name, 80),
		state: part.state === "merged" ? (part.outcome === undefined ? "merged" : outcomeLabels[part.outcome]) : part.state,
		device: backend === undefined ? dash : `${cleanName(backend.device, 80)}${caveat}`,
		software: backend === undefined ? dash : `${cleanName(backend.name, 60)} ${cleanName(backend.version, 40)}`,
		workloads: part.workloads === undefined ? dash : formatCount(part.workloads),
		took: part.durationMs === undefined ? dash : formatDuration(part.durationMs),
		why:
			reason !== undefined
				? cleanMessage(reason, 300)
				: partial === undefined
					? ""
					: `partial: ended in ${cleanName(partial.stage, 40)} (${cleanMessage(partial.reason, 200)})`,
	};
}

const urgency: Readonly<Record<Part["state"], number>> = { refused: 0, missing: 1, merged: 2 };

/** What needs attention first; otherwise in the order of the result. */
function orderedParts(parts: readonly Part[]): Part[] {
	const rank = (part: Part): number => urgency[part.state] * 2 + (part.partial === undefined ? 1 : 0);
	return [...parts].sort((a, b) => rank(a) - rank(b));
}

interface Line {
	part: Part;
	texts: PartTexts;
}

function toneOf({ state, outcome }: Part): Tone {
	if (state !== "merged") return "bad";
	return outcome === undefined ? "plain" : statusTones[outcome];
}

const columns: readonly Column<Line>[] = [
	{ title: "Part", heading: true, cell: ({ texts }) => texts.name },
	{ title: "state", cell: ({ part, texts }) => pill(texts.state, toneOf(part)) },
	{ title: "device", cell: ({ texts }) => html`${texts.device}<small>${texts.software}</small>` },
	{ title: "workloads", numeric: true, cell: ({ texts }) => texts.workloads, sortBy: ({ part }) => part.workloads ?? null },
	{ title: "took", numeric: true, cell: ({ texts }) => texts.took, sortBy: ({ part }) => part.durationMs ?? null },
	{ title: "why", wraps: true, cell: ({ texts }) => texts.why },
];

const rule = "No gate compares numbers of different parts with each other.";

export const partSection = defineSection({
	id: "parts",
	select: ({ result }) => {
		const parts = partsToReport(result);
		return parts.length === 0 ? null : { title: `Parts: ${partsText(parts)}`, parts: orderedParts(parts) };
	},
	markdown: ({ title, parts }, detail) => {
		const cells = parts.slice(0, detail.rows).map((part) => {
			const { name, state, device, software, workloads, took, why } = partTexts(part);
			return [name, state, device, software, workloads, took, why];
		});
		const table = markdownTable(["part", "state", "device", "software", "workloads", "took", "why"], cells, [4, 5]);
		return [foldedMarkdown(title, `${withHiddenRows(table, parts.length - detail.rows, "more part")}\n\n${rule}`)];
	},
	html: ({ title, parts }) => {
		const lines = parts.map((part) => ({ part, texts: partTexts(part) }));
		return section(title, [sortableTable("parts", columns, lines), html`<p class="sub">${rule}</p>`], "parts");
	},
});

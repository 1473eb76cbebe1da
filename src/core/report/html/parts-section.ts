// The parts of a merged result: who measured what on which device, and what is missing.
import type { Part, Result } from "../../schema/result.ts";
import { statusTones, type Tone } from "../../text/labels.ts";
import { partsText, partsToReport } from "../part-backend.ts";
import { orderedParts, type PartTexts, partTexts } from "../part-table.ts";
import { html, type Piece } from "./markup.ts";
import { pill, section } from "./parts.ts";
import { type Column, sortableTable } from "./table.ts";

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

export function partsSection(result: Result): Piece {
	const parts = partsToReport(result);
	if (parts.length === 0) return null;
	const lines = orderedParts(parts).map((part) => ({ part, texts: partTexts(part) }));
	const rule = html`<p class="sub">Numbers of different parts are never compared with each other.</p>`;
	return section(`Parts: ${partsText(parts)}`, [sortableTable("parts", columns, lines), rule], "parts");
}

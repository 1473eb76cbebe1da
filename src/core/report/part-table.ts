// The parts of a merged result as Markdown: those that are missing, refused or cut short first.
import type { Part, Result } from "../schema/result.ts";
import { cleanName, escapeMarkdown } from "../text/escape.ts";
import { outcomeLabels } from "../text/labels.ts";
import { formatDuration } from "../text/units.ts";
import { cleanMessage } from "./comparison-format.ts";
import type { Section } from "./markdown-tables.ts";
import { partsText, partsToReport } from "./part-backend.ts";

const dash = "–";

export interface PartTexts {
	name: string;
	state: string;
	device: string;
	software: string;
	workloads: string;
	took: string;
	why: string;
}

export function partTexts(part: Part): PartTexts {
	const { backend, partial, reason } = part;
	const caution = backend?.caution === undefined ? "" : ` (${cleanName(backend.caution, 60)})`;
	return {
		name: cleanName(part.name, 80),
		state: part.state === "merged" ? (part.outcome === undefined ? "merged" : outcomeLabels[part.outcome]) : part.state,
		device: backend === undefined ? dash : `${cleanName(backend.device, 80)}${caution}`,
		software: backend === undefined ? dash : `${cleanName(backend.name, 60)} ${cleanName(backend.version, 40)}`,
		workloads: part.workloads === undefined ? dash : part.workloads.toLocaleString("en-US"),
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
export function orderedParts(parts: readonly Part[]): Part[] {
	const rank = (part: Part): number => urgency[part.state] * 2 + (part.partial === undefined ? 1 : 0);
	return [...parts].sort((a, b) => rank(a) - rank(b));
}

export function partSection(result: Result, mostRows: number): Section[] {
	const parts = partsToReport(result);
	if (parts.length === 0) return [];
	const shown = orderedParts(parts).slice(0, mostRows);
	const rows = shown.map((part) => {
		const { name, state, device, software, workloads, took, why } = partTexts(part);
		return `| ${[name, state, device, software, workloads, took, why].map(escapeMarkdown).join(" | ")} |`;
	});
	const head = ["| part | state | device | software | workloads | took | why |", "|---|---|---|---|--:|--:|---|"];
	const more = parts.length > shown.length ? [`\n… and ${parts.length - shown.length} more parts.`] : [];
	const rule = "Numbers of different parts are never compared with each other.";
	return [{ summary: `Parts: ${partsText(parts)}`, body: [...head, ...rows, ...more, `\n${rule}`].join("\n") }];
}

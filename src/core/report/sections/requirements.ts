// What the head demands or reports less of than its base: loosened limits, and what is no longer checked.
import type { GateName, GateResult, Result } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, statusTones, subjectName } from "../../text/labels.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import { type Column, html, moreText, pill, section, sortableTable } from "../html/markup.ts";
import { failingGates, gateKey } from "../index-gates.ts";
import { foldedMarkdown, markdownTable, withHiddenRows } from "../markdown-parts.ts";
import { defineSection, type ReportSection } from "../section.ts";
import { type Cell, paint, renderColumns, toneStyles } from "../terminal-text.ts";

const maxInTerminal = 12;
const maxInHtml = 300;

/** How a gate's results become highlights. */
interface GateText {
	topic: Highlight["topic"];
	/** The end of a sentence that begins with the subject's name. */
	title: string;
	fix?: string;
}

const gateTexts: Readonly<Partial<Record<GateName, GateText>>> = {
	"limit-change": {
		topic: ["limit to review", "limits to review"],
		title: "its limits need a review",
		fix: "Restore the limit, or let a reviewer approve that it is looser from now on.",
	},
	coverage: {
		topic: ["subject no longer checked", "subjects no longer checked"],
		title: "no longer checked",
		fix: "Restore it in trtgate.yml, or let a reviewer approve that it is no longer checked.",
	},
	vanished: {
		topic: ["subject with vanished figures", "subjects with vanished figures"],
		title: "figures are no longer reported",
		fix: "Find out why the head no longer reports it; what is not reported is not gated.",
	},
};

const columns: readonly Column<GateResult>[] = [
	{ title: "Subject", heading: true, cell: (gate) => html`<b>${subjectName(gate)}</b>` },
	{ title: "what changed", wraps: true, cell: ({ message }) => cleanMessage(message) },
	{ title: "in", cell: (gate) => (gate.location === undefined ? dash : html`<code>${placeText(gate)}</code>`) },
	{ title: "gate", cell: ({ status }) => pill(status, statusTones[status]) },
];

function placeText({ location }: GateResult): string {
	if (location === undefined) return dash;
	return `${cleanName(location.path, 80)}${location.line === undefined ? "" : `:${location.line}`}`;
}

function highlightOf(gate: GateResult): Highlight | null {
	const text = gateTexts[gate.gate];
	if (text === undefined) return null;
	const { topic, title, fix } = text;
	return {
		severity: gate.status === "pass" ? "note" : gate.status,
		topic,
		title: `${subjectName(gate)}: ${title}`,
		sentences: [[cleanMessage(gate.message)]],
		...(fix === undefined ? {} : { fix }),
	};
}

/** A section that lists all results of some gates that do not pass. */
function gateSection(id: string, gates: readonly GateName[], titleOf: (count: number) => string): ReportSection {
	const failing = (result: Result): GateResult[] => failingGates(result).filter(({ gate }) => gates.includes(gate));
	return defineSection<readonly GateResult[]>({
		id,
		select({ result }) {
			const found = failing(result);
			return found.length === 0 ? null : found;
		},
		markdown(found, { rows }) {
			const cells = found.slice(0, rows).map((gate) => [subjectName(gate), cleanMessage(gate.message), placeText(gate), gate.status]);
			const table = markdownTable(["subject", "what changed", "in", "gate"], cells);
			return [foldedMarkdown(titleOf(found.length), withHiddenRows(table, found.length - rows, "more change"))];
		},
		html: (found) =>
			section(
				titleOf(found.length),
				[sortableTable(id, columns, found.slice(0, maxInHtml)), moreText(found.length - maxInHtml, "changes")],
				id,
			),
		terminal(found, options) {
			const rows = found
				.slice(0, maxInTerminal)
				.map((gate): Cell[] => [
					{ text: subjectName(gate) },
					{ text: gate.status, style: toneStyles[statusTones[gate.status]] },
					{ text: placeText(gate) },
				]);
			const hidden = found.length - rows.length;
			return [
				paint(titleOf(found.length), "bold", options.color),
				...renderColumns(rows, options),
				...(hidden > 0 ? [paint(`… and ${counted(hidden, "more change")} in the report`, "dim", options.color)] : []),
			];
		},
		highlights(result) {
			const found = failing(result);
			return { highlights: found.flatMap((gate) => highlightOf(gate) ?? []), explained: found.map((gate) => gateKey(gate.gate, gate)) };
		},
	});
}

export const limitChangeSection = gateSection(
	"limit-changes",
	["limit-change"],
	(count) => `Limits: ${counted(count, "change")} to review`,
);

export const coverageSection = gateSection(
	"coverage",
	["coverage", "vanished"],
	(count) => `Coverage: ${count} no longer checked or reported`,
);

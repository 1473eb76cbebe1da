// What the head demands or reports less of than its base: loosened limits, and what is no longer checked.
import type { GateName, GateResult, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, statusTones, subjectName } from "../../text/labels.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import { type Column, html, pill, section } from "../html/markup.ts";
import { type FailingGate, failingGates, gateKey } from "../index-gates.ts";
import { defineSection, type ReportSection } from "../section.ts";
import { foldedTable, htmlTable, terminalTable } from "../table.ts";
import { toneStyles } from "../terminal-text.ts";

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
		topic: ["looser rule to review", "looser rules to review"],
		title: "its rules need a review",
		fix: "Restore the rule, or let a reviewer approve that it is looser after the merge.",
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

const subject: Column<GateResult> = {
	title: "Subject",
	heading: true,
	text: subjectName,
	cell: (gate) => html`<b>${subjectName(gate)}</b>`,
};
const place: Column<GateResult> = {
	title: "in",
	text: placeText,
	cell: (gate) => (gate.location === undefined ? dash : html`<code>${placeText(gate)}</code>`),
};
const gate: Column<GateResult> = {
	title: "gate",
	text: ({ status }) => status,
	cell: ({ status }) => pill(status, statusTones[status]),
	style: ({ status }) => toneStyles[statusTones[status]],
};
const columns: readonly Column<GateResult>[] = [
	subject,
	{ title: "what changed", wraps: true, text: ({ message }) => cleanMessage(message) },
	place,
	gate,
];
const noun = "change";

function placeText({ location }: GateResult): string {
	if (location === undefined) return dash;
	return `${cleanName(location.path, 80)}${location.line === undefined ? "" : `:${location.line}`}`;
}

function highlightOf(gate: FailingGate): Highlight | null {
	const text = gateTexts[gate.gate];
	if (text === undefined) return null;
	const { topic, title, fix } = text;
	return {
		severity: gate.status,
		topic,
		title: `${subjectName(gate)}: ${title}`,
		sentences: [[cleanMessage(gate.message)]],
		fix,
		explains: gateKey(gate.gate, gate),
	};
}

/** A section that lists all results of some gates that do not pass. */
function gateSection(
	id: string,
	gates: readonly GateName[],
	titleOf: (count: number) => string,
): ReportSection {
	const failing = (result: Result) => failingGates(result).filter(({ gate }) => gates.includes(gate));
	return defineSection<readonly FailingGate[]>({
		id,
		select({ result }) {
			const found = failing(result);
			return found.length === 0 ? null : found;
		},
		markdown: (rows, { rows: most }) => [foldedTable(titleOf(rows.length), columns, { rows, most, noun })],
		html: (rows) =>
			section(titleOf(rows.length), htmlTable(id, columns, { rows, most: maxInHtml, noun }), id),
		terminal: (rows, options) => {
			return terminalTable(titleOf(rows.length), [subject, gate, place], {
				rows,
				most: maxInTerminal,
				noun,
				options,
			});
		},
		highlights: (result) => failing(result).flatMap((gate) => highlightOf(gate) ?? []),
	});
}

export const limitChangeSection = gateSection(
	"limit-changes",
	["limit-change"],
	(count) => `Rules: ${counted(count, "change")} to review`,
);

export const coverageSection = gateSection(
	"coverage",
	["coverage", "vanished"],
	(count) => `Coverage: ${count} no longer checked or reported`,
);

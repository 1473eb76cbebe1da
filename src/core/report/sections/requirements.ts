// What the head demands or reports less of than its base: loosened limits, and what is no longer checked.
import type { GateName, GateResult } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, statusTones, subjectName } from "../../text/labels.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import type { Column } from "../html/markup.ts";
import { type FailingGate, failingGates, gateKey } from "../index-gates.ts";
import { type ReportSection, table } from "../section.ts";

/** How a gate's results become highlights; the title begins with the subject's name. */
type GateText = Pick<Highlight, "topic" | "title" | "fix">;

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

const columns: readonly Column<GateResult>[] = [
	{ title: "Subject", heading: true, text: subjectName },
	{ title: "what changed", wraps: true, text: ({ message }) => cleanMessage(message) },
	{
		title: "in",
		code: true,
		text: ({ location }) =>
			location === undefined
				? dash
				: `${cleanName(location.path, 80)}${location.line === undefined ? "" : `:${location.line}`}`,
	},
	{ title: "gate", text: ({ status }) => status, tone: ({ status }) => statusTones[status] },
];

function highlightOf(gate: FailingGate): Highlight[] {
	const text = gateTexts[gate.gate];
	if (text === undefined) return [];
	return [
		{
			...text,
			severity: gate.status,
			title: `${subjectName(gate)}: ${text.title}`,
			sentences: [cleanMessage(gate.message)],
			explains: gateKey(gate.gate, gate),
		},
	];
}

/** A section that lists all results of some gates that do not pass. */
function gateSection(
	id: string,
	gates: readonly GateName[],
	titleOf: (count: number) => string,
): ReportSection {
	return {
		id,
		show({ result }) {
			const rows = failingGates(result).filter(({ gate }) => gates.includes(gate));
			if (rows.length === 0) return null;
			return { title: titleOf(rows.length), blocks: [table(id, columns, rows, { noun: "change" })] };
		},
		highlights: (result) =>
			failingGates(result)
				.filter(({ gate }) => gates.includes(gate))
				.flatMap(highlightOf),
	};
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

// Each open alarm of the history, with the layers of this run.
import type { Result } from "../../../../generated/result.ts";
import { subjectName } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import { explanationSentences } from "../engine-text.ts";
import type { Highlight } from "../highlight.ts";
import { type FailingGate, failingGates, gateKey, subjectKey } from "../index-gates.ts";
import type { ReportSection } from "../section.ts";

const messageChars = 1500;
const maxLayerSentences = 2;

function trendHighlight(result: Result, gate: FailingGate): Highlight {
	const [first = "", ...others] = gate.message.split(". ");
	const row = result.workloads.find((workload) => subjectKey(workload) === subjectKey(gate));
	// A row that is slower by itself is explained by its own highlight.
	const layers =
		row?.explanation === undefined || row.verdict === "regressed"
			? []
			: explanationSentences(row.explanation).slice(0, maxLayerSentences);
	return {
		severity: gate.status,
		topic: ["change of a trend", "changes of trends"],
		title: `${subjectName(gate)}, trend: ${cleanMessage(first)}`,
		sentences: [...layers, cleanMessage(others.join(". "), messageChars)],
		explains: gateKey("trend", gate),
	};
}

export const trendSection: ReportSection = {
	id: "trend",
	show: () => null,
	highlights: (result) =>
		failingGates(result).flatMap((gate) => (gate.gate === "trend" ? [trendHighlight(result, gate)] : [])),
};

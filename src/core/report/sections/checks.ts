// Every gate with its verdict, and the method by which speed was decided.

import type { Comparison, GateResult, Result, WorkloadResult } from "../../../../generated/result.ts";
import { precedence } from "../../precedence.ts";
import { comparedOf } from "../../stats/summary.ts";
import { statusTones, subjectName } from "../../text/labels.ts";
import { formatDuration, formatLimit } from "../../text/units.ts";
import { cleanMessage, levelText } from "../comparison-format.ts";
import { backendOfRow } from "../facts.ts";
import { gateLabel } from "../gate-labels.ts";
import {
	type Column,
	folded,
	html,
	type Markup,
	moreText,
	type Piece,
	pill,
	sortableTable,
} from "../html/markup.ts";
import { defineSection } from "../section.ts";

const maxRows = 1000;

function checksTable(result: Result): Piece {
	const columns: Column<GateResult>[] = [
		{ title: "Subject", heading: true, cell: (gate) => subjectName(gate) },
		{ title: "gate", cell: (gate) => gateLabel(gate.gate, backendOfRow(result, gate)) },
		{
			title: "status",
			cell: (gate) => pill(gate.status, statusTones[gate.status]),
			sortBy: (gate) => precedence.indexOf(gate.status),
		},
		{ title: "message", wraps: true, cell: (gate) => cleanMessage(gate.message) },
	];
	const rows = [...result.gates]
		.sort((a, b) => precedence.indexOf(a.status) - precedence.indexOf(b.status))
		.slice(0, maxRows);
	const passing = result.gates.filter((gate) => gate.status === "pass").length;
	return folded(`All checks: ${passing} of ${result.gates.length} pass`, [
		sortableTable("all checks", columns, rows),
		moreText(result.gates.length - maxRows, "checks"),
	]);
}

export const checkSection = defineSection({
	id: "checks",
	appendix: ["html"],
	select: ({ result }) => (result.gates.length === 0 ? null : result),
	html: checksTable,
});

interface Method {
	result: Result;
	compared: WorkloadResult;
}

function methodText({ result, compared }: Method): Markup {
	if (compared.work !== undefined) return countedText(result, compared.work);
	const effect = formatLimit(compared.latency.minimalEffect);
	const paired = `Base and head ran alternately, in shuffled order, on one device. Each pair of runs gives one ratio of medians; the change is the mean of the logarithms of these ratios, the base and head beside it are the geometric means of the same runs, and the interval is a t interval. All intervals of latency and P99 hold together with ${levelText(compared.latency)} confidence, over all looks and all workloads of this job. A pair whose two runs together took far longer than the other pairs is set aside, whichever side was slow. Iterations within one process are correlated, so the sample is the run; iterations are only shown.`;
	const rules = `Slower or faster: the interval excludes zero and the change is at least the smallest effect that counts (${effect} here, unless a row says otherwise). Unchanged: the whole interval lies within ± that effect. Anything else is inconclusive, which is not a pass. Memory, sizes and goldens are compared exactly.`;
	return folded(
		"How this was decided",
		html`<p>${paired}</p><p>${rules}</p><p>Took ${formatDuration(result.durationMs)}, of which ${formatDuration(result.childMs)} in the measured programs.</p>`,
	);
}

function countedText(result: Result, { minimalEffect }: Comparison): Markup {
	const how = `Base and head each ran in a process of their own, on one thread and the same inputs. ONNX Runtime's WebAssembly build counted the instructions of the third inference, weighted by class. A count has no noise, so nothing was repeated. More or less work: a change of at least ${formatLimit(minimalEffect)} here, unless a row says otherwise. docs/work.md shows how far counts follow time.`;
	return folded("How this was decided", html`<p>${how}</p><p>Took ${formatDuration(result.durationMs)}.</p>`);
}

export const methodSection = defineSection({
	id: "method",
	appendix: ["html"],
	select: ({ result }) => {
		const compared = result.workloads.find((workload) => comparedOf(workload).interval !== null);
		return compared === undefined ? null : { result, compared };
	},
	html: methodText,
});

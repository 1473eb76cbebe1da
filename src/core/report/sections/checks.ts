// Every gate with its verdict, and the method by which speed was decided.
import type { GateResult, Result } from "../../../../generated/result.ts";
import { precedence } from "../../precedence.ts";
import { comparedOf } from "../../stats/summary.ts";
import { statusTones, subjectName } from "../../text/labels.ts";
import { formatDuration, formatLimit } from "../../text/units.ts";
import { cleanMessage, levelText } from "../comparison-format.ts";
import { backendOfRow, gateLabel } from "../facts.ts";
import type { Column } from "../html/markup.ts";
import { type ReportSection, table } from "../section.ts";

const columnsOf = (result: Result): Column<GateResult>[] => [
	{ title: "Subject", heading: true, text: subjectName },
	{ title: "gate", text: (gate) => gateLabel(gate.gate, backendOfRow(result, gate)) },
	{
		title: "status",
		text: ({ status }) => status,
		tone: ({ status }) => statusTones[status],
		sortBy: ({ status }) => precedence.indexOf(status),
	},
	{ title: "message", wraps: true, text: ({ message }) => cleanMessage(message) },
];

export const checkSection: ReportSection = {
	id: "checks",
	formats: ["html"],
	appendix: ["html"],
	show({ result }) {
		const { gates } = result;
		if (gates.length === 0) return null;
		const rows = [...gates].sort((a, b) => precedence.indexOf(a.status) - precedence.indexOf(b.status));
		const passing = gates.filter(({ status }) => status === "pass").length;
		return {
			title: `All checks: ${passing} of ${gates.length} pass`,
			blocks: [table("all checks", columnsOf(result), rows, { noun: "check" })],
		};
	},
};

export const methodSection: ReportSection = {
	id: "method",
	formats: ["html"],
	appendix: ["html"],
	show({ result }) {
		const compared = result.workloads.find((workload) => comparedOf(workload).interval !== null);
		if (compared === undefined) return null;
		const { work, latency } = compared;
		const effect = formatLimit((work ?? latency).minimalEffect);
		const took = `Took ${formatDuration(result.durationMs)}`;
		const texts =
			work === undefined
				? [
						`Base and head ran alternately, in shuffled order, on one device. Each pair of runs gives one ratio of medians; the change is the mean of the logarithms of these ratios, the base and head beside it are the geometric means of the same runs, and the interval is a t interval. All intervals of latency and P99 hold together with ${levelText(latency)} confidence, over all looks and all workloads of this job. A pair whose two runs together took far longer than the other pairs is set aside, whichever side was slow. Iterations within one process are correlated, so the sample is the run; iterations are only shown.`,
						`Slower or faster: the interval excludes zero and the change is at least the smallest effect that counts (${effect} here, unless a row says otherwise). Unchanged: the whole interval lies within ± that effect. Anything else is inconclusive, which is not a pass. Memory, sizes and goldens are compared exactly.`,
						`${took}, of which ${formatDuration(result.childMs)} in the measured programs.`,
					]
				: [
						`Base and head each ran in a process of their own, on one thread and the same inputs. ONNX Runtime's WebAssembly build counted the instructions of the third inference, weighted by class. A count has no noise, so nothing was repeated. More or less work: a change of at least ${effect} here, unless a row says otherwise. docs/work.md shows how far counts follow time.`,
						`${took}.`,
					];
		return { title: "How this was decided", blocks: texts.map((text) => ({ kind: "sentence", text })) };
	},
};

// Highlights of workloads that changed.

import type { Result, WorkloadResult } from "../../../../generated/result.ts";
import { workText } from "../../compare/sentence.ts";
import { comparedOf, shownMs } from "../../stats/summary.ts";
import { cleanMessage } from "../../text/escape.ts";
import { counted, present, speedLabel, subjectName, withCaveat } from "../../text/labels.ts";
import { formatLimit, formatMs, formatPercent } from "../../text/units.ts";
import {
	changeWithInterval,
	limitsText,
	noiseTexts,
	openRangeText,
	pairsText,
} from "../comparison-format.ts";
import { accountSentences, causeSentences, nextStep } from "../engine-text.ts";
import { backendOfRow } from "../facts.ts";
import type { Highlight, HighlightSeverity } from "../highlight.ts";
import type { GateIndex } from "../index-gates.ts";
import { speedGate } from "../rows.ts";
import { recipeSentence } from "./changes.ts";

type Told = Omit<Highlight, "severity" | "explains">;

function levelsText(workload: WorkloadResult): string | null {
	const [base, head] = [shownMs(workload, "base"), shownMs(workload, "head")];
	return base === undefined || head === undefined ? null : `Median ${formatMs(base)} → ${formatMs(head)}.`;
}

function remarks({ notes = [], replaced }: WorkloadResult): string[] {
	const repeated = `${counted(replaced, "run was", "runs were")} discarded as invalid and repeated.`;
	return present([...notes.slice(0, 5).map((note) => cleanMessage(note)), replaced > 0 && repeated]);
}

const topics = {
	time: { regressed: ["slowdown", "slowdowns"], improved: ["speedup", "speedups"] },
	work: {
		regressed: ["increase of work", "increases of work"],
		improved: ["decrease of work", "decreases of work"],
	},
} as const;

function changed(result: Result, workload: WorkloadResult, gates: GateIndex): Told {
	const { work, explanation, latency, p99, doubt, verdict } = workload;
	const backend = backendOfRow(result, workload);
	const isSlower = verdict === "regressed";
	const [one, many] = topics[work === undefined ? "time" : "work"][isSlower ? "regressed" : "improved"];
	const accepted = gates.of(speedGate(workload), workload)[0]?.accepted;
	const first = present([accepted && cleanMessage(accepted), recipeSentence(result, workload)]);
	const basis =
		work === undefined
			? `${[pairsText(latency), ...noiseTexts(workload)].join(", ")}.`
			: "Counted on ONNX Runtime (WebAssembly), exact; not time, not TensorRT.";
	return {
		topic: [withCaveat(one, backend), withCaveat(many, backend)],
		title:
			work === undefined
				? `${subjectName(workload)} is ${speedLabel(workload, backend)}: ${changeWithInterval(latency)}`
				: `${withCaveat(subjectName(workload), backend)}: work ${workText(work)}`,
		...(explanation && { lines: [...first, ...causeSentences(explanation)], fix: nextStep }),
		sentences: [
			...(explanation === undefined ? first : accountSentences(explanation)),
			...present([
				limitsText(workload),
				basis,
				doubt && `${cleanMessage(doubt)}${isSlower ? " It only warns." : ""}`,
				...remarks(workload),
				levelsText(workload),
				p99.estimate !== null && `P99 ${changeWithInterval(p99)}.`,
			]),
		],
	};
}

/** The comparison's own reason distinguishes noise from a change near the limit. */
function undecidedText(
	{ noise: { runCv } }: WorkloadResult,
	compared: ReturnType<typeof comparedOf>,
): string {
	if (compared.reason !== undefined) return cleanMessage(compared.reason);
	const why = runCv === null ? "The runs cannot decide" : `Run noise ${formatPercent(runCv)} is too high`;
	return `${why} for a limit of ${formatLimit(compared.minimalEffect)} on this runner; ${openRangeText(compared)}.`;
}

function inconclusive(result: Result, workload: WorkloadResult): Told {
	const backend = backendOfRow(result, workload);
	const compared = comparedOf(workload);
	const after = compared.pairs === 0 ? "" : ` after ${counted(compared.pairs, "pair")}`;
	const found = compared.estimate === null ? "" : `: ${changeWithInterval(compared)}`;
	return {
		topic: [withCaveat("inconclusive comparison", backend), withCaveat("inconclusive comparisons", backend)],
		title: `${subjectName(workload)} is ${speedLabel(workload, backend)}${after}${found}`,
		sentences: [undecidedText(workload, compared), "Not a pass.", ...remarks(workload)],
	};
}

function unjudged(result: Result, workload: WorkloadResult, severity: HighlightSeverity): Told {
	const label = speedLabel(workload, backendOfRow(result, workload));
	const { reason } = comparedOf(workload);
	const why = reason === undefined ? "Nothing was compared." : cleanMessage(reason);
	return {
		topic: [`workload ${label}`, `workloads ${label}`],
		title: `${subjectName(workload)} is ${label}`,
		sentences: severity === "note" ? [why] : [why, "Not a pass."],
	};
}

/** Without a gate. A new workload has nothing to compare with. */
const fallback: Readonly<Record<WorkloadResult["verdict"], HighlightSeverity>> = {
	regressed: "warn",
	improved: "note",
	unchanged: "note",
	inconclusive: "inconclusive",
	"not-comparable": "inconclusive",
	missing: "note",
};

function speedHighlight(result: Result, workload: WorkloadResult, gates: GateIndex): Highlight[] {
	const { verdict } = workload;
	// Without a base nothing can be compared, and the report states it once.
	const isUnjudged = verdict === "not-comparable" || verdict === "missing";
	if (verdict === "unchanged" || (isUnjudged && result.arms.base === null)) return [];
	const judged = gates.explain(speedGate(workload), workload, fallback[verdict]);
	const told = isUnjudged
		? unjudged(result, workload, judged.severity)
		: verdict === "inconclusive"
			? inconclusive(result, workload)
			: changed(result, workload, gates);
	return [{ ...told, ...judged }];
}

/** The largest first, because a short report shows only a few. */
export function speedHighlights(result: Result, gates: GateIndex): Highlight[] {
	const size = (workload: WorkloadResult) => Math.abs(comparedOf(workload).estimate ?? 0);
	return [...result.workloads]
		.sort((a, b) => size(b) - size(a))
		.flatMap((workload) => speedHighlight(result, workload, gates));
}

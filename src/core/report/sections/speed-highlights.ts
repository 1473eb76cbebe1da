// Highlights of workloads whose speed is not simply unchanged.

import type { BackendFacts, Result, WorkloadResult } from "../../../../generated/result.ts";
import { workText } from "../../compare/sentence.ts";
import { comparedOf, shownMs } from "../../stats/summary.ts";
import { counted, speedLabel, subjectName, withCaveat } from "../../text/labels.ts";
import { formatLimit, formatMs, formatPercent } from "../../text/units.ts";
import {
	changeWithInterval,
	cleanMessage,
	limitsText,
	noiseTexts,
	openRangeText,
	pairsText,
} from "../comparison-format.ts";
import { accountSentences, causeSentences, nextStep } from "../engine-format.ts";
import { backendOfRow } from "../facts.ts";
import { flagsAsCode, type Highlight, type HighlightSeverity, type Phrase } from "../highlight.ts";
import { type GateIndex, gateKey } from "../index-gates.ts";
import { speedGate } from "../rows.ts";
import { recipeSentence } from "./recipes.ts";

function levels(workload: WorkloadResult): string {
	const [base, head] = [shownMs(workload, "base"), shownMs(workload, "head")];
	if (base === undefined || head === undefined) return "";
	return `Median ${formatMs(base)} → ${formatMs(head)}`;
}

function replacedText(workload: WorkloadResult): string | null {
	return workload.replaced === 0
		? null
		: `${counted(workload.replaced, "run was", "runs were")} discarded as invalid and repeated.`;
}

function tailText(workload: WorkloadResult): string | null {
	return workload.p99.estimate === null ? null : `P99 ${changeWithInterval(workload.p99)}.`;
}

function acceptedText({ gates }: Result, workload: WorkloadResult): string | null {
	const key = gateKey(speedGate(workload), workload);
	const accepted = gates.find((gate) => gateKey(gate.gate, gate) === key)?.accepted;
	return accepted === undefined ? null : cleanMessage(accepted);
}

function sentences(parts: readonly (string | null | undefined)[]): Phrase[] {
	return parts
		.filter((part) => part !== null && part !== undefined && part !== "")
		.map((part) => [part as string]);
}

const countedSentence = "Counted on ONNX Runtime (WebAssembly), exact; not time, not TensorRT.";

function topicOf({ verdict, work }: WorkloadResult, backend: BackendFacts): [string, string] {
	const slower = verdict === "regressed";
	const [one, many] =
		work !== undefined
			? [slower ? "increase of work" : "decrease of work", slower ? "increases of work" : "decreases of work"]
			: [slower ? "slowdown" : "speedup", slower ? "slowdowns" : "speedups"];
	return [withCaveat(one, backend), withCaveat(many, backend)];
}

function changedHighlight(result: Result, workload: WorkloadResult, severity: HighlightSeverity): Highlight {
	const slower = workload.verdict === "regressed";
	const { work } = workload;
	const backend = backendOfRow(result, workload);
	const { explanation } = workload;
	const first = sentences([acceptedText(result, workload), recipeSentence(result, workload)]);
	return {
		severity,
		topic: topicOf(workload, backend),
		title:
			work === undefined
				? `${subjectName(workload)} is ${speedLabel(workload, backend)}: ${changeWithInterval(workload.latency)}`
				: `${withCaveat(subjectName(workload), backend)}: work ${workText(work)}`,
		...(explanation === undefined
			? {}
			: { lines: [...first, ...causeSentences(explanation).map(flagsAsCode)], fix: nextStep }),
		sentences: [
			...(explanation === undefined ? first : []),
			...(explanation === undefined ? [] : accountSentences(explanation).map(flagsAsCode)),
			...sentences([
				limitsText(workload),
				work === undefined
					? `${[pairsText(workload.latency), ...noiseTexts(workload)].join(", ")}.`
					: countedSentence,
				workload.doubt === undefined
					? null
					: `${cleanMessage(workload.doubt)}${slower ? " It only warns." : ""}`,
				...(workload.notes ?? []).slice(0, 5).map((note) => cleanMessage(note)),
				replacedText(workload),
			]),
			...sentences([levels(workload) === "" ? null : `${levels(workload)}.`, tailText(workload)]),
		],
	};
}

/** The comparison's own reason where it gave one: it distinguishes noise from a change near the limit. */
function undecidedText(workload: WorkloadResult): string {
	const { noise } = workload;
	const latency = comparedOf(workload);
	if (latency.reason !== undefined) return cleanMessage(latency.reason);
	const limit = formatLimit(latency.minimalEffect);
	const why =
		noise.runCv === null ? "The runs cannot decide" : `Run noise ${formatPercent(noise.runCv)} is too high`;
	return `${why} for a limit of ${limit} on this runner; ${openRangeText(latency)}.`;
}

function inconclusiveHighlight(
	result: Result,
	workload: WorkloadResult,
	severity: HighlightSeverity,
): Highlight {
	const latency = comparedOf(workload);
	const backend = backendOfRow(result, workload);
	const after = latency.pairs === 0 ? "" : ` after ${counted(latency.pairs, "pair")}`;
	const found = latency.estimate === null ? "" : `: ${changeWithInterval(latency)}`;
	return {
		severity,
		topic: [withCaveat("inconclusive comparison", backend), withCaveat("inconclusive comparisons", backend)],
		title: `${subjectName(workload)} is ${speedLabel(workload, backend)}${after}${found}`,
		sentences: sentences([
			undecidedText(workload),
			"Not a pass.",
			...(workload.notes ?? []).slice(0, 5).map((note) => cleanMessage(note)),
			replacedText(workload),
		]),
	};
}

function unjudgedHighlight(result: Result, workload: WorkloadResult, severity: HighlightSeverity): Highlight {
	const label = speedLabel(workload, backendOfRow(result, workload));
	const { reason } = comparedOf(workload);
	return {
		severity,
		topic: [`workload ${label}`, `workloads ${label}`],
		title: `${subjectName(workload)} is ${label}`,
		sentences: sentences([
			reason === undefined ? "Nothing was compared." : cleanMessage(reason),
			severity === "note" ? null : "Not a pass.",
		]),
	};
}

const fallback: Readonly<Record<WorkloadResult["verdict"], HighlightSeverity>> = {
	regressed: "warn",
	improved: "note",
	unchanged: "note",
	inconclusive: "inconclusive",
	"not-comparable": "inconclusive",
	// A new workload has nothing to compare with, and no gate.
	missing: "note",
};

function severityOf(workload: WorkloadResult, gates: GateIndex): HighlightSeverity {
	const status = gates.status(speedGate(workload), workload);
	return status === undefined || status === "pass" ? fallback[workload.verdict] : status;
}

function speedHighlight(result: Result, workload: WorkloadResult, gates: GateIndex): Highlight | null {
	const severity = severityOf(workload, gates);
	switch (workload.verdict) {
		case "regressed":
		case "improved":
			return changedHighlight(result, workload, severity);
		case "inconclusive":
			return inconclusiveHighlight(result, workload, severity);
		case "not-comparable":
		case "missing":
			// Without a base nothing can be compared, and the report states it once.
			return result.arms.base === null ? null : unjudgedHighlight(result, workload, severity);
		case "unchanged":
			return null;
	}
}

/** One for each workload that is not unchanged, largest change first: a short report shows the first few. */
export function speedHighlights(result: Result, gates: GateIndex): Highlight[] {
	const size = (workload: WorkloadResult) => Math.abs(comparedOf(workload).estimate ?? 0);
	return [...result.workloads]
		.sort((a, b) => size(b) - size(a))
		.flatMap((workload) => {
			const highlight = speedHighlight(result, workload, gates);
			return highlight === null ? [] : [{ ...highlight, explains: gateKey(speedGate(workload), workload) }];
		});
}

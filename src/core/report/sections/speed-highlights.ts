// Highlights of workloads that changed, one for all of a model that changed alike.
import type { Arm, Result, WorkloadResult } from "../../../../generated/result.ts";
import {
	changeText,
	changeWithInterval,
	intervalText,
	levelText,
	limitsText,
	noiseTexts,
	openRangeText,
	pairsText,
	workText,
} from "../../compare/sentence.ts";
import { type Group, groupBy } from "../../group.ts";
import { comparedOf, shownMs } from "../../stats/summary.ts";
import { cleanMessage } from "../../text/escape.ts";
import {
	commonSubject,
	counted,
	present,
	type Subject,
	speedLabel,
	subjectName,
	subjectOf,
	withCaveat,
} from "../../text/labels.ts";
import { formatBytes, formatLimit, formatMs, formatPercent, formatWork } from "../../text/units.ts";
import { accountSentences, causePhrase, causeSentences, nextStep } from "../engine-text.ts";
import { backendOfRow, memoryText, speedGate } from "../facts.ts";
import {
	engineKey,
	type GateIndex,
	gateKey,
	type Highlight,
	type HighlightSeverity,
	restName,
} from "../highlight.ts";
import { recipeSentence } from "./changes.ts";

type Told = Omit<Highlight, "severity" | "explains">;

type Rows = Group<WorkloadResult>;

function remarks({ notes = [], replaced }: WorkloadResult) {
	const repeated = `${counted(replaced, "pair of runs was", "pairs of runs were")} discarded as invalid and repeated.`;
	return present([...notes.slice(0, 5).map((note) => cleanMessage(note)), replaced > 0 && repeated]);
}

const topics = {
	time: { regressed: ["slowdown", "slowdowns"], improved: ["speedup", "speedups"] },
	work: {
		regressed: ["increase of work", "increases of work"],
		improved: ["decrease of work", "decreases of work"],
	},
} as const;

function rangeText(group: Rows) {
	const texts = [group.at(-1) ?? group[0], group[0]].map((row) =>
		changeText(comparedOf(row)).replace(/^[+\u2212]/, ""),
	);
	const [least = "", most = ""] = texts;
	return least === most ? most : `${least.replace(" %", "")} to ${most}`;
}

function extentText(group: Rows, common: Subject, { workloads }: Result) {
	if (group.length === 1) return "";
	const { model, engine = "", part } = common;
	const all = workloads.filter(
		(row) => row.model === model && row.part === part && (engine === "" || row.engine === engine),
	);
	return ` in ${group.length} of ${counted(all.length, "workload")}`;
}

function levelsText(workload: WorkloadResult) {
	const [base, head] = [shownMs(workload, "base"), shownMs(workload, "head")];
	if (base === undefined || head === undefined) return "";
	const format = workload.work === undefined ? formatMs : formatWork;
	return ` (${format(base)} → ${format(head)})`;
}

function titleOf(result: Result, group: Rows, common: Subject) {
	const [first] = group;
	const label = speedLabel(first, backendOfRow(result, first));
	const levels = group.length === 1 ? levelsText(first) : "";
	const cause = causePhrase(group.find(({ explanation }) => explanation !== undefined)?.explanation);
	return `${subjectName(common)} ${first.work === undefined ? "is" : "does"} ${rangeText(group)} ${label}${extentText(group, common, result)}${levels}${cause === "" ? "" : `: ${cause}`}`;
}

function sizeTexts({ builds }: Result, group: Rows) {
	const memory = new Set(group.map((row) => memoryText(row.base, row.head)));
	const isGrown = group.every((row) => row.memory.verdict === "regressed");
	const engines = new Set(group.map(engineKey));
	const sizeOf = (arm: Arm) =>
		builds.find((build) => build.arm === arm && engineKey(build) === engineKey(group[0]))?.engineBytes;
	const [from, to] = [sizeOf("base"), sizeOf("head")];
	const isResized = engines.size === 1 && from && to && Math.abs(to / from - 1) >= noticeableSize;
	return present([
		isGrown && memory.size === 1 && `GPU memory ${[...memory][0]}.`,
		isResized && `Plan ${formatBytes(from)} → ${formatBytes(to)}.`,
	]);
}

const noticeableSize = 0.02;

function causeLines({ explanation }: WorkloadResult, name: string) {
	if (explanation === undefined) return [];
	const [first = "", ...others] = causeSentences(explanation);
	return [name === "" ? first : `${name}: ${first}`, ...others];
}

function changed(result: Result, group: Rows, gates: GateIndex): Told {
	const [first] = group;
	const { work, latency, p99, doubt, verdict } = first;
	const backend = backendOfRow(result, first);
	const [one, many] =
		topics[work === undefined ? "time" : "work"][verdict === "regressed" ? "regressed" : "improved"];
	const common = commonSubject(group.map(subjectOf));
	const accepted = gates.of(speedGate(first), first)[0]?.accepted;
	const explained = group.find(({ explanation }) => explanation !== undefined);
	const isOne = group.length === 1;
	const recipes = new Set(present(group.map((row) => recipeSentence(result, row))));
	const opening = present([accepted && cleanMessage(accepted), ...recipes]);
	const basis =
		work === undefined
			? `${[pairsText(latency), ...noiseTexts(first)].join(", ")}.`
			: "Counted on ONNX Runtime (WebAssembly), exact; not time, not TensorRT.";
	return {
		about: common,
		count: group.length,
		topic: [withCaveat(one, backend), withCaveat(many, backend)],
		title: titleOf(result, group, common),
		...(explained?.explanation && {
			lines: [...opening, ...causeLines(explained, isOne ? "" : restName(subjectOf(explained), common))],
			fix: verdict === "regressed" ? nextStep : undefined,
		}),
		sentences: present([
			isOne &&
				latency.interval !== null &&
				work === undefined &&
				`${levelText(latency)} interval ${intervalText(latency)}.`,
			isOne && work?.interval != null && work.interval[0] !== work.interval[1] && `Work ${workText(work)}.`,
			...(explained === undefined ? opening : []),
			...sizeTexts(result, group),
			limitsText(first),
			...(explained?.explanation ? accountSentences(explained.explanation) : []),
			doubt && `${cleanMessage(doubt)}${verdict === "regressed" ? " It only warns." : ""}`,
			...(isOne ? [basis, ...remarks(first)] : []),
			isOne && p99.estimate !== null && `P99 ${changeWithInterval(p99)}.`,
		]),
	};
}

/** The comparison's own reason distinguishes noise from a change near the limit. */
function undecidedText({ noise: { runCv } }: WorkloadResult, compared: ReturnType<typeof comparedOf>) {
	if (compared.reason !== undefined) return cleanMessage(compared.reason);
	const why = runCv === null ? "The runs cannot decide" : `Run noise ${formatPercent(runCv)} is too high`;
	return `${why} for a limit of ${formatLimit(compared.minimalEffect)} on this runner; ${openRangeText(compared)}.`;
}

function inconclusive(result: Result, workload: WorkloadResult): Told {
	const backend = backendOfRow(result, workload);
	const compared = comparedOf(workload);
	const after = compared.pairs === 0 ? "So far" : `After ${counted(compared.pairs, "pair")}`;
	const found = compared.estimate !== null && `${after}: ${changeWithInterval(compared)}.`;
	return {
		about: subjectOf(workload),
		topic: [withCaveat("inconclusive comparison", backend), withCaveat("inconclusive comparisons", backend)],
		title: `${subjectName(workload)} is ${speedLabel(workload, backend)}`,
		sentences: present([undecidedText(workload, compared), "Not a pass.", found, ...remarks(workload)]),
	};
}

function unjudged(result: Result, workload: WorkloadResult, severity: HighlightSeverity): Told {
	const label = speedLabel(workload, backendOfRow(result, workload));
	const { reason } = comparedOf(workload);
	const why = reason === undefined ? "Nothing was compared." : cleanMessage(reason);
	return {
		about: subjectOf(workload),
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

const isChanged = ({ verdict }: WorkloadResult) => verdict === "regressed" || verdict === "improved";

/** A statement about a group must hold for each of its workloads: direction, gate, and why it only warns. */
function groupKey(workload: WorkloadResult, gates: GateIndex) {
	const { model, part, verdict, doubt, work } = workload;
	if (!isChanged(workload)) return workload.id + subjectName(workload);
	const [gate] = gates.of(speedGate(workload), workload);
	return JSON.stringify([model, part, verdict, doubt, work === undefined, gate?.status, gate?.accepted]);
}

function speedHighlight(result: Result, group: Rows, gates: GateIndex) {
	const [workload] = group;
	const { verdict } = workload;
	// Without a base nothing can be compared, and the report states it once.
	const isUnjudged = verdict === "not-comparable" || verdict === "missing";
	if (verdict === "unchanged" || (isUnjudged && result.arms.base === null)) return [];
	const judged = gates.explain(speedGate(workload), workload, fallback[verdict]);
	const told = isUnjudged
		? unjudged(result, workload, judged.severity)
		: verdict === "inconclusive"
			? inconclusive(result, workload)
			: changed(result, group, gates);
	const explains = group.map((row) => gateKey(speedGate(row), row));
	return [{ ...told, ...judged, explains }];
}

/** The largest first, because a short report shows only a few. */
export function speedHighlights(result: Result, gates: GateIndex): Highlight[] {
	const size = (workload: WorkloadResult) => Math.abs(comparedOf(workload).estimate ?? 0);
	const sorted = [...result.workloads].sort((a, b) => size(b) - size(a));
	const groups = groupBy(sorted, (workload) => groupKey(workload, gates));
	return [...groups.values()].flatMap((group) => speedHighlight(result, group, gates));
}

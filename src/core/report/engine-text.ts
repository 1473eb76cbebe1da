// Explains in sentences why an engine is faster or slower. Backticks mark names.
import type {
	EngineCause,
	EngineDiff,
	EnginePart,
	EngineRow,
	EngineSummary,
	LayerUnitName,
} from "../../../generated/result.ts";
import { fewUnchanged } from "../../engine/core/noise.ts";
import { groupBy } from "../group.ts";
import { quoted } from "../text/escape.ts";
import { counted, present } from "../text/labels.ts";
import { formatBytes, formatPercent } from "../text/units.ts";

const minus = "\u2212";

export interface LayerUnit {
	name: "ms" | "µs" | "M instructions";
	of: "time" | "work";
	format(ms: number): string;
	formatChange(ms: number): string;
}

export function layerUnit(longestMs: number, unit?: LayerUnitName): LayerUnit {
	const isLong = longestMs >= 1 || unit !== undefined;
	const digits = isLong && unit === undefined ? 3 : 2;
	const format = (ms: number) => {
		const text = (isLong ? ms : ms * 1000).toFixed(digits);
		return Number(text) < 0 ? minus + text.slice(1) : text.replace(/^-/, "");
	};
	return {
		name: unit ?? (isLong ? "ms" : "µs"),
		of: unit === undefined ? "time" : "work",
		format,
		formatChange: (ms) => (Number.parseFloat(format(ms)) > 0 ? `+${format(ms)}` : format(ms)),
	};
}

export function unitOf({ rows, account, unit }: EngineDiff): LayerUnit {
	const times = rows.flatMap(({ base, head }) => [base?.meanMs ?? 0, head?.meanMs ?? 0]);
	const longest = times.reduce((most, ms) => Math.max(most, ms), Math.abs(account?.measuredMs ?? 0));
	return layerUnit(longest, unit);
}

function withinText(halfWidthMs: number | null, unit: LayerUnit) {
	return unit.of === "work" ? "" : ` ± ${unit.format(halfWidthMs ?? 0)}`;
}

export function changeText({ changeMs, halfWidthMs, isSignificant }: EngineRow, unit: LayerUnit): string {
	return changeMs === null || !isSignificant
		? ""
		: `${unit.formatChange(changeMs)}${withinText(halfWidthMs, unit)}`;
}

export function groupText({ label, members, of }: EngineRow): string {
	return `${quoted(label)}${members.length > 1 ? ` (total; the same in ${members.length} of ${of})` : ""}`;
}

export function causeText({ causes, isSignificant }: EngineRow): string {
	if (causes.length > 0) return causes.map(({ says }) => says).join("; ");
	return isSignificant ? "cause unknown: no rule applies" : "";
}

function workText(part: EnginePart | null) {
	const operations = part?.operations ?? 0;
	const [unit, size] = operations < 1e9 ? ["MFLOP", 1e6] : ["GFLOP", 1e9];
	return present([
		part?.bytes != null && formatBytes(part.bytes),
		operations > 0 && `${Number((operations / size).toPrecision(3))} ${unit}`,
	]).join(", ");
}

function boundText(part: EnginePart | null) {
	const { roofline } = part ?? {};
	return roofline === undefined
		? ""
		: `${roofline.bound}-bound, ${roofline.share < 0.01 ? "under 1 %" : formatPercent(roofline.share, { digits: 0 })} of ${roofline.limit}`;
}

export function partText(part: EnginePart): string {
	return present([workText(part), boundText(part)]).join(" · ");
}

export function detailTexts(row: EngineRow): string[] {
	const { causes, isSignificant, changeMs, tier, confidence, label, base, head } = row;
	const changes = [workText, boundText].flatMap((textOf) => {
		const [from, to] = [textOf(base), textOf(head)];
		return from === to ? [] : [`${from || "–"} → ${to || "–"}`];
	});
	const isGuessed = tier === "structure" || tier === "similarity";
	const evidence = causes.flatMap((cause) => cause.evidence).filter((text) => text !== quoted(label, 60));
	const isGain = isSignificant && (changeMs ?? 0) < 0;
	const advice = causes.find((cause) => cause.try !== undefined)?.try;
	return present([
		...changes,
		...evidence.slice(0, 3),
		isGuessed && `matched by ${tier}, confidence ${confidence.toFixed(2)}`,
		!isGain && advice && `try: ${advice}`,
	]);
}

function rowSentence(row: EngineRow, unit: LayerUnit) {
	const [change, cause] = [changeText(row, unit), causeText(row)];
	return `${change === "" ? "" : `${change} ${unit.name}: `}${groupText(row)}${cause === "" ? "" : ` – ${cause}`}`;
}

export function accountSentence({ account, rows, unchanged }: EngineDiff, unit: LayerUnit): string | null {
	if (account === null) return null;
	const ofRuns = unit.of === "work" ? "of the count" : "of the timed runs";
	const of = account.from === "runs" ? ofRuns : "of the layers' sum";
	const measured = `${unit.formatChange(account.measuredMs)} ${unit.name} ${of}`;
	if (!rows.some(({ isSignificant }) => isSignificant)) {
		const isOpen = account.profiles < 3 && unit.of === "time";
		const more = isOpen ? " A layer that only takes longer shows in three profiles of each side." : "";
		return `No layer explains ${measured}: all changes are within the noise.${more}`;
	}
	const explained = `${unit.formatChange(account.attributedMs)}${withinText(account.halfWidthMs, unit)}`;
	const noise =
		unchanged.groups < fewUnchanged ? "assumed: 3 % of each time" : "estimated from what did not change";
	const once = account.profiles === 1 && unit.of === "time" ? ` With one profile each, ± is ${noise}.` : "";
	const rest =
		account.largestRestMs === 0
			? ""
			: `; no other node group changed by more than ${unit.format(account.largestRestMs)} ${unit.name}`;
	return `Explains ${explained} of ${measured}; ${unit.formatChange(account.restMs)} ${unit.name} unexplained${rest}.${once}`;
}

export function unchangedSentence({ unchanged, account }: EngineDiff, unit: LayerUnit): string {
	const { groups, of, changeMs, halfWidthMs } = unchanged;
	const time =
		changeMs === null || groups === 0
			? ""
			: ` (${unit.formatChange(changeMs)}${withinText(halfWidthMs, unit)} ${unit.name})`;
	const factor = account?.commonFactor ?? 1;
	const clock =
		factor === 1
			? ""
			: ` They all shift by about ${formatPercent(factor - 1, { sign: true })} under the profiler, which is not counted as a change.`;
	return `Unchanged: ${groups} of ${counted(of, "node group")}${time}.${clock}`;
}

export function headlineOf(diff: EngineDiff, unit: LayerUnit): string {
	const [first] = diff.rows;
	const isPlain = [diff.base, diff.head].some(
		({ kernels, precisions: { unknown = 0 } }) => kernels > 0 && unknown === kernels,
	);
	if (diff.isSameStructure && isPlain && first === undefined)
		return "No difference in the names of the layers; kernels and precisions are known with `--profilingVerbosity=detailed` alone.";
	if (diff.isSameStructure && !diff.rows.some(({ isSignificant }) => isSignificant)) {
		const kernels = diff.isSameTactics
			? "the same kernels"
			: `${counted(diff.rows.length, "node group")} with a different kernel or layout`;
		return `No difference in structure; ${kernels}.`;
	}
	return first === undefined ? "No difference." : `${rowSentence(first, unit)}.`;
}

export function machineSentences({ machine = [] }: EngineDiff): string[] {
	return machine.map(({ says, evidence, try: advice }) => {
		const proof = evidence.length === 0 ? "" : ` (${evidence.join("; ")})`;
		return `Outside the layers: ${says}${proof}.${advice === undefined ? "" : ` Try: ${advice}`}`;
	});
}

/** `2 added Transposes break 2 fusions`; else `2 fusions broken, 2 new kernels`: what changed most, by kind; "" if no rule knows. */
export function causePhrase(diff: EngineDiff | undefined): string {
	if (diff?.edit !== undefined) return diff.edit;
	const measured = diff?.account?.measuredMs ?? 0;
	const rows = diff?.rows.filter((row) => row.isSignificant && (row.changeMs ?? 0) * measured > 0) ?? [];
	const known = rows.flatMap((row) => {
		const [cause] = row.causes;
		return cause === undefined ? [] : [{ row, cause }];
	});
	const kinds = [...groupBy(known, ({ cause: { kind, says } }) => `${kind} ${kindOf(says)}`).values()];
	return kinds
		.slice(0, 2)
		.map((list) =>
			kindPhrase(
				list[0].cause,
				list.reduce((sum, { row }) => sum + row.members.length, 0),
			),
		)
		.join(", ");
}

const kindOf = (says: string) => says.split(/[:;]/, 1)[0] ?? "";

function kindPhrase({ kind, says }: EngineCause, count: number) {
	const what = kindOf(says);
	if (kind === "added") return counted(count, `${what} kernel`);
	if (what === "no longer fused") return `${counted(count, "fusion")} broken`;
	return count === 1 ? what : `${what} in ${count} node groups`;
}

export const nextStep = "`trtgate explain result.json`";
export const mostRows = 5;

export function causeSentences(diff: EngineDiff): string[] {
	const unit = unitOf(diff);
	const rows = diff.rows
		.slice(1, mostRows)
		.filter(({ isSignificant }) => isSignificant || diff.account === null);
	return [headlineOf(diff, unit), ...rows.map((row) => `${rowSentence(row, unit)}.`)];
}

export function accountSentences(diff: EngineDiff): string[] {
	const unit = unitOf(diff);
	return present([
		unchangedSentence(diff, unit),
		accountSentence(diff, unit),
		diff.warnings.join(" "),
		machineSentences(diff).join(" "),
	]);
}

/** Ten lines at most, to fit into a comment. */
export function explanationSentences(diff: EngineDiff): string[] {
	const [first = "", ...others] = causeSentences(diff);
	return [`Why: ${first}`, ...others, ...accountSentences(diff)];
}

export function summaryText(
	{ layers, kernels, reformats, mapped, precisions }: EngineSummary,
	of: LayerUnit["of"] = "time",
): string {
	const types = Object.entries(precisions).map(([precision, count]) => `${count} ${precision}`);
	const share =
		mapped === null
			? ""
			: `; ${formatPercent(mapped, { digits: 0 })} of the profiled ${of} belongs to ONNX nodes`;
	return `${counted(layers, "layer")}, ${counted(kernels, "kernel")} (${types.join(", ")}), ${counted(reformats, "reformat")}${share}`;
}

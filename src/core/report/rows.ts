// One row a workload: what every report's main table shows, from verdicts and gates.
import type {
	Arm,
	ArmStats,
	GateName,
	GateStatus,
	Result,
	WorkloadResult,
} from "../../../generated/result.ts";
import { absoluteGates } from "../config/gate-records.ts";
import { comparedOf, shownMs } from "../stats/summary.ts";
import { speedLabel, statusTones, type Tone } from "../text/labels.ts";
import { formatBytes, formatMs, formatWork } from "../text/units.ts";
import { changeText, dash, intervalText } from "./comparison-format.ts";
import { backendOfRow } from "./facts.ts";
import { engineKey, type GateIndex, indexGates } from "./index-gates.ts";

interface GoldenTally {
	match: number;
	total: number;
	tone: Tone;
}

export interface WorkloadRow {
	workload: WorkloadResult;
	verdict: string;
	tone: Tone;
	/** Nothing about it needs attention; such rows are folded. */
	isUnchanged: boolean;
	/** Nothing about its speed needs attention, whatever its goldens show. */
	isSpeedUnchanged: boolean;
	golden: GoldenTally | null;
}

export interface WorkloadTexts {
	base: string;
	head: string;
	change: string;
	interval: string;
	p99: string;
	memory: string;
	golden: string;
}

const rowGates: readonly GateName[] = [
	...(["latency", "work", "p99", "memory", "throughput", "vanished", "run"] as const),
	...absoluteGates.flatMap(({ level, name }) => (level === "workload" ? [name] : [])),
];

function verdictTone(workload: WorkloadResult, latency: GateStatus | undefined, hasBase: boolean): Tone {
	switch (workload.verdict) {
		case "regressed":
			return latency === undefined || latency === "pass" ? "warn" : statusTones[latency];
		case "improved":
		case "unchanged":
			return "ok";
		case "inconclusive":
			return latency === "fail" ? "bad" : "open";
		case "not-comparable":
			return hasBase ? "open" : "plain";
		case "missing":
			return "plain";
	}
}

/** Golden cases by engine: how many match, and the tone of the worst. */
function goldenTallies(result: Result): Map<string, GoldenTally> {
	const tallies = new Map<string, GoldenTally>();
	for (const verdict of result.golden) {
		const { state } = verdict;
		const key = engineKey(verdict);
		const tally = tallies.get(key) ?? { match: 0, total: 0, tone: "ok" };
		const tone: Tone =
			state === "mismatch" || tally.tone === "bad" ? "bad" : state === "match" ? tally.tone : "open";
		// The verdict on the whole set colours the tally, but is not a case.
		const one = verdict.scope === undefined ? 1 : 0;
		tallies.set(key, { match: tally.match + (state === "match" ? one : 0), total: tally.total + one, tone });
	}
	return tallies;
}

function hasSameSpeed(
	{ workload, tone }: Pick<WorkloadRow, "workload" | "tone">,
	gates: GateIndex,
	hasBase: boolean,
): boolean {
	const calm = tone === "ok" || tone === "plain";
	const changed = workload.verdict === "improved" || (workload.verdict === "missing" && hasBase);
	return calm && !changed && rowGates.every((gate) => (gates.status(gate, workload) ?? "pass") === "pass");
}

export function workloadRows(result: Result): WorkloadRow[] {
	const gates = indexGates(result);
	const tallies = goldenTallies(result);
	const hasBase = result.arms.base !== null;
	return result.workloads.map((workload) => {
		const tone = verdictTone(workload, gates.status(speedGate(workload), workload), hasBase);
		const golden = tallies.get(engineKey(workload)) ?? null;
		const isSpeedUnchanged = hasSameSpeed({ workload, tone }, gates, hasBase);
		const isUnchanged = isSpeedUnchanged && (golden === null || golden.tone === "ok");
		const verdict =
			!hasBase && tone === "plain" ? "no base" : speedLabel(workload, backendOfRow(result, workload));
		return { workload, verdict, tone, isUnchanged, isSpeedUnchanged, golden };
	});
}

function memoryText(base: ArmStats | null, head: ArmStats | null): string {
	const [from = dash, to] = [base, head].flatMap((arm) =>
		arm === null ? [] : [arm.peakMemoryBytes === null ? dash : formatBytes(arm.peakMemoryBytes)],
	);
	if (to === undefined || (from === dash && to === dash)) return from;
	const unit = to.slice(to.indexOf(" "));
	return `${from.endsWith(unit) ? from.slice(0, -unit.length) : from} → ${to}`;
}

/** The gate of what is compared of a workload. */
export function speedGate({ work }: Pick<WorkloadResult, "work">): GateName {
	return work === undefined ? "latency" : "work";
}

/** Nothing in the table was timed. */
export function isCounted(rows: readonly WorkloadRow[]): boolean {
	return rows.length > 0 && rows.every(({ workload }) => workload.work !== undefined);
}

/** What the figures of base and head are; only a merged result holds both. */
function figureOf(rows: readonly WorkloadRow[]): string {
	if (isCounted(rows)) return "instructions";
	return rows.some(({ workload }) => workload.work !== undefined) ? "median or instructions" : "median";
}

/** The heading above a side's times. */
export const armTitle = (arm: Arm | "time", rows: readonly WorkloadRow[]): string =>
	`${arm}, ${figureOf(rows)}`;

function levelText(workload: WorkloadResult, arm: Arm): string {
	const level = comparedOf(workload)[arm] ?? shownMs(workload, arm);
	if (level === undefined) return dash;
	return workload.work === undefined ? formatMs(level) : formatWork(level);
}

export function workloadTexts({ workload, golden }: WorkloadRow): WorkloadTexts {
	const { base, head, work } = workload;
	const compared = comparedOf(workload);
	const isOneEngine = compared.pairs === 0 && compared.estimate === 0 && compared.base === undefined;
	const isExact = work?.interval != null && work.interval[0] === work.interval[1];
	return {
		base: levelText(workload, "base"),
		head: levelText(workload, "head"),
		change: isOneEngine ? "same engine" : changeText(compared),
		interval: isOneEngine || isExact || compared.interval === null ? "" : intervalText(compared),
		p99: isOneEngine
			? dash
			: workload.p99.estimate === null && head !== null
				? `${formatMs(head.p99Ms)} (head)`
				: changeText(workload.p99),
		memory: memoryText(base, head),
		golden: golden === null ? dash : `${golden.match} / ${golden.total}`,
	};
}

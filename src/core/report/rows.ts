// One row a workload: what every report's main table shows, from verdicts and gates.
import type { Arm, ArmStats, GateName, GateStatus, Result, WorkloadResult } from "../schema/result.ts";
import { shownMs } from "../stats/summary.ts";
import { speedLabel, statusTones, type Tone } from "../text/labels.ts";
import { formatBytes, formatMs } from "../text/units.ts";
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

const rowGates: readonly GateName[] = ["latency", "p99", "memory", "max-latency", "vanished", "run"];

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
		const tone: Tone = state === "mismatch" || tally.tone === "bad" ? "bad" : state === "match" ? tally.tone : "open";
		// The verdict on the whole set colours the tally, but is not a case.
		const one = verdict.scope === undefined ? 1 : 0;
		tallies.set(key, { match: tally.match + (state === "match" ? one : 0), total: tally.total + one, tone });
	}
	return tallies;
}

function hasSameSpeed({ workload, tone }: Pick<WorkloadRow, "workload" | "tone">, gates: GateIndex, hasBase: boolean): boolean {
	const calm = tone === "ok" || tone === "plain";
	const changed = workload.verdict === "improved" || (workload.verdict === "missing" && hasBase);
	return calm && !changed && rowGates.every((gate) => (gates.status(gate, workload) ?? "pass") === "pass");
}

export function workloadRows(result: Result): WorkloadRow[] {
	const gates = indexGates(result);
	const tallies = goldenTallies(result);
	const hasBase = result.arms.base !== null;
	return result.workloads.map((workload) => {
		const tone = verdictTone(workload, gates.status("latency", workload), hasBase);
		const golden = tallies.get(engineKey(workload)) ?? null;
		const isSpeedUnchanged = hasSameSpeed({ workload, tone }, gates, hasBase);
		const isUnchanged = isSpeedUnchanged && (golden === null || golden.tone === "ok");
		const verdict = !hasBase && tone === "plain" ? "no base" : speedLabel(workload.verdict, backendOfRow(result, workload));
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

/** Which figure of its runs a time is. */
export function timeFigure(rows: readonly WorkloadRow[]): string {
	const [figure = "median", other] = new Set(rows.map(({ workload }) => workload.figure ?? "median"));
	// Only a merged result holds both: each row then shows its backend.
	return other === undefined ? figure : "median (on a CPU: fastest)";
}

/** The heading above a side's times. */
export const armTitle = (arm: Arm | "time", rows: readonly WorkloadRow[]): string => `${arm}, ${timeFigure(rows)}`;

export function workloadTexts({ workload, golden }: WorkloadRow): WorkloadTexts {
	const { base, head, latency } = workload;
	const [baseMs, headMs] = [shownMs(workload, "base"), shownMs(workload, "head")];
	const isOneEngine = latency.pairs === 0 && latency.estimate === 0;
	return {
		base: baseMs === undefined ? dash : formatMs(baseMs),
		head: headMs === undefined ? dash : formatMs(headMs),
		change: isOneEngine ? "same engine" : changeText(latency),
		interval: isOneEngine || latency.interval === null ? "" : intervalText(latency),
		p99: isOneEngine ? dash : workload.p99.estimate === null && head !== null ? `${formatMs(head.p99Ms)} (head)` : changeText(workload.p99),
		memory: memoryText(base, head),
		golden: golden === null ? dash : `${golden.match} / ${golden.total}`,
	};
}

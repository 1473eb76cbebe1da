// The rows of every report's main table, from verdicts and gates.
import type {
	Arm,
	ArmStats,
	GateName,
	GateStatus,
	Result,
	WorkloadResult,
} from "../../../generated/result.ts";
import { changeText, dash, intervalText } from "../compare/sentence.ts";
import { absoluteGates } from "../config/gate-records.ts";
import { groupBy } from "../group.ts";
import { comparedOf, shownMs } from "../stats/summary.ts";
import { speedLabel, statusTones, type Tone } from "../text/labels.ts";
import { formatBytes, formatMs, formatWork } from "../text/units.ts";
import { backendOfRow } from "./facts.ts";
import { engineKey, GateIndex } from "./highlight.ts";

export interface WorkloadRow {
	workload: WorkloadResult;
	verdict: string;
	tone: Tone;
	isUnchanged: boolean;
	isSpeedUnchanged: boolean;
	golden: { match: number; total: number; tone: Tone } | null;
	texts: ReturnType<typeof textsOf>;
}

const rowGates: readonly GateName[] = [
	...(["latency", "work", "p99", "memory", "throughput", "vanished", "run"] as const),
	...absoluteGates.flatMap(({ level, name }) => (level === "workload" ? [name] : [])),
];

function verdictTone({ verdict }: WorkloadResult, gate: GateStatus | undefined, hasBase: boolean) {
	if (verdict === "regressed") return gate === undefined || gate === "pass" ? "warn" : statusTones[gate];
	if (verdict === "inconclusive") return gate === "fail" ? "bad" : "open";
	if (verdict === "not-comparable") return hasBase ? "open" : "plain";
	return verdict === "missing" ? "plain" : "ok";
}

function goldenTallies({ golden }: Result) {
	return new Map(
		[...groupBy(golden, engineKey)].map(([key, verdicts]) => {
			const cases = verdicts.filter(({ scope }) => scope !== "set");
			const match = cases.filter(({ state }) => state === "match").length;
			const isBad = verdicts.some(({ state }) => state === "mismatch");
			const tone = isBad ? "bad" : verdicts.every(({ state }) => state === "match") ? "ok" : "open";
			return [key, { match, total: cases.length, tone }] as const;
		}),
	);
}

export function workloadRows(result: Result): WorkloadRow[] {
	const gates = new GateIndex(result);
	const tallies = goldenTallies(result);
	const hasBase = result.arms.base !== null;
	return result.workloads.map((workload) => {
		const tone = verdictTone(workload, gates.status(speedGate(workload), workload), hasBase);
		const golden = tallies.get(engineKey(workload)) ?? null;
		const isChanged = workload.verdict === "improved" || (workload.verdict === "missing" && hasBase);
		const isSpeedUnchanged =
			(tone === "ok" || tone === "plain") &&
			!isChanged &&
			rowGates.every((gate) => (gates.status(gate, workload) ?? "pass") === "pass");
		const isUnchanged = isSpeedUnchanged && (golden === null || golden.tone === "ok");
		const verdict =
			!hasBase && tone === "plain" ? "no base" : speedLabel(workload, backendOfRow(result, workload));
		const texts = textsOf(workload, golden);
		return { workload, verdict, tone, isUnchanged, isSpeedUnchanged, golden, texts };
	});
}

export function speedGate({ work }: Pick<WorkloadResult, "work">): GateName {
	return work === undefined ? "latency" : "work";
}

export function isCounted(rows: readonly WorkloadRow[]): boolean {
	return rows.length > 0 && rows.every(({ workload }) => workload.work !== undefined);
}

export function armTitle(arm: Arm | "time", rows: readonly WorkloadRow[]): string {
	if (isCounted(rows)) return `${arm}, instructions`;
	const isMixed = rows.some(({ workload }) => workload.work !== undefined);
	return `${arm}, ${isMixed ? "median or instructions" : "median"}`;
}

function levelText(workload: WorkloadResult, arm: Arm) {
	const level = comparedOf(workload)[arm] ?? shownMs(workload, arm);
	if (level === undefined) return dash;
	return workload.work === undefined ? formatMs(level) : formatWork(level);
}

export function memoryText(base: ArmStats | null, head: ArmStats | null): string {
	const [from = dash, to] = [base, head].flatMap((arm) =>
		arm === null ? [] : [arm.peakMemoryBytes === null ? dash : formatBytes(arm.peakMemoryBytes)],
	);
	if (to === undefined || (from === dash && to === dash)) return from;
	const unit = to.slice(to.indexOf(" "));
	return `${from.endsWith(unit) ? from.slice(0, -unit.length) : from} → ${to}`;
}

function textsOf(workload: WorkloadResult, golden: WorkloadRow["golden"]) {
	const { base, head, work, p99 } = workload;
	const compared = comparedOf(workload);
	const isOneEngine = compared.pairs === 0 && compared.estimate === 0 && compared.base === undefined;
	const isExact = work?.interval != null && work.interval[0] === work.interval[1];
	const tail = p99.estimate === null && head !== null ? `${formatMs(head.p99Ms)} (head)` : changeText(p99);
	return {
		base: levelText(workload, "base"),
		head: levelText(workload, "head"),
		change: isOneEngine ? "same engine" : changeText(compared),
		interval: isOneEngine || isExact || compared.interval === null ? "" : intervalText(compared),
		p99: isOneEngine ? dash : tail,
		memory: memoryText(base, head),
		golden: golden === null ? dash : `${golden.match} / ${golden.total}`,
	};
}

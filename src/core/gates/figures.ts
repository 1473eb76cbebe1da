// Gates of builds and timed workloads: changes, absolute limits and vanished figures.
import type {
	Arm,
	ArmStats,
	BuildRecord,
	Comparison,
	ErrorRecord,
	Finding,
	GateName,
	GateResult,
	GateStatus,
	WorkloadResult,
} from "../../../generated/result.ts";
import { buildTimesApart, hitSameLimit } from "../build-faults.ts";
import { renderVerdict, renderWork } from "../compare/sentence.ts";
import type { Config, Gates, Threshold } from "../config/config.ts";
import { absoluteGates, formatGate } from "../config/gate-records.ts";
import { placeOf } from "../config/source.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { formatBytes, formatDuration, formatPercent } from "../text/units.ts";

/** A gate's result without its subject; without a status, it is left out. */
type Verdict = readonly [gate: GateName, status: GateStatus | null, message: string];

export interface Level {
	gates: Gates;
	pointer: string;
}

/** @param key of the limit, by default the gate's name. */
export function placeVerdict(
	[gate, status, message]: Verdict,
	subject: Pick<GateResult, "model" | "engine" | "workload" | "case">,
	{ config, gates, pointer, key = gate }: Level & { config: Config; key?: string },
): GateResult[] {
	if (status === null) return [];
	return [{ gate, ...subject, status, message, ...placeOf(config, gates.pointers[key] ?? pointer) }];
}

export interface Around {
	config: Config;
	errors?: readonly ErrorRecord[];
	builds?: readonly BuildRecord[];
}

export function judgeWorkload(
	row: WorkloadResult,
	level: Level,
	{ config, errors = [], builds = [] }: Around,
): GateResult[] {
	const { gates } = level;
	const { model, engine, workload, latency, work, p99, memory, base, head } = row;
	// A missing base engine is the base's own fault, which the change may repair.
	const lacksBase = builds.some(
		(build) =>
			build.arm === "base" && build.model === model && build.engine === engine && build.state !== "built",
	);
	const isUnstated = config.base !== undefined && memory.verdict === "not-comparable";
	const context = { gates, isExplained: lacksBase || errors.some((error) => concerns(error, row)) };
	const verdicts: Verdict[] = [
		["latency", comparedStatus(latency, gates.latency, context), renderVerdict(latency)],
		["work", workStatus(row, context), work === undefined ? "" : renderWork(work, row.doubt)],
		["p99", tailStatus(p99, gates.p99), `P99: ${renderVerdict(p99)}`],
		["memory", tailStatus(memory, gates.memory), memoryMessage(row)],
		throughputGate(row, gates),
		...judgeBounds(gates, head, "workload"),
		// Another version may state its memory in another way.
		vanished(isUnstated ? timeNames : figureNames, { base, head }, gates),
	];
	return verdicts.flatMap((verdict) =>
		placeVerdict(verdict, { model, engine, workload }, { config, ...level }),
	);
}

const figureNames: Readonly<Record<Exclude<keyof ArmStats, "runs" | "iterations">, string>> = {
	medianMs: "median latency",
	meanMs: "mean latency",
	minMs: "fastest iteration",
	p90Ms: "P90 latency",
	p95Ms: "P95 latency",
	p99Ms: "P99 latency",
	throughputPerSecond: "throughput",
	peakMemoryBytes: "peak memory",
};

const { peakMemoryBytes: _, ...timeNames } = figureNames;

type Figures = Partial<Record<keyof typeof figureNames | "engineBytes", number | null>>;

function vanished(
	names: Partial<Record<keyof Figures, string>>,
	{ base, head }: Record<Arm, Figures | null>,
	gates: Gates,
): Verdict {
	const missing = (Object.keys(names) as (keyof Figures)[]).flatMap((key) => {
		const before = base?.[key];
		if (typeof before !== "number" || !Number.isFinite(before) || Number.isFinite(head?.[key])) return [];
		const kind = key.endsWith("Ms") ? "duration" : key.endsWith("Bytes") ? "size" : "rate";
		return [`${names[key]} (${formatGate[kind](before)})`];
	});
	const status = missing.length === 0 || gates.vanished === "off" ? null : gates.vanished;
	const message = `The base reports ${missing.join(", ")}; the head does not, so nothing was compared.`;
	return ["vanished", status, message];
}

function judgeBounds(
	gates: Gates,
	head: Partial<Record<(typeof absoluteGates)[number]["figure"], number | null>> | null,
	level: "workload" | "engine",
) {
	return absoluteGates.flatMap((gate): Verdict[] => {
		const limit = gates[gate.key];
		if (gate.level !== level || limit === undefined || head === null) return [];
		const format = formatGate[gate.kind];
		const value = head[gate.figure] ?? null;
		const allowed = `; allowed at ${gate.isLeast ? "least" : "most"} ${format(limit)}.`;
		if (value === null) return [[gate.name, openStatus(gates), `${gate.label} unknown${allowed}`]];
		const keeps = gate.isLeast ? value >= limit : value <= limit;
		return [[gate.name, keeps ? "pass" : "fail", `${gate.label} ${format(value)}${allowed}`]];
	});
}

function throughputGate({ base, head }: WorkloadResult, gates: Gates): Verdict {
	const before = base?.throughputPerSecond ?? 0;
	const now = head?.throughputPerSecond ?? null;
	const { warn, fail } = gates.throughput;
	if (before === 0 || now === null || (warn === undefined && fail === undefined))
		return ["throughput", null, ""];
	const message = changeText("Throughput", [before, now], formatGate.rate);
	return ["throughput", judgeChange(1 - now / before, gates.throughput), message];
}

function concerns({ model, engine, workload }: ErrorRecord, row: WorkloadResult) {
	return (
		model === row.model &&
		(engine ?? row.engine) === row.engine &&
		(workload ?? row.workload) === row.workload
	);
}

export function openStatus({ inconclusive }: Gates) {
	return inconclusive === "fail" ? "fail" : "inconclusive";
}

interface Context {
	gates: Gates;
	isExplained: boolean;
}

export function comparedStatus(
	comparison: Comparison,
	limits: Threshold,
	{ gates, isExplained }: Context,
): GateStatus | null {
	switch (comparison.verdict) {
		case "regressed":
			return judgeChange(comparison.estimate ?? NaN, limits);
		case "improved":
		case "unchanged":
			return "pass";
		case "inconclusive":
			return openStatus(gates);
		case "not-comparable":
			return gates.notComparable === "fail" && !isExplained ? "fail" : "inconclusive";
		case "missing":
			return null;
	}
}

/** P99 and memory decide only if they are certain. */
function tailStatus(comparison: Comparison, limits: Threshold) {
	if (comparison.verdict === "regressed") return judgeChange(comparison.estimate ?? NaN, limits);
	return comparison.verdict === "unchanged" || comparison.verdict === "improved" ? "pass" : null;
}

function workStatus({ work, doubt }: WorkloadResult, context: Context) {
	const status = work === undefined ? null : comparedStatus(work, context.gates.work, context);
	return status === "fail" && doubt !== undefined ? "warn" : status;
}

function memoryMessage({ base, head, memory }: WorkloadResult) {
	const change = memory.estimate === null ? "" : ` (${formatPercent(memory.estimate, { sign: true })})`;
	return `Peak memory ${formatBytes(base?.peakMemoryBytes ?? 0)} → ${formatBytes(head?.peakMemoryBytes ?? 0)}${change}.`;
}

/** @param change fraction of the base; NaN never passes. */
export function judgeChange(
	change: number,
	limits: Threshold,
): Extract<GateStatus, "pass" | "warn" | "fail"> {
	if (limits.fail !== undefined && !(change < limits.fail)) return "fail";
	if (limits.warn !== undefined && !(change < limits.warn)) return "warn";
	return Number.isNaN(change) ? "fail" : "pass";
}

interface BuildFacts {
	spec: EngineSpec;
	base?: BuildRecord;
	head: BuildRecord;
	findings: readonly Finding[];
}

const noticeableBuildMs = 60_000;

export function judgeBuild(facts: BuildFacts, config: Config): GateResult[] {
	const { spec, head, base } = facts;
	const { gates, name: engine } = spec.engine;
	const verdicts = [preflightGate(facts, config), buildGate(facts)];
	const isPair = head.state === "built" && base?.state === "built";
	if (isPair && !head.sharedWithBase) verdicts.push(sizeGate(facts), timeGate(facts));
	if (head.state === "built") verdicts.push(...judgeBounds(gates, head, "engine"));
	if (isPair) verdicts.push(vanished({ engineBytes: "engine size" }, { base, head }, gates));
	const subject = { model: spec.model.name, engine };
	return verdicts.flatMap((verdict) => placeVerdict(verdict, subject, { config, ...spec.engine }));
}

function preflightGate({ findings }: BuildFacts, config: Config): Verdict {
	const of = (severity: Finding["severity"]) =>
		findings.filter((finding) => finding.arm === "head" && finding.severity === severity);
	const [errors, warnings] = [of("error"), of("warning")];
	const [first, ...more] = [...errors, ...warnings];
	if (first === undefined) return ["preflight", "pass", "No findings."];
	const status = errors.length > 0 || config.preflight.strict ? "fail" : "warn";
	return ["preflight", status, `${first.message}${more.length > 0 ? ` (and ${more.length} more)` : ""}`];
}

function buildGate({ head, base }: BuildFacts): Verdict {
	const { failure } = head;
	switch (head.state) {
		case "skipped":
			return ["build", null, ""];
		case "built":
			return ["build", ...builtMessage(head, base)];
		case "timed-out": {
			const message = `The build did not end within its limit and was stopped after ${formatDuration(head.durationMs)}.`;
			// If the base is too slow as well, the machine is the cause.
			return ["build", hitSameLimit(head, base) ? "error" : "fail", message];
		}
		case "missing":
			return ["build", "fail", failure?.title ?? "The head has no such model."];
		case "refused":
			return ["build", failure?.kind === "runner" ? "error" : "fail", failure?.title ?? "The build failed."];
	}
}

function builtMessage(
	{ durationMs, fromCache, sharedWithBase, warnings }: BuildRecord,
	base: BuildRecord | undefined,
): [GateStatus, string] {
	const fresh = warnings.filter(({ isNew }) => isNew === true);
	if (fresh.length > 0) return ["warn", fresh.map(({ example }) => example.replaceAll("`", "")).join(" ")];
	if (base?.state === "refused") return ["pass", "Builds again: the base does not."];
	if (sharedWithBase === true)
		return ["pass", "Unchanged: the same model and settings as in the base, so one engine serves both."];
	const time = formatDuration(durationMs);
	return [
		"pass",
		fromCache === true ? `Taken from the engine cache; it was built in ${time}.` : `Built in ${time}.`,
	];
}

function sizeGate({ base, head, spec }: BuildFacts): Verdict {
	const before = base?.engineBytes ?? 0;
	const now = head.engineBytes;
	if (now === undefined || before === 0) return ["engine-size", null, ""];
	const message = changeText("Engine", [before, now], formatBytes);
	return ["engine-size", judgeChange(now / before - 1, spec.engine.gates.engineSize), message];
}

function timeGate(facts: BuildFacts): Verdict {
	const before = facts.base?.durationMs ?? 0;
	const now = facts.head.durationMs;
	if (before <= 0 || buildTimesApart(facts) !== null) return ["build-time", null, ""];
	const judged = judgeChange(now / before - 1, facts.spec.engine.gates.buildTime);
	const status = now - before < noticeableBuildMs ? "pass" : judged;
	return ["build-time", status, changeText("Build", [before, now], formatDuration)];
}

function changeText(what: string, [from, to]: [number, number], format: (value: number) => string) {
	return `${what} ${format(from)} → ${format(to)} (${formatPercent(to / from - 1, { sign: true })}).`;
}

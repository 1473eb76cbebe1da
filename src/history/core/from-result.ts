// Makes a history's record from a result.
import type { EngineFacts, HistoryRecord, HistoryRow, LogRatio } from "../../../generated/history.ts";
import type {
	Arm,
	BuildRecord,
	Comparison,
	GoldenCheck,
	MeasuredLoad,
	Result,
	SweepResult,
	WorkloadResult,
} from "../../../generated/result.ts";
import { worstPoint } from "../../core/compare/sweep.ts";
import { shownMs } from "../../core/stats/summary.ts";

export interface RunIdentity {
	run: string;
	url?: string;
	machine?: Readonly<Record<string, string>>;
}

export type RecordedFacts = Pick<
	Result,
	| "tool"
	| "startedAt"
	| "durationMs"
	| "childMs"
	| "arms"
	| "environment"
	| "builds"
	| "golden"
	| "workloads"
	| "sweeps"
	| "measuredLoads"
	| "parts"
>;

type HashText = (text: string) => string;

const wordChars = 300;
const hashDigits = 12;

/** null if nothing was timed, and for a merged result, whose parts have records. */
export function recordOf(result: RecordedFacts, identity: RunIdentity, hash: HashText): HistoryRecord | null {
	const { arms, environment, workloads, tool, startedAt, durationMs, childMs, parts } = result;
	const sweeps = (result.sweeps ?? []).flatMap((sweep) => sweepRows(sweep, result, hash));
	if (workloads.length + sweeps.length === 0 || parts !== undefined) return null;
	const { timing, ...fingerprint } = environment;
	const [first] = workloads;
	return {
		schemaVersion: 1,
		at: startedAt,
		source: hash(JSON.stringify([startedAt, durationMs, childMs])).slice(0, hashDigits),
		run: identity.run.slice(0, 200),
		url: identity.url,
		label: arms.head.label.slice(0, wordChars),
		commit: arms.head.commit,
		reference: arms.base
			? { label: arms.base.label.slice(0, wordChars), commit: arms.base.commit }
			: undefined,
		machine: words({ ...fingerprint, ...identity.machine }),
		method: words({ trtgate: tool.version, timing, figure: first?.work === undefined ? undefined : "work" }),
		rows: [
			...workloads.map((workload) => rowOf(workload, result, hash)),
			...sweeps,
			...(result.measuredLoads ?? []).flatMap((load) => loadRows(load, result, hash)),
		],
	};
}

function words(of: Readonly<Record<string, string | undefined>>) {
	return Object.fromEntries(
		Object.entries(of).flatMap(([key, value]) =>
			value === undefined ? [] : [[key, value.slice(0, wordChars)]],
		),
	);
}

function rowOf(workload: WorkloadResult, { builds, golden }: RecordedFacts, hash: HashText): HistoryRow {
	const own = <Item extends { model: string; engine: string }>(items: readonly Item[]) =>
		items.filter(({ model, engine }) => model === workload.model && engine === workload.engine);
	const ratio = ratioOf(workload) ?? undefined;
	// A repeated count gives the same figure.
	const fresh = workload.work !== undefined ? ratio : workload.fresh && logRatioOf(workload.fresh);
	const errors = errorsOf(own(golden).flatMap(({ checks }) => checks));
	const facts = (arm: Arm) => {
		const build = own(builds).find((one) => one.arm === arm);
		return factsOf(workload, build, arm, hash);
	};
	return {
		series: workload.id,
		kind: "engine",
		ratio,
		fresh: fresh ?? undefined,
		base: facts("base"),
		head: facts("head"),
		errors: Object.keys(errors).length === 0 ? undefined : errors,
	};
}

/** Of the size that is worst now, so without memory, which would change with the size. */
function sweepRows(sweep: SweepResult, facts: RecordedFacts, hash: HashText): HistoryRow[] {
	const worst = worstPoint(sweep, "latency");
	if (worst === undefined) return [];
	const { model, engine, workload } = sweep;
	const { base, head, ...row } = rowOf(worst.row, facts, hash);
	const series = [model, engine, workload].join("/");
	return [{ ...row, series, unrepeated: true, base: withoutMemory(base), head: withoutMemory(head) }];
}

function withoutMemory({ memoryBytes: _, ...facts }: EngineFacts) {
	return facts;
}

/** P99 at the first rate, beside its workload's series. */
function loadRows(load: MeasuredLoad, { builds, workloads }: RecordedFacts, hash: HashText): HistoryRow[] {
	const [point] = load.points;
	const isOf = (one: { model: string; engine: string }) =>
		one.model === load.model && one.engine === load.engine;
	const workload = workloads.find((one) => isOf(one) && one.workload === load.workloads.at(-1));
	if (point === undefined || workload === undefined) return [];
	const facts = (arm: Arm) => {
		const build = builds.find((one) => isOf(one) && one.arm === arm);
		const ms = point[arm]?.p99Ms;
		return {
			...withoutMemory(factsOf(workload, build, arm, hash)),
			ns: ms === undefined ? undefined : Math.round(ms * 1e6),
		};
	};
	const ratio = logRatioOf(point.comparison) ?? undefined;
	const series = `${workload.id} · P99 at load`.slice(0, 400);
	return [{ series, kind: "engine", ratio, unrepeated: true, base: facts("base"), head: facts("head") }];
}

function ratioOf({ latency, noise, work }: WorkloadResult): LogRatio | null {
	if (work !== undefined)
		return work.estimate === null
			? null
			: { ppm: millionths(Math.log1p(work.estimate)), halfPpm: 0, pairs: 1 };
	const ratio = logRatioOf(latency);
	// The difference of two runs has twice the variance of one.
	return ratio === null || noise.runCv === null
		? ratio
		: { ...ratio, sdPpm: millionths(noise.runCv * Math.SQRT2) };
}

/** null for identical engines, which are not timed. */
function logRatioOf({ estimate, interval, pairs, setAside = 0 }: Comparison): LogRatio | null {
	if (estimate === null || interval === null || pairs === 0) return null;
	const half = (Math.log1p(interval[1]) - Math.log1p(interval[0])) / 2;
	return { ppm: millionths(Math.log1p(estimate)), halfPpm: millionths(half), pairs: pairs - setAside };
}

function millionths(value: number) {
	return Math.round(value * 1e6);
}

function factsOf(workload: WorkloadResult, build: BuildRecord | undefined, arm: Arm, hash: HashText) {
	const short = (text: string | undefined) => text?.slice(0, hashDigits);
	const rounded = (value: number | null | undefined) => (value == null ? undefined : Math.round(value));
	const recipe =
		build?.recipe && Object.entries(build.recipe).sort(([left], [right]) => (left < right ? -1 : 1));
	const fingerprint = workload.layers?.[arm]?.fingerprint;
	const ms = shownMs(workload, arm);
	return {
		model: short(build?.modelSha256),
		recipe: short(recipe && hash(JSON.stringify(recipe))),
		plan: short(build?.engineSha256),
		structure: short(fingerprint && hash(`${fingerprint.structure} ${fingerprint.tactics}`)),
		ns: rounded(ms === undefined ? undefined : ms * 1e6),
		bytes: rounded(build?.engineBytes),
		memoryBytes: rounded(workload[arm]?.peakMemoryBytes),
	};
}

/** The worst of all cases; for a similarity, its distance from 1. */
function errorsOf(checks: readonly GoldenCheck[]) {
	const worst: Record<string, number> = {};
	for (const { output, metric, bound, got, allowed } of checks) {
		if (typeof got !== "number" || allowed === null || (bound === "at-least" && got > 1)) continue;
		const name = bound === "at-least" ? `${output} 1 − ${metric}` : `${output} ${metric}`;
		const error = Number((bound === "at-least" ? 1 - got : got).toPrecision(4));
		worst[name] = Math.max(worst[name] ?? 0, error);
	}
	return worst;
}

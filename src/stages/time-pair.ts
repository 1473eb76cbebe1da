// Times one pair: its runs one after the other.

import type { Arm, PerfRun } from "../../generated/result.ts";
import { folderName } from "../core/config/identity.ts";
import { launchLimit } from "../core/explain/machine.ts";
import { summarize, throughputOf } from "../core/stats/summary.ts";
import { judgeValidity, type RunConditions } from "../core/telemetry/validity.ts";
import type { Backend, MeasureJob, MeasureResult } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { Telemetry, ToolFailure } from "../ports/world.ts";
import type { TimedWorkload } from "./workloads.ts";

export interface PairJob {
	pair: number;
	/** In the order of their runs. */
	arms: readonly Arm[];
	/** Of its first run, among all runs of the workload. */
	order: number;
	timed: TimedWorkload;
	outFolder: string;
	/** What both sides' runs have in common. */
	common: Pick<
		MeasureJob,
		"inputs" | "streams" | "seed" | "warmUpMs" | "durationMs" | "threads" | "timeoutMs"
	>;
}

export type TakenRun = WatchedRun & { samples: Float64Array };

interface TakenPair {
	/** All, those of no use included. */
	runs: readonly PerfRun[];
	taken: readonly TakenRun[];
	failure?: ToolFailure;
}

type TimingPorts = Pick<Ports, "clock" | "telemetry"> & { backend: Pick<Backend, "measure"> };

/** One run after the other ends at the first that is unusable. */
export async function timePair(job: PairJob, ports: TimingPorts): Promise<TakenPair> {
	const runs: PerfRun[] = [];
	const taken: TakenRun[] = [];
	let failure: ToolFailure | undefined;
	for (const index of job.arms.keys()) {
		if (failure) break;
		const fromMs = ports.clock.now();
		const result = await ports.backend.measure(runJob(job, index));
		const run = toRun(job, index, result);
		runs.push(run);
		const watched = {
			run,
			fromMs,
			toMs: ports.clock.now(),
			timedMs: "timedMs" in result ? result.timedMs : undefined,
		};
		observe(watched, ports.telemetry);
		if (result.state === "unusable") failure ??= result.failure;
		else if (run.state === "unusable") failure ??= noSamples;
		else taken.push({ ...watched, samples: result.samplesMs });
	}
	return { runs, taken, ...(failure ? { failure } : {}) };
}

function armAt({ arms }: PairJob, index: number): Arm {
	return arms[index] ?? "head";
}

export function engineOf(timed: TimedWorkload, arm: Arm): MeasureJob["engine"] {
	return arm === "base" && timed.base ? timed.base : timed.head;
}

/** A side's builds take turns, pair by pair. Undefined where it has but one. */
function buildAt({ timed, pair }: PairJob, arm: Arm): number | undefined {
	const { rebuilds } = engineOf(timed, arm);
	return rebuilds === undefined ? undefined : pair % (rebuilds.length + 1);
}

function samplesOf(job: PairJob, index: number): string {
	const order = String(job.order + index).padStart(3, "0");
	return `raw/${folderName(job.timed.workload.id)}/${order}-pair${job.pair}-${armAt(job, index)}.f64`;
}

function runJob(job: PairJob, index: number): MeasureJob {
	const { timed, outFolder, common } = job;
	const arm = armAt(job, index);
	const engine = engineOf(timed, arm);
	return {
		...common,
		engine: engine.rebuilds?.[(buildAt(job, arm) ?? 0) - 1] ?? engine,
		samplesPath: `${outFolder}/${samplesOf(job, index)}`,
		logPath: `${outFolder}/logs/measure-${folderName(timed.workload.id)}-${job.order + index}.log`,
	};
}

function toRun(job: PairJob, index: number, result: MeasureResult): PerfRun {
	const arm = armAt(job, index);
	const build = buildAt(job, arm);
	const common = { arm, pair: job.pair, build, order: job.order + index, wallMs: result.wallMs };
	if (result.state === "unusable") return { ...common, state: "unusable", reason: result.reason };
	const summary = summarize(result.samplesMs);
	if (summary === null)
		return { ...common, state: "unusable", reason: "its samples are empty or not finite" };
	const { peakMemoryBytes, enqueueShare, timedMs, reportedThroughputPerSecond: reportedPerSecond } = result;
	const { iterations } = summary;
	const throughputPerSecond = throughputOf({ iterations, timedMs, reportedPerSecond });
	const measured = throughputPerSecond === undefined ? {} : { throughputPerSecond };
	const bound = enqueueShare === undefined ? {} : { enqueueShare, enqueueBound: enqueueShare > launchLimit };
	return {
		...common,
		state: "ok",
		samples: samplesOf(job, index),
		...summary,
		...measured,
		peakMemoryBytes,
		...bound,
	};
}

const noSamples: ToolFailure = {
	code: "tool-output",
	message: "A run gave samples that are empty or not finite.",
};

/** Number of replaced runs after which a workload is abandoned, since the environment is unstable (reference: paired designs, replacement cap). */
export const replacementCap = 3;

interface WatchedRun {
	run: PerfRun;
	/** When its process ran, in the time of the Clock port. */
	fromMs: number;
	toMs: number;
	timedMs: number | undefined;
}

/** Records GPU telemetry on the run. Readings arrive up to a second late, so observe again later. */
function observe({ run, fromMs, toMs, timedMs }: WatchedRun, telemetry: Telemetry): RunConditions {
	const window = telemetry.window(fromMs, toMs);
	if (window !== null) {
		run.gpu = window;
		const { iterations, medianMs } = run;
		const wallMs = timedMs ?? run.wallMs;
		if (iterations !== undefined && medianMs !== undefined && wallMs > 0)
			run.computeShare = (iterations * medianMs) / wallMs;
	}
	return {
		window: run.gpu ?? null,
		computeShare: run.computeShare ?? null,
		foreignProcesses: telemetry.foreignProcesses(fromMs, toMs),
	};
}

/** Judges every usable run, discards both runs of each pair with an invalid one, and returns those pairs. */
export function discardInvalid(
	taken: readonly WatchedRun[],
	telemetry: Telemetry,
): { pair: number; reason: string }[] {
	const counting = taken.filter(({ run }) => run.state === "ok");
	const conditions = counting.map((watched) => observe(watched, telemetry));
	const reasons = new Map<PerfRun, string>();
	counting.forEach(({ run }, index) => {
		const own = conditions[index];
		const validity = own === undefined ? null : judgeValidity(own, conditions);
		if (validity?.state === "invalid") reasons.set(run, validity.reason);
	});
	const invalid = new Map([...reasons].map(([run, reason]) => [run.pair, reason]));
	for (const { run } of counting) {
		if (!invalid.has(run.pair)) continue;
		discard(run, reasons.get(run) ?? "the other run of its pair did not count");
	}
	return [...invalid].map(([pair, reason]) => ({ pair, reason }));
}

export function discard(run: PerfRun, reason: string): void {
	run.state = "unusable";
	run.reason = reason;
}

/** The fault of a workload whose replacements are used up. */
export function unstable(reason: string): ToolFailure {
	return {
		code: "runs-unstable",
		message: `More than ${replacementCap} pairs of runs were invalid, the last because ${reason}.`,
		fix: "Keep other work off this GPU, let it cool, and run again; the report lists the reason for each run.",
	};
}

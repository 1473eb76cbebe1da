// Times one pair, and discards pairs that do not count.
import type { Arm, PerfRun } from "../../generated/result.ts";
import { folderName } from "../core/config/values.ts";
import { summarize, throughputOf } from "../core/stats/summary.ts";
import { judgeValidity, type RunConditions } from "../core/telemetry/conditions.ts";
import { launchLimit } from "../engine/core/explain/machine.ts";
import type { Backend, MeasureJob, MeasureResult } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { Telemetry, ToolFailure } from "../ports/world.ts";
import type { TimedWorkload } from "./workloads.ts";

interface PairJob {
	pair: number;
	arms: readonly Arm[];
	order: number;
	timed: TimedWorkload;
	outFolder: string;
	common: Omit<MeasureJob, "engine" | "inputs" | "samplesPath" | "logPath">;
}

export interface TimedRun {
	run: PerfRun;
	fromMs: number;
	toMs: number;
	timedMs?: number;
}

export async function timePair(
	job: PairJob,
	ports: Pick<Ports, "clock" | "telemetry"> & { backend: Pick<Backend, "measure"> },
): Promise<{ runs: readonly TimedRun[]; failure?: ToolFailure }> {
	const { timed, common, outFolder, pair } = job;
	const name = folderName(timed.workload.id);
	const runs: TimedRun[] = [];
	for (const [index, arm] of job.arms.entries()) {
		const order = job.order + index;
		const engine = engineOf(timed, arm);
		// Builds take turns, pair by pair.
		const build = engine.rebuilds && pair % (engine.rebuilds.length + 1);
		const samples = `raw/${name}/${String(order).padStart(3, "0")}-pair${pair}-${arm}.f64`;
		const fromMs = ports.clock.now();
		const result = await ports.backend.measure({
			...common,
			inputs: inputsOf(timed, arm),
			engine: engine.rebuilds?.[(build ?? 0) - 1] ?? engine,
			samplesPath: `${outFolder}/${samples}`,
			logPath: `${outFolder}/logs/measure-${name}-${order}.log`,
		});
		const facts = { arm, pair, build, order, wallMs: result.wallMs };
		const ran = { ...toRun(facts, samples, result), fromMs, toMs: ports.clock.now() };
		runs.push(observed(ran, ports.telemetry));
		if (result.state === "unusable") return { runs, failure: result.failure };
		if (ran.run.state === "unusable") return { runs, failure: noSamples };
	}
	return { runs };
}

/** In the order in which they run. */
export function armsOf(isCompared: boolean, first?: Arm): readonly Arm[] {
	if (!isCompared) return ["head"];
	return first === "head" ? ["head", "base"] : ["base", "head"];
}

export function engineOf(timed: TimedWorkload, arm: Arm): MeasureJob["engine"] {
	return arm === "base" && timed.base ? timed.base : timed.head;
}

export function inputsOf({ inputs, baseInputs = inputs }: TimedWorkload, arm: Arm): MeasureJob["inputs"] {
	return arm === "base" ? baseInputs : inputs;
}

function toRun(
	facts: Pick<PerfRun, "arm" | "pair" | "build" | "order" | "wallMs">,
	samples: string,
	result: MeasureResult,
): Pick<TimedRun, "run" | "timedMs"> {
	if (result.state === "unusable") return { run: { ...facts, state: "unusable", reason: result.reason } };
	const { peakMemoryBytes, memoryLine, enqueueShare, timedMs } = result;
	const summary = summarize(result.samplesMs);
	if (summary === null)
		return { run: { ...facts, state: "unusable", reason: "its samples are empty or not finite" }, timedMs };
	const run: PerfRun = {
		...facts,
		state: "ok",
		samples,
		...summary,
		throughputPerSecond: throughputOf(summary.iterations, timedMs, result.reportedThroughputPerSecond),
		peakMemoryBytes,
		memoryLine,
		...(enqueueShare !== undefined && { enqueueShare, enqueueBound: enqueueShare > launchLimit }),
	};
	return { run, timedMs };
}

const noSamples: ToolFailure = {
	code: "tool-output",
	message: "A run gave samples that are empty or not finite.",
};

/** If more pairs have to be replaced, the environment is unstable. */
export const replacementCap = 3;

/** Readings arrive up to a second late, so runs are observed again. */
function observed(timed: TimedRun, telemetry: Telemetry): TimedRun {
	const gpu = telemetry.window(timed.fromMs, timed.toMs);
	if (gpu === null) return timed;
	const { iterations, medianMs } = timed.run;
	const spanMs = timed.timedMs ?? timed.run.wallMs;
	const computeShare =
		iterations !== undefined && medianMs !== undefined && spanMs > 0
			? (iterations * medianMs) / spanMs
			: timed.run.computeShare;
	return { ...timed, run: { ...timed.run, gpu, computeShare } };
}

/** Discards both runs of each pair with an invalid one. `invalid`: reasons by pair. */
export function discardInvalid(
	runs: readonly TimedRun[],
	telemetry: Telemetry,
	{ isPaced }: { isPaced: boolean },
): { runs: TimedRun[]; invalid: ReadonlyMap<number, string> } {
	const seen = runs.map((timed) => (timed.run.state === "ok" ? observed(timed, telemetry) : timed));
	const ok = seen.filter(({ run }) => run.state === "ok");
	const conditions = ok.map(({ run, fromMs, toMs }) => ({
		// Between paced inferences clocks fall and rise: what they do is part of the result.
		window: run.gpu === undefined ? null : isPaced ? { ...run.gpu, smClockMhz: null } : run.gpu,
		computeShare: isPaced ? null : (run.computeShare ?? null),
		foreignProcesses: telemetry.foreignProcesses(fromMs, toMs),
	}));
	const reasons = new Map<TimedRun, string>();
	for (const [index, timed] of ok.entries()) {
		const validity = judgeValidity(conditions[index] as RunConditions, conditions);
		if (validity.state === "invalid") reasons.set(timed, validity.reason);
	}
	const invalid = new Map([...reasons].map(([{ run }, reason]) => [run.pair, reason]));
	const judged = (timed: TimedRun) =>
		ok.includes(timed) && invalid.has(timed.run.pair)
			? discarded(timed, reasons.get(timed) ?? "the other run of its pair did not count")
			: timed;
	return { invalid, runs: seen.map(judged) };
}

export function discarded(timed: TimedRun, reason: string): TimedRun {
	return { ...timed, run: { ...timed.run, state: "unusable", reason } };
}

export function unstable(reason: string): ToolFailure {
	return {
		code: "runs-unstable",
		message: `More than ${replacementCap} pairs of runs were invalid, the last because ${reason}.`,
		fix: "Keep other work off this GPU, let it cool, and run again; the report lists the reason for each run.",
	};
}

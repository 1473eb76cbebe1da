// Times an engine in one trtexec process, and keeps the time of every iteration.

import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { quantile } from "../../core/stats/quantile.ts";
import { float64Bytes } from "../../formats/bytes/byte-source.ts";
import { runArgs, type TimingSettings, timingOf } from "../../formats/trtexec/args.ts";
import {
	type BuildLogFacts,
	createBuildLog,
	createPerfLog,
	type PerfLogFacts,
} from "../../formats/trtexec/build-log.ts";
import { createTimesParser, type ExportTimes } from "../../formats/trtexec/export-times.ts";
import type { MeasureJob, MeasureResult } from "../../ports/backend.ts";
import { orUnusable, unusable } from "../process/failure.ts";
import { orWriteError } from "../process/write-error.ts";
import { badOutput, failureOf } from "./failure.ts";
import { checkPlan, inWorkFolder, runTrtexec, type TrtexecContext, writeFilled } from "./run.ts";

const timesPath = "times.json";

export function measureRun(job: MeasureJob, context: TrtexecContext): Promise<MeasureResult> {
	return orUnusable(job.samplesPath, () => inWorkFolder((folder) => measureIn(folder, job, context)));
}

async function measureIn(folder: string, job: MeasureJob, context: TrtexecContext): Promise<MeasureResult> {
	const inputs = await writeFilled(folder, job, context);
	const { streams, everyMs } = job;
	// trtexec paces, not the golden worker, so that paced and other times differ in nothing else. Its own warm-up has no pauses
	// and would leave the clocks high.
	const [pacedMs, warmUpMs] = everyMs === undefined ? [0, job.warmUpMs] : [job.warmUpMs, 0];
	const durationMs = job.durationMs + pacedMs;
	const timing = timingOf(job.engine, context);
	const task = { task: "time", warmUpMs, durationMs, streams, everyMs, times: timesPath } as const;
	const [perf, memory] = [createPerfLog(), createBuildLog()];
	const run = await runTrtexec(
		{
			argv: runArgs(job.engine, inputs, task, context),
			cwd: folder,
			logPath: job.logPath,
			timeoutMs: job.timeoutMs,
			writes: [timesPath],
			inputs,
			readers: [perf, memory],
			...(await checkPlan(job.engine.path, context)),
		},
		context,
	);
	const { wallMs } = run.record;
	if (run.diagnosis.kind !== "none") return unusable(failureOf(run), wallMs);
	const facts = perf.result();
	const parser = createTimesParser();
	const chunks = createReadStream(join(folder, timesPath), { highWaterMark: 1024 * 1024 });
	for await (const chunk of chunks) parser.push(chunk);
	const read = parser.end();
	if (read.state === "broken") return unusable(badOutput(read.message, run), wallMs);
	const fault = misfitOf(read.times, { facts, streams: job.streams, timing });
	if (fault !== null) return unusable(badOutput(fault, run), wallMs);
	const times = pacedMs === 0 ? read.times : startingFrom(pacedMs, read.times);
	if (times.iterations === 0) return unusable(badOutput("All inferences lie in the warm-up.", run), wallMs);
	const samplesMs = context.timing.transfers ? times.latencyMs : times.computeMs;
	await orWriteError(writeFile(job.samplesPath, float64Bytes(samplesMs)), job.samplesPath);
	const { path, record, spec } = job.engine;
	// Engines that are compared must be counted alike.
	const built = context.built.get(path);
	const isAdopted = context.ownPlans.has(spec.model.name);
	const weights = isAdopted ? (built?.bytes ?? record.engineBytes) : built?.weightsBytes;
	const stated = memory.result();
	const peakMemoryBytes = peakMemoryOf(stated, weights, streams);
	const lacks = peakMemoryBytes === null && stated.memory.context !== null ? ", and no line on weights" : "";
	return {
		state: "ok",
		samplesMs,
		peakMemoryBytes,
		memoryLine: stated.memoryLine
			?.replace(/^(?:\[[^\]]*\] )*/, "")
			.slice(0, 170)
			.concat(lacks),
		wallMs,
		timedMs: times.wallMs,
		reportedThroughputPerSecond: everyMs === undefined ? (facts.throughput ?? undefined) : undefined,
		enqueueShare: middleOf(times.enqueueMs) / Math.max(1e-9, middleOf(times.computeMs)),
	};
}

function startingFrom(fromMs: number, { wallMs, startMs, ...columns }: ExportTimes) {
	const first = startMs.findIndex((ms) => ms >= fromMs);
	const skipped = first < 0 ? startMs.length : first;
	const cut = (values: Float64Array) => values.subarray(skipped);
	return {
		iterations: columns.iterations - skipped,
		computeMs: cut(columns.computeMs),
		latencyMs: cut(columns.latencyMs),
		enqueueMs: cut(columns.enqueueMs),
		startMs: cut(startMs),
		wallMs: wallMs - (startMs[skipped] ?? 0),
	};
}

/** The weights, and one context for each stream: in parts where the version states them, else as their sum. */
function peakMemoryOf({ memory }: BuildLogFacts, known: number | null | undefined, streams: number) {
	const weights = known ?? memory.weights;
	if (weights === null || memory.context === null) return memory.managed;
	return Math.round(weights + memory.context * streams);
}

const middleOf = (values: Float64Array) => quantile(Float64Array.from(values).sort(), 0.5);

function misfitOf(
	{ iterations, wallMs }: ExportTimes,
	{ facts, streams, timing }: { facts: PerfLogFacts; streams: number; timing: TimingSettings },
) {
	if (streams === 1 && facts.iterations !== null && facts.iterations !== iterations)
		return `The times file has ${iterations} iterations, but trtexec reports ${facts.iterations}.`;
	const perSecond = (1000 * iterations) / wallMs;
	if (streams === 1 && facts.throughput !== null && isApart(facts.throughput / perSecond, wallMs))
		return `The times file gives ${perSecond.toFixed(1)} iterations per second, but trtexec reports ${facts.throughput}.`;
	const other = (["cudaGraph", "spinWait", "transfers"] as const).find(
		(key) => (facts.mode[key] ?? timing[key]) !== timing[key],
	);
	return other === undefined
		? null
		: `trtexec timed with ${describeMode(facts.mode)} instead of the requested ${describeMode(timing)}.`;
}

/** trtexec's times are 32-bit: steps of 8 µs once a minute has passed. */
function isApart(ratio: number, wallMs: number) {
	return !(Math.abs(ratio - 1) <= 0.01 + 0.05 / wallMs);
}

export function describeMode(mode: { [Key in keyof TimingSettings]: boolean | null }): string {
	const parts = { "CUDA graph": mode.cudaGraph, "spin wait": mode.spinWait, transfers: mode.transfers };
	return Object.entries(parts)
		.map(([what, on]) => (on ? what : `no ${what}`))
		.join(", ");
}

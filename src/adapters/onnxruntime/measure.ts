// Times an engine in one worker process, and reads the raw samples that it wrote.

import { readFile } from "node:fs/promises";
import { diagnoseOrt, explainRun } from "../../formats/onnxruntime/failures.ts";
import type { MeasureJob, MeasureResult } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { describeFailure, orUnusable, unusable } from "../process/failure.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import { externalOf, type OnnxRuntimeContext } from "./build.ts";
import { badOutput, runWorker, type TaskOf, type WorkerLimits } from "./worker-process.ts";

/** By turns, where the run is one of a pair: its worker is then told how long each turn lasts. */
export function measureRun(job: MeasureJob, context: OnnxRuntimeContext, talk?: WorkerLimits["talk"]): Promise<MeasureResult> {
	return orUnusable(job.samplesPath, () => measureIn(job, context, talk));
}

async function measureIn(job: MeasureJob, context: OnnxRuntimeContext, talk: WorkerLimits["talk"]): Promise<MeasureResult> {
	const { logPath, timeoutMs } = job;
	const task = { ...taskOf(job, context), ...(talk === undefined ? {} : { durationMs: "by turns" as const }) };
	const result = await runWorker<"measure">(task, context.place, { logPath, timeoutMs, ...(talk === undefined ? {} : { talk }) });
	const { wallMs } = result;
	if (result.state === "failed") return unusable(result.failure, wallMs);
	if (result.state === "refused") return unusable(refusedRun(result), wallMs);
	const samplesMs = await readSamples(job.samplesPath);
	const { iterations, timedMs, peakMemoryBytes } = result.reply;
	if (samplesMs === null || samplesMs.length !== iterations || iterations === 0) {
		return unusable(badOutput(`${samplesMs?.length ?? "no"} samples, expected ${iterations}`, job), wallMs);
	}
	return { state: "ok", samplesMs, timedMs, peakMemoryBytes, wallMs };
}

function taskOf(job: MeasureJob, context: OnnxRuntimeContext): TaskOf<"measure"> {
	const { inputs, streams, seed, warmUpMs, durationMs, samplesPath, threads } = job;
	const { flavour, folder } = context.runtime;
	const engine = { flavour, folder, modelPath: job.engine.path, external: externalOf(job.engine), threads };
	return { kind: "measure", ...engine, inputs, streams, seed, warmUpMs, durationMs, samplesPath };
}

/** An engine that was built but does not run. */
export function refusedRun(result: { message: string; record: ProcessRecord }): ToolFailure {
	const { code, fix, excerpt } = diagnoseOrt(result.message);
	const explained = explainRun(result.message);
	const failure = describeFailure(result.record, {
		what: "ONNX Runtime",
		timeoutMs: 0,
		fix,
		output: `cannot run this engine: ${explained.replace(/\.$/, "")}`,
	});
	const refusal = code === "ort-run-failed" || code === "ort-input-mismatch" ? { refusal: code } : {};
	return { ...failure, excerpt, ...refusal };
}

/** Raw samples: milliseconds as little-endian 64-bit floats. null: not such a file. */
async function readSamples(path: string): Promise<Float64Array | null> {
	const bytes = await readFile(path).catch(() => null);
	if (bytes === null || bytes.length % 8 !== 0) return null;
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const samples = Float64Array.from({ length: bytes.length / 8 }, (_, index) => view.getFloat64(index * 8, true));
	return samples.every((sample) => Number.isFinite(sample) && sample >= 0) ? samples : null;
}

// Counts the instructions of an engine's inference in a process of its own, as a whole or by node.
import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { asFailure } from "../../core/errors.ts";
import { joinLayers } from "../../core/explain/layers.ts";
import { diagnoseOrt, explainRun } from "../../formats/onnxruntime/failures.ts";
import { countedLayers } from "../../formats/onnxruntime/layers.ts";
import type { CountJob, CountResult, ProfileJob, ProfileResult } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { describeFailure } from "../process/failure.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import { externalOf, type OnnxRuntimeContext } from "./build.ts";
import { runWorker } from "./worker-process.ts";

export async function countRun(job: CountJob, context: OnnxRuntimeContext): Promise<CountResult> {
	if (context.runtime.flavour === "native") return { state: "absent", reason: uncounted };
	const { logPath, timeoutMs } = job;
	try {
		const result = await runWorker<"count">({ kind: "count", ...engineOf(job, context) }, context.place, {
			logPath,
			timeoutMs,
		});
		if (result.state === "failed") return { state: "failed", failure: result.failure };
		if (result.state === "refused") return { state: "failed", failure: refusedRun(result) };
		const { instructions, otherInput } = result.reply;
		return { state: "counted", instructions, otherInput };
	} catch (error) {
		return { state: "failed", failure: asFailure(error) };
	}
}

const uncounted =
	"Native ONNX Runtime does not count its instructions, so its work is not compared; `onnxruntime: wasm` does.";

function engineOf(job: Pick<CountJob, "engine" | "inputs" | "seed">, { runtime }: OnnxRuntimeContext) {
	const { engine, inputs, seed } = job;
	const { flavour, folder } = runtime;
	// One thread: how several share the work depends on the machine.
	return { flavour, folder, modelPath: engine.path, external: externalOf(engine), threads: 1, inputs, seed };
}

export async function profileRun(job: ProfileJob, context: OnnxRuntimeContext): Promise<ProfileResult> {
	if (context.runtime.flavour === "native") return { state: "absent" };
	const { logPath, timeoutMs } = job;
	try {
		const result = await runWorker<"profile">({ kind: "profile", ...engineOf(job, context) }, context.place, {
			logPath,
			timeoutMs,
		});
		if (result.state === "failed") return { state: "failed", failure: result.failure };
		if (result.state === "refused") return { state: "failed", failure: refusedRun(result) };
		const { nodes } = result.reply;
		await makeFolders(dirname(job.profilePath));
		await orWriteError(writeFile(job.profilePath, `${JSON.stringify(nodes, null, "\t")}\n`), job.profilePath);
		const { info, times } = countedLayers(nodes, job.engine.model.onnx.graph);
		return { state: "done", layers: { ...joinLayers(times, info), unit: "M instructions" }, info, times };
	} catch (error) {
		return { state: "failed", failure: asFailure(error) };
	}
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

// Sends golden cases through an engine in one worker process.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Tensor, tensorBytes } from "../../core/golden/tensor/tensor.ts";
import { explainRun } from "../../formats/onnxruntime/failures.ts";
import type { InferCase, InferJob, InferResult, InferredCase } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { orFailure } from "../process/failure.ts";
import { inNewFolder, makeFolders, orWriteError } from "../process/write-error.ts";
import { externalOf, type OnnxRuntimeContext } from "./build.ts";
import { refusedRun } from "./count.ts";
import { type CaseReply, caseLine, type TensorPlace } from "./protocol.ts";
import { drawsRandomly } from "./worker-hosts.ts";
import { badOutput, runWorker } from "./worker-process.ts";

export async function inferCases(job: InferJob, context: OnnxRuntimeContext): Promise<InferResult> {
	return orFailure(async () => {
		await makeFolders(job.scratchFolder);
		return inNewFolder("tensors-", (folder) => inferIn(folder, job, context), job.scratchFolder);
	});
}

async function inferIn(folder: string, job: InferJob, context: OnnxRuntimeContext): Promise<InferResult> {
	const cases: { inputs: TensorPlace[] }[] = [];
	for (const [index, item] of job.cases.entries())
		cases.push({ inputs: await writeInputs(item, folder, index) });
	const { flavour, folder: runtimeFolder } = context.runtime;
	const engine = {
		flavour,
		folder: runtimeFolder,
		modelPath: job.engine.path,
		external: externalOf(job.engine),
		threads: job.threads,
	};
	const result = await runWorker<"infer">(
		{ kind: "infer", ...engine, cases, outputFolder: folder },
		context.place,
		{
			logPath: job.logPath,
			timeoutMs: job.timeoutMs,
			onLine: (line) => countCase(line, job),
			isAlone: drawsRandomly(job.engine.model.onnx),
		},
	);
	const { wallMs } = result;
	if (result.state === "failed") return { state: "failed", failure: result.failure, wallMs };
	if (result.state === "refused") return { state: "failed", failure: refusedRun(result), wallMs };
	if (result.reply.cases.length !== job.cases.length) {
		return {
			state: "failed",
			failure: badOutput(`${result.reply.cases.length} of ${job.cases.length} cases have a result`, job),
			wallMs,
		};
	}
	return readCases(job, { folder, replies: result.reply.cases, wallMs });
}

function countCase(line: string, job: InferJob): void {
	if (line.startsWith(caseLine)) job.onCase?.(Number(line.slice(caseLine.length)));
}

/** Files are numbered: tensor names come from users. */
export async function writeInputs(item: InferCase, folder: string, index: number): Promise<TensorPlace[]> {
	const places: TensorPlace[] = [];
	for (const [k, [name, tensor]] of Object.entries(item.inputs).entries()) {
		const path = join(folder, `in-${index}-${k}.bin`);
		await orWriteError(writeFile(path, tensor.data), path);
		places.push({ name, dtype: tensor.dtype, shape: tensor.shape, path });
	}
	return places;
}

async function readCases(
	job: InferJob,
	from: { folder: string; replies: readonly CaseReply[]; wallMs: number },
): Promise<InferResult> {
	const cases: InferredCase[] = [];
	for (const [index, reply] of from.replies.entries()) {
		const id = job.cases[index]?.id ?? String(index);
		if (reply.state === "failed") cases.push({ id, state: "failed", message: explainRun(reply.message) });
		else {
			const outputs = await readOutputs(reply.outputs, from.folder, job);
			if ("code" in outputs) return { state: "failed", failure: outputs as ToolFailure, wallMs: from.wallMs };
			cases.push({ id, state: "done", outputs: outputs.tensors });
		}
	}
	return { state: "done", cases, wallMs: from.wallMs };
}

/** An output may be named `__proto__`. */
export async function readOutputs(
	places: readonly TensorPlace[],
	folder: string,
	job: Pick<InferJob, "logPath">,
): Promise<{ tensors: Record<string, Tensor> } | ToolFailure> {
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const { name, dtype, shape, path } of places) {
		const data = await readFile(join(folder, path)).catch(() => null);
		if (data === null) return badOutput(`output ${name} has no file`, job);
		const expected = tensorBytes({ dtype, shape });
		if (data.length !== expected)
			return badOutput(`output ${name} has ${data.length} bytes, expected ${expected}`, job);
		// A copy of its own: views of other types need an aligned start.
		tensors[name] = { dtype, shape, data: new Uint8Array(data) };
	}
	return { tensors };
}

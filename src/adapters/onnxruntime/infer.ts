// Sends cases through a model in one worker process: golden cases through an engine, or through the reference.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { explainRun } from "../../formats/onnxruntime/failures.ts";
import { type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import type { InferCase, InferJob, InferResult, InferredCase } from "../../ports/backend.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { orFailure } from "../process/failure.ts";
import { inNewFolder, makeFolders, orWriteError } from "../process/write-error.ts";
import { externalOf } from "./model-files.ts";
import { type CaseReply, caseLine, caseReplyName, parseCaseReply, type TensorPlace } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";
import { badOutput, drawsRandomly, runWorker, type TaskOf, type WorkerPlace } from "./worker-process.ts";

export function inferCases(
	job: InferJob,
	{ flavour, folder }: Runtime,
	place: WorkerPlace,
): Promise<InferResult> {
	const { engine, threads } = job;
	const task = { flavour, folder, modelPath: engine.path, external: externalOf(engine.model), threads };
	return inFolder(job, (scratch) => runCases({ ...job, model: engine.model, task }, scratch, place));
}

/** Runs in a folder of its own, which is gone afterwards; faults of the machine come back as values. */
export async function inFolder<Result>(
	{ scratchFolder }: { scratchFolder: string },
	work: (folder: string) => Promise<Result>,
): ReturnType<typeof orFailure<Result>> {
	await makeFolders(scratchFolder);
	return orFailure(() => inNewFolder("tensors-", work, scratchFolder));
}

interface CasesJob {
	cases: readonly InferCase[];
	model: ModelOnDisk;
	task: Omit<TaskOf<"infer">, "kind" | "cases" | "outputFolder">;
	logPath: string;
	timeoutMs: number;
	onCase?(done: number): void;
}

/** @throws ToolError tool-output if the worker's reply and its files do not fit the cases. */
export async function runCases(job: CasesJob, folder: string, place: WorkerPlace): Promise<InferResult> {
	const { task, logPath, timeoutMs, onCase } = job;
	const { sequence } = job.model;
	const mayStop = task.resumes !== undefined;
	let done = 0;
	const cases = await placeCases(job.cases, folder);
	const request = { kind: "infer", ...task, sequence, cases, outputFolder: folder } as const;
	const result = await runWorker<"infer">(request, place, {
		logPath,
		timeoutMs,
		onLine: (line) => {
			if (!line.startsWith(caseLine)) return;
			done = Number(line.slice(caseLine.length));
			onCase?.(done);
		},
		isAlone: drawsRandomly(job.model.onnx),
	});
	const { wallMs } = result;
	const isLate = result.state === "failed" && result.failure.code === "tool-timeout";
	if (result.state === "failed" && !(isLate && mayStop && done > 0))
		return { state: "failed", failure: result.failure, wallMs };
	const replies = result.state === "done" ? result.reply.cases : await readReplies(folder, done);
	if (replies.length !== cases.length && task.stopAtFirst !== true && !mayStop)
		throw badOutput(`${replies.length} of ${cases.length} cases have a result`, job);
	const inferred: InferredCase[] = [];
	for (const [index, reply] of replies.entries())
		inferred.push(await readCase(job.cases[index]?.id ?? String(index), reply, folder, job));
	return { state: "done", cases: inferred, wallMs };
}

async function readReplies(folder: string, done: number) {
	const replies: CaseReply[] = [];
	for (let index = 0; index < done; index += 1) {
		const reply = parseCaseReply(await readFile(join(folder, caseReplyName(index)), "utf8").catch(() => ""));
		if (reply === null) break;
		replies.push(reply);
	}
	return replies;
}

export async function placeCases(cases: readonly InferCase[], folder: string) {
	const placed: { inputs: TensorPlace[] }[] = [];
	for (const [index, { inputs }] of cases.entries())
		placed.push({ inputs: await writeTensors(inputs, folder, `in-${index}`) });
	return placed;
}

/** Files are numbered: tensor names come from users. */
export async function writeTensors(
	tensors: Readonly<Record<string, Tensor>>,
	folder: string,
	prefix: string,
): Promise<TensorPlace[]> {
	const places: TensorPlace[] = [];
	for (const [k, [name, { dtype, shape, data }]] of Object.entries(tensors).entries()) {
		const path = join(folder, `${prefix}-${k}.bin`);
		await orWriteError(writeFile(path, data), path);
		places.push({ name, dtype, shape, path });
	}
	return places;
}

async function readCase(
	id: string,
	reply: CaseReply,
	folder: string,
	job: { logPath: string },
): Promise<InferredCase> {
	if (reply.state === "failed") return { id, state: "failed", message: explainRun(reply.message) };
	// An output may be named `__proto__`.
	const outputs: Record<string, Tensor> = Object.create(null);
	for (const { name, dtype, shape, path } of reply.outputs) {
		const data = await readFile(join(folder, path)).catch(() => null);
		const expected = tensorBytes({ dtype, shape });
		if (data?.length !== expected)
			throw badOutput(`output ${name} has ${data?.length ?? "no"} bytes, expected ${expected}`, job);
		// A copy of its own: views of other types need an aligned start.
		outputs[name] = { dtype, shape, data: new Uint8Array(data) };
	}
	return { id, state: "done", outputs };
}

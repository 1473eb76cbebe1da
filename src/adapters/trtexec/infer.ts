// Sends golden cases through an engine: in TensorRT's Python API where that is here, else one trtexec process for each case.
import { appendFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { feeds } from "../../core/onnx/model.ts";
import { parseVersionText } from "../../formats/trtexec/banner.ts";
import { clashingDumpNames } from "../../formats/trtexec/output-dump.ts";
import type { InferJob, InferResult, InferredCase } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { makeFolders } from "../process/folder.ts";
import type { GoldenWorker, TrtexecContext } from "./context.ts";
import { asFailure } from "./failure.ts";
import { type CaseRun, inferCase } from "./infer-case.ts";

/** Processes at once: a case takes 0.34 s alone and 0.18 s with company, most of it start-up. */
const atOnce = 4;

export async function inferCases(job: InferJob, context: TrtexecContext): Promise<InferResult> {
	// The Python worker loads no plan of a DLA.
	const worker = job.engine.spec.engine.tensorrt.dla === undefined ? await usableWorker(context) : null;
	if (worker !== null) {
		const { engine, cases, timeoutMs, logPath, onCase } = job;
		const request = {
			enginePath: engine.path,
			cases,
			device: context.device,
			plugins: (engine.assets?.plugins ?? []).map(({ path }) => path),
			timeoutMs,
			logPath,
		};
		const result = await worker.infer({ ...request, ...(onCase === undefined ? {} : { onCase: (done: number) => onCase(done) }) });
		if (result.state === "done" || result.failure.code !== "tool-missing") return result;
		context.note(`Golden cases ran in trtexec, one process each: ${result.failure.message}`);
	}
	return inferByTrtexec(job, context);
}

/** One probe for each run of ours; a worker of another TensorRT could not load the plans. */
async function usableWorker(context: TrtexecContext): Promise<GoldenWorker | null> {
	context.workerChoice ??= chooseWorker(context);
	return context.workerChoice;
}

async function chooseWorker({ worker, trtexec, note }: TrtexecContext): Promise<GoldenWorker | null> {
	const inTrtexec = (why: string): null => {
		note(`Golden cases ran in trtexec, one process each: ${why.replace(/\.$/, "")}.`);
		return null;
	};
	if (worker === null) return inTrtexec("no Python worker is set up");
	const probed = await worker.probe();
	if ("absent" in probed) return inTrtexec(probed.absent);
	const version = parseVersionText(probed.tensorrt);
	if (version?.text !== trtexec.version.text) {
		return inTrtexec(`Python has TensorRT ${probed.tensorrt}, trtexec is ${trtexec.version.text}`);
	}
	note(`Golden cases ran in TensorRT's Python API (${probed.tensorrt}).`);
	return worker;
}

async function inferByTrtexec(job: InferJob, context: TrtexecContext): Promise<InferResult> {
	const started = performance.now();
	const clash = clashOf(job);
	if (clash !== null) return { state: "failed", failure: clash, wallMs: 0 };
	const folder = join(job.scratchFolder, "cases");
	try {
		await makeFolders(folder);
		await rm(job.logPath, { force: true });
		const answers = await runAll(job, { folder, context });
		const wallMs = performance.now() - started;
		const broken = answers.find((answer) => answer?.state === "broken");
		if (broken?.state === "broken") return { state: "failed", failure: broken.failure, wallMs };
		return { state: "done", cases: answers.flatMap((answer) => (answer?.state === "answered" ? [answer.inferred] : [])), wallMs };
	} catch (error) {
		return { state: "failed", failure: asFailure(error), wallMs: performance.now() - started };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

/** Two tensors whose names become one would overwrite each other's file. */
function clashOf(job: InferJob): ToolFailure | null {
	const { graph } = job.engine.model.onnx;
	const names = [graph.outputs.map(({ name }) => name), feeds(graph).map(({ name }) => name)];
	const [group] = names.flatMap(clashingDumpNames);
	if (group === undefined) return null;
	return {
		code: "tool-output",
		message: `trtexec writes the tensors ${group.map((name) => JSON.stringify(name)).join(" and ")} to one file, so neither can be read.`,
		details: { fix: "Install TensorRT's Python package, which needs no files, or rename one of them in the ONNX file." },
	};
}

/** A few at once; the first fault of the machine stops the rest. */
async function runAll(job: InferJob, how: { folder: string; context: TrtexecContext }): Promise<(CaseRun | undefined)[]> {
	const answers: (CaseRun | undefined)[] = new Array(job.cases.length).fill(undefined);
	let next = 0;
	let done = 0;
	let broken = false;
	const work = async (): Promise<void> => {
		while (next < job.cases.length && !broken) {
			const index = next;
			next += 1;
			answers[index] = await runOne(index, job, how);
			broken ||= answers[index]?.state === "broken";
			done += 1;
			job.onCase?.(done);
		}
	};
	await Promise.all(Array.from({ length: Math.min(atOnce, job.cases.length) }, work));
	return answers;
}

async function runOne(index: number, job: InferJob, { folder, context }: { folder: string; context: TrtexecContext }): Promise<CaseRun> {
	const item = job.cases[index];
	if (item === undefined)
		return { state: "answered", inferred: { id: "", state: "failed", message: "no such case" } satisfies InferredCase };
	const own = join(folder, `case${index}`);
	await makeFolders(own);
	const logPath = join(folder, `case${index}.log`);
	const answer = await inferCase(item, { job, folder: own, logPath }, context);
	await appendFile(job.logPath, await readFile(logPath).catch(() => ""));
	await rm(own, { recursive: true, force: true });
	return answer;
}

// ONNX Runtime as the maker of goldens: runs a model file as it is, in any build, level and thread count, and with defects.
import { availableParallelism, cpus, platform, release } from "node:os";
import { join } from "node:path";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { explainRun } from "../../formats/onnxruntime/failures.ts";
import type { InferResult, InferredCase } from "../../ports/backend.ts";
import type { Reference, ReferenceJob } from "../../ports/reference.ts";
import type { ModelOnDisk, ToolFailure } from "../../ports/world.ts";
import type { OnnxRuntimeOptions } from "./backend.ts";
import { refusedRun } from "./count.ts";
import { tryDefects } from "./defects.ts";
import { runEmulation } from "./emulate.ts";
import { readOutputs } from "./infer.ts";
import { markOutputs } from "./mark-outputs.ts";
import { type Copy, copyNudged } from "./model-copy.ts";
import type { CaseReply } from "./protocol.ts";
import { inFolder, placeCases, type ReferenceContext, runtimeJob } from "./reference-job.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";
import { drawsRandomly } from "./worker-hosts.ts";
import { badOutput, runWorker } from "./worker-process.ts";

export function onnxRuntimeReference(options: OnnxRuntimeOptions): Omit<Reference, "weights"> {
	const known = new Map<string, Promise<Runtime>>();
	const runtimeOf = (flavour: "auto" | "wasm" | "native"): Promise<Runtime> => {
		const runtime = known.get(flavour) ?? chooseRuntime({ ...options, flavour });
		known.set(flavour, runtime);
		return runtime;
	};
	return {
		builds: () => findBuilds(options.flavour, runtimeOf),
		machine: () => ({
			device: options.cpuName ?? (cpus()[0]?.model.trim() || "unknown CPU"),
			os: `${platform()} ${release()}`,
		}),
		run: async (job) => runReference(job, { options, runtime: await runtimeOf(job.variant.flavour) }),
		emulate: async (job) =>
			runEmulation(job, async (rounded) =>
				runReference(rounded, { options, runtime: await runtimeOf(job.variant.flavour) }),
			),
		mark: markOutputs,
		tryDefects: async (job) => tryDefects(job, { options, runtime: await runtimeOf(job.variant.flavour) }),
		parallelRuns,
	};
}

/** WebAssembly first: it gives the same bits on every machine. Native where it is requested. */
async function findBuilds(
	wanted: OnnxRuntimeOptions["flavour"],
	runtimeOf: (flavour: "auto" | "wasm" | "native") => Promise<Runtime>,
) {
	const runtimes: Runtime[] = [];
	if (wanted === "native") runtimes.push(await runtimeOf("native"));
	runtimes.push(await runtimeOf("wasm"));
	if (wanted === "auto") {
		const found = await runtimeOf("auto");
		if (found.flavour === "native") runtimes.push(found);
	}
	return runtimes.map(({ flavour, version }) => ({ flavour, version }));
}

const mostModelBytes = 2 ** 31;
const mostRuns = 16;

function parallelRuns({ onnx, external }: ModelOnDisk): number {
	const bytes = external.reduce((sum, { neededBytes }) => sum + neededBytes, onnx.bytes);
	return Math.max(
		1,
		Math.min(availableParallelism(), mostRuns, Math.floor(mostModelBytes / Math.max(1, bytes))),
	);
}

async function runReference(job: ReferenceJob, context: ReferenceContext): Promise<InferResult> {
	return inFolder(job, async (folder) => {
		const { variant, stopAtFirst } = job;
		const source = await modelOf(job, folder);
		const engine = { ...runtimeJob(job, context), modelPath: source.path, external: source.external };
		const task = {
			kind: "infer",
			...engine,
			level: variant.level,
			cases: await placeCases(job.cases, folder),
			outputFolder: folder,
			stopAtFirst,
		} as const;
		const result = await runWorker<"infer">(task, context.options, {
			logPath: job.logPath,
			timeoutMs: job.timeoutMs,
			isAlone: drawsRandomly(job.model.onnx),
		});
		const { wallMs } = result;
		if (result.state !== "done")
			return {
				state: "failed",
				failure: result.state === "failed" ? result.failure : refusedRun(result),
				wallMs,
			};
		const cases = await readReplies(result.reply.cases, folder, job);
		return "code" in cases ? { state: "failed", failure: cases, wallMs } : { state: "done", cases, wallMs };
	});
}

async function readReplies(
	replies: readonly CaseReply[],
	folder: string,
	job: ReferenceJob,
): Promise<InferredCase[] | ToolFailure> {
	const inferred: InferredCase[] = [];
	for (const [index, { id }] of job.cases.entries()) {
		if (job.stopAtFirst === true && index >= replies.length) break;
		const read = await readReply(replies[index], { folder, id, job });
		if ("code" in read) return read;
		inferred.push(read);
	}
	return inferred;
}

async function modelOf({ model, nudged }: ReferenceJob, folder: string): Promise<Copy> {
	if (nudged !== undefined) return copyNudged(model, nudged, join(folder, "model"));
	return {
		path: model.path,
		external: model.external.filter((file) => file.path !== null).map(({ location }) => location),
	};
}

interface Reading {
	folder: string;
	id: string;
	job: ReferenceJob;
}

async function readReply(
	reply: CaseReply | undefined,
	{ folder, id, job }: Reading,
): Promise<InferredCase | ToolFailure> {
	if (reply === undefined) return badOutput(`case ${id} has no result`, job);
	if (reply.state === "failed") return { id, state: "failed", message: explainRun(reply.message) };
	const outputs: { tensors: Record<string, Tensor> } | ToolFailure = await readOutputs(
		reply.outputs,
		folder,
		job,
	);
	return "code" in outputs ? (outputs as ToolFailure) : { id, state: "done", outputs: outputs.tensors };
}

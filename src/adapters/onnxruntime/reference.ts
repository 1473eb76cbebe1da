// ONNX Runtime as the maker of goldens: runs a model file as it is, in any build, level and thread count, and with defects.
import { availableParallelism, cpus, platform, release } from "node:os";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { explainRun } from "../../formats/onnxruntime/failures.ts";
import type { InferResult, InferredCase } from "../../ports/backend.ts";
import type { Reference, ReferenceJob } from "../../ports/reference.ts";
import type { ModelOnDisk, ToolFailure } from "../../ports/world.ts";
import type { OnnxRuntimeOptions } from "./backend.ts";
import { tryDefects } from "./defects.ts";
import { runEmulation } from "./emulate.ts";
import { readOutputs } from "./infer.ts";
import { refusedRun } from "./measure.ts";
import type { CaseReply } from "./protocol.ts";
import { inFolder, placeCases, type ReferenceContext, runtimeJob } from "./reference-job.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";
import { badOutput, runWorker } from "./worker-process.ts";

export function onnxRuntimeReference(options: OnnxRuntimeOptions): Omit<Reference, "weights"> {
	const nativeFolders = [...(options.nativeFolder === undefined ? [] : [options.nativeFolder]), options.cwd ?? process.cwd()];
	const known = new Map<string, Promise<Runtime>>();
	const runtimeOf = (flavour: "auto" | "wasm" | "native"): Promise<Runtime> => {
		const runtime = known.get(flavour) ?? chooseRuntime({ ...options, flavour, nativeFolders });
		known.set(flavour, runtime);
		return runtime;
	};
	return {
		builds: () => findBuilds(options.flavour, runtimeOf),
		machine: () => ({ device: options.cpuName ?? (cpus()[0]?.model.trim() || "unknown CPU"), os: `${platform()} ${release()}` }),
		run: async (job) => runReference(job, { options, runtime: await runtimeOf(job.variant.flavour) }),
		emulate: async (job) =>
			runEmulation(job, async (rounded) => runReference(rounded, { options, runtime: await runtimeOf(job.variant.flavour) })),
		tryDefects: async (job) => tryDefects(job, { options, runtime: await runtimeOf(job.variant.flavour) }),
		parallelRuns,
	};
}

/** WebAssembly first: it gives the same bits on every machine. Native where it is installed or requested. */
async function findBuilds(wanted: OnnxRuntimeOptions["flavour"], runtimeOf: (flavour: "auto" | "wasm" | "native") => Promise<Runtime>) {
	const runtimes: Runtime[] = [];
	if (wanted === "native") runtimes.push(await runtimeOf("native"));
	runtimes.push(await runtimeOf("wasm"));
	if (wanted === "auto") {
		const found = await runtimeOf("auto");
		if (found.flavour === "native") runtimes.push(found);
	}
	return runtimes.map(({ flavour, version }) => ({ flavour, version }));
}

/** Copies of a model that are in memory at once. */
const mostModelBytes = 2 ** 31;
const mostRuns = 16;

function parallelRuns({ onnx, external }: ModelOnDisk): number {
	const bytes = external.reduce((sum, { neededBytes }) => sum + neededBytes, onnx.bytes);
	return Math.max(1, Math.min(availableParallelism(), mostRuns, Math.floor(mostModelBytes / Math.max(1, bytes))));
}

async function runReference(job: ReferenceJob, context: ReferenceContext): Promise<InferResult> {
	return inFolder(job, async (folder) => {
		const { level } = job.variant;
		const external = job.model.external.filter((file) => file.path !== null).map((file) => file.location);
		const engine = { ...runtimeJob(job, context), modelPath: job.model.path, external };
		const cases = await placeCases(job.cases, folder);
		const { stopAtFirst } = job;
		const task = {
			kind: "infer",
			...engine,
			level,
			cases,
			outputFolder: folder,
			...(stopAtFirst === undefined ? {} : { stopAtFirst }),
		} as const;
		const result = await runWorker<"infer">(task, context.options, job);
		const { wallMs } = result;
		if (result.state === "failed") return { state: "failed", failure: result.failure, wallMs };
		if (result.state === "refused") return { state: "failed", failure: refusedRun(result), wallMs };
		const inferred: InferredCase[] = [];
		for (const [index, item] of job.cases.entries()) {
			if (stopAtFirst === true && index >= result.reply.cases.length) break;
			const read = await readReply(result.reply.cases[index], { folder, id: item.id, job });
			if ("code" in read) return { state: "failed", failure: read, wallMs };
			inferred.push(read);
		}
		return { state: "done", cases: inferred, wallMs };
	});
}

interface Reading {
	folder: string;
	id: string;
	job: ReferenceJob;
}

async function readReply(reply: CaseReply | undefined, { folder, id, job }: Reading): Promise<InferredCase | ToolFailure> {
	if (reply === undefined) return badOutput(`case ${id} did not come back`, job);
	if (reply.state === "failed") return { id, state: "failed", message: explainRun(reply.message) };
	const outputs: { tensors: Record<string, Tensor> } | ToolFailure = await readOutputs(reply.outputs, folder, job);
	return "code" in outputs ? (outputs as ToolFailure) : { id, state: "done", outputs: outputs.tensors };
}

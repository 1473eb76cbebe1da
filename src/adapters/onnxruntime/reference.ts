// ONNX Runtime as the source of goldens: runs a model file as it is, in any build, level and thread count, and with defects.
import { availableParallelism, platform, release } from "node:os";
import type { InferResult } from "../../ports/backend.ts";
import type { Reference, ReferenceJob } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { cpuName, type OnnxRuntimeOptions } from "./backend.ts";
import { tryDefects } from "./defects.ts";
import { runEmulation } from "./emulate.ts";
import { inFolder, runCases } from "./infer.ts";
import { externalOf, markOutputs } from "./model-files.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";

export function onnxRuntimeReference(options: OnnxRuntimeOptions): Omit<Reference, "weights"> {
	const known = new Map<string, Promise<Runtime>>();
	const runtimeOf = (flavour: OnnxRuntimeOptions["flavour"]) => {
		const runtime = known.get(flavour) ?? chooseRuntime({ ...options, flavour });
		known.set(flavour, runtime);
		return runtime;
	};
	const run = async (job: ReferenceJob) => runReference(job, await runtimeOf(job.variant.flavour), options);
	return {
		builds: () => findBuilds(options.flavour, runtimeOf),
		machine: () => ({ device: cpuName(options), os: `${platform()} ${release()}` }),
		run,
		emulate: (job) => runEmulation(job, run),
		mark: markOutputs,
		tryDefects: async (job) => tryDefects(job, await runtimeOf(job.variant.flavour), options),
		parallelRuns,
	};
}

/** WebAssembly first: it gives the same bits on every machine. Native if it is requested. */
async function findBuilds(
	wanted: OnnxRuntimeOptions["flavour"],
	runtimeOf: (flavour: OnnxRuntimeOptions["flavour"]) => Promise<Runtime>,
) {
	const runtimes: Runtime[] = [];
	if (wanted === "native") runtimes.push(await runtimeOf("native"));
	runtimes.push(await runtimeOf("wasm"));
	const found = wanted === "auto" ? await runtimeOf("auto") : null;
	if (found?.flavour === "native") runtimes.push(found);
	return runtimes.map(({ flavour, version }) => ({ flavour, version }));
}

/** Copies of a model that are in memory at once. */
const mostModelBytes = 2 ** 31;
const mostRuns = 16;

function parallelRuns({ onnx, external }: ModelOnDisk): number {
	const bytes = external.reduce((sum, { neededBytes }) => sum + neededBytes, onnx.bytes);
	const fitting = Math.floor(mostModelBytes / Math.max(1, bytes));
	return Math.max(1, Math.min(availableParallelism(), mostRuns, fitting));
}

function runReference(
	job: ReferenceJob,
	runtime: Runtime,
	options: OnnxRuntimeOptions,
): Promise<InferResult> {
	const { model, stopAtFirst, variant } = job;
	const { level, threads } = variant;
	const { flavour, folder } = runtime;
	const place = { modelPath: model.path, external: externalOf(model) };
	const task = { flavour, folder, ...place, threads, level, stopAtFirst };
	return inFolder(job, (scratch) => runCases({ ...job, task }, scratch, options));
}

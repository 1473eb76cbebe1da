// ONNX Runtime as the source of goldens: runs a model file as it is, in any build, level and thread count, and with defects.
import { availableParallelism, platform, release } from "node:os";
import type { InferResult } from "../../ports/backend.ts";
import type { OtherBuild, Reference, ReferenceJob } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { cpuName, type OnnxRuntimeOptions } from "./backend.ts";
import { tryDefects } from "./defects.ts";
import { runEmulation } from "./emulate.ts";
import { inFolder, runCases } from "./infer.ts";
import { type KeptCases, resumeCases } from "./kept-cases.ts";
import { externalOf, markOutputs } from "./model-files.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";

export interface ReferenceOptions extends OnnxRuntimeOptions {
	/** Absent: nothing is kept for later runs. */
	kept?: KeptCases;
}

export function onnxRuntimeReference(options: ReferenceOptions): Omit<Reference, "weights"> {
	const known = new Map<string, Promise<Runtime>>();
	const runtimeOf = (flavour: OnnxRuntimeOptions["flavour"]) => {
		const runtime = known.get(flavour) ?? chooseRuntime({ ...options, flavour });
		known.set(flavour, runtime);
		return runtime;
	};
	const run = async (job: ReferenceJob) => {
		const runtime = await runtimeOf(job.variant.flavour);
		const runOpen = (open: ReferenceJob) => runReference(open, runtime, options);
		const { kept } = options;
		return job.resumes && kept ? resumeCases(job, runtime, kept, runOpen) : runOpen(job);
	};
	return {
		builds: () => findBuilds(options.flavour, runtimeOf),
		otherBuild: (timeoutMs) =>
			findOther({ ...options, timeoutMs }, runtimeOf, (found) => known.set("native", found)),
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

/** Native is installed for it, unless a build was chosen. */
async function findOther(
	options: OnnxRuntimeOptions & { timeoutMs: number },
	runtimeOf: (flavour: OnnxRuntimeOptions["flavour"]) => Promise<Runtime>,
	keep: (native: Promise<Runtime>) => void,
): Promise<OtherBuild> {
	const { flavour, nativeFolder, timeoutMs } = options;
	if (flavour === "wasm") return { why: "`--onnxruntime wasm` leaves it out", isLate: false };
	const started = performance.now();
	try {
		if (flavour === "native") return await runtimeOf("wasm");
		if (nativeFolder !== undefined) return await runtimeOf("auto");
		const native = await chooseRuntime({ ...options, flavour: "native", onNative: undefined });
		keep(Promise.resolve(native));
		return native;
	} catch (error) {
		const why = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
		return { why, isLate: performance.now() - started >= timeoutMs };
	}
}

/** Copies of a model that are in memory at once. */
const mostModelBytes = 2 ** 31;
const mostRuns = 16;

function parallelRuns({ onnx, external }: ModelOnDisk) {
	const bytes = external.reduce((sum, { neededBytes }) => sum + neededBytes, onnx.bytes);
	const fitting = Math.floor(mostModelBytes / Math.max(1, bytes));
	return Math.max(1, Math.min(availableParallelism(), mostRuns, fitting));
}

function runReference(
	job: ReferenceJob,
	runtime: Runtime,
	options: OnnxRuntimeOptions,
): Promise<InferResult> {
	const { model, stopAtFirst, resumes, variant } = job;
	const { level, threads } = variant;
	const { flavour, folder } = runtime;
	const place = { modelPath: model.path, external: externalOf(model) };
	const task = { flavour, folder, ...place, threads, level, stopAtFirst, resumes };
	return inFolder(job, (scratch) => runCases({ ...job, task }, scratch, options));
}

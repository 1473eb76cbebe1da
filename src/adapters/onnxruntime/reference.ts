// ONNX Runtime as the maker of goldens: runs a model file as it is, in any build, level and thread count, and with defects.
import { availableParallelism, platform, release } from "node:os";
import { join } from "node:path";
import type { InferResult } from "../../ports/backend.ts";
import type { Reference, ReferenceJob } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { cpuName, type OnnxRuntimeOptions } from "./backend.ts";
import { tryDefects } from "./defects.ts";
import { runEmulation } from "./emulate.ts";
import { inFolder, runCases } from "./infer.ts";
import { copyNudged, externalOf, markOutputs } from "./model-files.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";

export function onnxRuntimeReference(options: OnnxRuntimeOptions): Omit<Reference, "weights"> {
	const known = new Map<string, Promise<Runtime>>();
	const runtimeOf = (flavour: OnnxRuntimeOptions["flavour"]): Promise<Runtime> => {
		const runtime = known.get(flavour) ?? chooseRuntime({ ...options, flavour });
		known.set(flavour, runtime);
		return runtime;
	};
	const run = async ({ nudged, stopAtFirst, variant, ...job }: ReferenceJob): Promise<InferResult> => {
		const { flavour, folder } = await runtimeOf(variant.flavour);
		return inFolder(job, async (scratch) => {
			const { path, external } =
				nudged === undefined
					? { path: job.model.path, external: externalOf(job.model) }
					: await copyNudged(job.model, nudged, join(scratch, "model"));
			const { level, threads } = variant;
			const task = { flavour, folder, modelPath: path, external, threads, level, stopAtFirst };
			return runCases({ ...job, task }, scratch, options);
		});
	};
	return {
		/** WebAssembly first: it gives the same bits on every machine. Native before it where it is requested. */
		async builds() {
			const { flavour: wanted } = options;
			const found = await runtimeOf(wanted);
			const wasm = await runtimeOf("wasm");
			const runtimes =
				found.flavour === "wasm" ? [wasm] : wanted === "native" ? [found, wasm] : [wasm, found];
			return runtimes.map(({ flavour, version }) => ({ flavour, version }));
		},
		machine: () => ({ device: cpuName(options), os: `${platform()} ${release()}` }),
		run,
		emulate: (job) => runEmulation(job, run),
		mark: markOutputs,
		tryDefects: async (job) => tryDefects(job, await runtimeOf(job.variant.flavour), options),
		parallelRuns,
	};
}

/** Copies of a model that are in memory at once. */
const mostModelBytes = 2 ** 31;
const mostRuns = 16;

function parallelRuns({ onnx, external }: ModelOnDisk): number {
	const bytes = external.reduce((sum, { neededBytes }) => sum + neededBytes, onnx.bytes);
	const fitting = Math.floor(mostModelBytes / Math.max(1, bytes));
	return Math.max(1, Math.min(availableParallelism(), mostRuns, fitting));
}

// The backend of machines without a GPU: ONNX Runtime on the CPU, in worker processes.
import { writeFile } from "node:fs/promises";
import { arch, availableParallelism, cpus, platform } from "node:os";
import { dirname, join } from "node:path";
import type { BuildRecord } from "../../../generated/result.ts";
import { asFailure, BugError } from "../../core/errors.ts";
import { describeBuild } from "../../core/plan/plan.ts";
import { joinLayers } from "../../engine/core/explain/layers.ts";
import { createWarningCounter, diagnoseOrt } from "../../formats/onnxruntime/failures.ts";
import { byOperator, countedLayers } from "../../formats/onnxruntime/profile.ts";
import type { Backend, BuildJob, CountJob, CountResult } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { orFailure, runnerFailure } from "../process/failure.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import { inferCases } from "./infer.ts";
import { externalOf, placeModel } from "./model-files.ts";
import { chooseRuntime, type Runtime, type RuntimeChoice } from "./runtime.ts";
import { runWorker, type WorkerPlace } from "./worker-process.ts";

export interface OnnxRuntimeOptions extends RuntimeChoice, WorkerPlace {
	threads: number;
	cpuName?: string;
}

const uncounted =
	"Native ONNX Runtime does not count its instructions, so its work is not compared; `onnxruntime: wasm` does.";

export function onnxRuntimeBackend(options: OnnxRuntimeOptions): Backend {
	const { threads } = options;
	const notes: string[] = [];
	let found: Promise<Runtime> | null = null;
	const runtime = () => {
		// Only WebAssembly counts its work.
		const flavour = options.flavour === "native" ? "native" : "wasm";
		found ??= chooseRuntime({ ...options, flavour, onNative: (note) => notes.push(note) });
		return found;
	};
	return {
		async facts() {
			const { flavour, version } = await runtime();
			return {
				kind: "onnxruntime",
				name: flavour === "wasm" ? "ONNX Runtime (WebAssembly)" : "ONNX Runtime (native)",
				version,
				device: cpuName(options),
				caveat: "CPU, not TensorRT",
			};
		},
		async fingerprint() {
			const { flavour, version } = await runtime();
			return {
				os: platform(),
				arch: arch(),
				cpu: cpuName(options),
				cores: String(availableParallelism()),
				onnxruntime: `${version} ${flavour}`,
				node: process.versions.node.split(".")[0] ?? "",
				threads: String(threads),
			};
		},
		build: async (job) => buildEngine(job, await runtime(), options),
		infer: async (job) => inferCases(job, await runtime(), options),
		measure: () =>
			Promise.reject(
				new BugError({ code: "internal", message: "ONNX Runtime's work is counted, not timed." }),
			),
		count: async (job) => countWork(job, await runtime(), options),
		notes: () => notes,
		async profile(job) {
			const chosen = await runtime();
			if (chosen.flavour === "native") return { state: "absent" };
			const { logPath, timeoutMs, profilePath, engine } = job;
			const task = { kind: "profile", level: "all", ...countedOn(chosen, job) } as const;
			return orFailure(async () => {
				const counted = await runWorker<"profile">(task, options, { logPath, timeoutMs });
				if (counted.state === "failed") return { state: "failed", failure: counted.failure };
				const { nodes } = counted.reply;
				await makeFolders(dirname(profilePath));
				await orWriteError(writeFile(profilePath, `${JSON.stringify(nodes, null, "\t")}\n`), profilePath);
				const { info, times } = countedLayers(nodes, engine.model.onnx.graph);
				return { state: "done", layers: { ...joinLayers(times, info), unit: "M instructions" }, info, times };
			});
		},
	};
}

async function countWork(job: CountJob, runtime: Runtime, place: WorkerPlace): Promise<CountResult> {
	if (runtime.flavour === "native") return { state: "absent", reason: uncounted };
	const { level } = job;
	const model = countedOn(runtime, job);
	return orFailure(async () => {
		if (level === undefined) {
			const counted = await runWorker<"count">({ kind: "count", ...model }, place, job);
			if (counted.state === "failed") return { state: "failed", failure: counted.failure };
			const { kind: _, ...work } = counted.reply;
			return { state: "counted", ...work };
		}
		const profiled = await runWorker<"profile">({ kind: "profile", level, ...model }, place, job);
		if (profiled.state === "failed") return { state: "failed", failure: profiled.failure };
		return { state: "split", operators: byOperator(profiled.reply.nodes) };
	});
}

/** Uses one thread, because how several share the work depends on the machine. */
function countedOn({ flavour, folder }: Runtime, { engine, inputs, seed }: CountJob) {
	return {
		flavour,
		folder,
		modelPath: engine.path,
		external: externalOf(engine.model),
		threads: 1,
		inputs,
		seed,
	};
}

export function cpuName(options: OnnxRuntimeOptions): string {
	return options.cpuName ?? (cpus()[0]?.model.trim() || "unknown CPU");
}

async function buildEngine(
	job: BuildJob,
	runtime: Runtime,
	options: OnnxRuntimeOptions,
): Promise<BuildRecord> {
	const started = performance.now();
	const warnings = createWarningCounter();
	const record = await build(job, runtime, { ...options, onLine: warnings.add }).catch((error) =>
		faultOf(asFailure(error)),
	);
	return {
		...describeBuild(job),
		warnings: warnings.classes(),
		log: job.logPath,
		...record,
		durationMs: performance.now() - started,
	};
}

type Built = Pick<BuildRecord, "state"> & Partial<BuildRecord>;

async function build(
	job: BuildJob,
	{ flavour, folder }: Runtime,
	{ threads, onLine, ...place }: OnnxRuntimeOptions & { onLine(line: string): void },
): Promise<Built> {
	const { model, engineFolder, logPath, timeoutMs } = job;
	await makeFolders(engineFolder);
	const result = await runWorker<"build">(
		{ kind: "build", flavour, folder, modelPath: model.path, external: externalOf(model), threads },
		place,
		{ logPath, timeoutMs, onLine },
	);
	if (result.state === "failed") {
		if (result.refused === undefined) return faultOf(result.failure);
		const failure = diagnoseOrt(result.refused);
		const strip = (text: string) => text.replaceAll(`${dirname(model.path)}/`, "");
		const [title, excerpt] = [strip(failure.title), failure.excerpt.map(strip)];
		return { state: "refused", failure: { ...failure, title, excerpt } };
	}
	const { path, bytes } = await placeModel(model, engineFolder);
	const recipe = {
		runtime: flavour === "wasm" ? "onnxruntime-web" : "onnxruntime-node",
		version: result.reply.version,
		flavour,
		optimisation: "all when loaded",
		threads: String(threads),
		file: "the model as it is",
	};
	const recipePath = join(engineFolder, "recipe.json");
	await orWriteError(writeFile(recipePath, `${JSON.stringify(recipe, null, "\t")}\n`), recipePath);
	return {
		state: "built",
		recipe,
		engineKind: "ONNX model with recipe",
		engineBytes: bytes,
		engineSha256: model.sha256,
		enginePath: path,
	};
}

function faultOf(fault: ToolFailure): Built {
	return { state: fault.code === "tool-timeout" ? "timed-out" : "refused", failure: runnerFailure(fault) };
}

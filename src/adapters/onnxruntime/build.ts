// Builds an engine for ONNX Runtime: checks that the model loads, and stores it with its recipe.
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BuildRecord, Failure } from "../../../generated/result.ts";
import { asFailure } from "../../core/errors.ts";
import { describeBuild } from "../../core/plan/plan.ts";
import { createWarningCounter, diagnoseOrt } from "../../formats/onnxruntime/failures.ts";
import type { BuildJob } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import { placeModel } from "./engine-file.ts";
import type { Runtime } from "./runtime.ts";
import { runWorker, type WorkerPlace } from "./worker-process.ts";

export interface OnnxRuntimeContext {
	runtime: Runtime;
	place: WorkerPlace;
	threads: number;
}

/** @throws ConfigError output-unwritable. */
export async function buildEngine(job: BuildJob, context: OnnxRuntimeContext): Promise<BuildRecord> {
	const started = performance.now();
	try {
		return await build(job, context, started);
	} catch (error) {
		return {
			...describeBuild(job),
			durationMs: performance.now() - started,
			warnings: [],
			log: job.logPath,
			...describeFault(asFailure(error)),
		};
	}
}

async function build(job: BuildJob, context: OnnxRuntimeContext, started: number): Promise<BuildRecord> {
	await makeFolders(job.engineFolder);
	const warnings = createWarningCounter();
	const { logPath, timeoutMs, model } = job;
	const { flavour, folder } = context.runtime;
	const { threads } = context;
	const result = await runWorker<"build">(
		{ kind: "build", flavour, folder, modelPath: model.path, external: externalOf({ model }), threads },
		context.place,
		{ logPath, timeoutMs, onLine: warnings.add },
	);
	const record = {
		...describeBuild(job),
		durationMs: performance.now() - started,
		warnings: warnings.classes(),
		log: job.logPath,
	};
	if (result.state === "refused")
		return { ...record, state: "refused", failure: withPaths(diagnoseOrt(result.message), job) };
	if (result.state === "failed") return { ...record, ...describeFault(result.failure) };
	const engine = await placeModel(job.model, job.engineFolder);
	const recipe = recipeOf(context, result.reply.version);
	const recipePath = join(job.engineFolder, "recipe.json");
	await orWriteError(writeFile(recipePath, `${JSON.stringify(recipe, null, "\t")}\n`), recipePath);
	return {
		...record,
		state: "built",
		recipe,
		durationMs: performance.now() - started,
		engineKind: "ONNX model with recipe",
		engineBytes: engine.bytes,
		engineSha256: model.sha256,
		enginePath: engine.path,
	};
}

/** A fault of the machine is marked as one: such a build is no verdict on the model. */
function describeFault(fault: ToolFailure): Pick<BuildRecord, "state" | "failure"> {
	const { fix, excerpt } = fault;
	const failure: Failure = {
		code: fault.code,
		title: fault.message,
		fix: fix ?? "Read the log.",
		excerpt: [...(excerpt ?? [])],
		kind: "runner",
	};
	return { state: fault.code === "tool-timeout" ? "timed-out" : "refused", failure };
}

function withPaths(failure: Failure, job: BuildJob): Failure {
	const folder = `${dirname(job.model.path)}/`;
	const strip = (text: string): string => text.split(folder).join("");
	return { ...failure, title: strip(failure.title), excerpt: failure.excerpt.map(strip) };
}

function recipeOf(context: OnnxRuntimeContext, version: string): Record<string, string> {
	return {
		runtime: context.runtime.flavour === "wasm" ? "onnxruntime-web" : "onnxruntime-node",
		version,
		flavour: context.runtime.flavour,
		optimisation: "all when loaded",
		threads: String(context.threads),
		file: "the model as it is",
	};
}

export function externalOf(engine: { model: BuildJob["model"] }): string[] {
	return engine.model.external.filter((file) => file.path !== null).map((file) => file.location);
}

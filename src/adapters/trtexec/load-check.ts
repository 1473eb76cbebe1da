// Makes sure that a new plan loads: the build's own log shows it, else one inference is run.
import { fillInput } from "../../core/fill.ts";
import { toDType } from "../../core/onnx/element-type.ts";
import { feeds } from "../../core/onnx/model.ts";
import { buildArgs } from "../../formats/trtexec/args.ts";
import type { BuildJob } from "../../ports/backend.ts";
import type { TrtexecContext } from "./context.ts";
import { loadSettings, runShapes, shapesAt } from "./engine-args.ts";
import { inWorkFolder, runTrtexec, type TrtexecRun, writeInput } from "./run.ts";

/**
 * The run that failed, or null where the plan loads. trtexec loads what it has just built even with --skipInference,
 * and logs it; a version that does not is run once, at the optimal shapes.
 */
export async function checkLoads(
	job: BuildJob,
	{ run, context, engine }: { run: TrtexecRun; context: TrtexecContext; engine: string },
): Promise<TrtexecRun | null> {
	if (run.scan.facts.reached.deserialised) return null;
	const checked = await inWorkFolder((folder) => inferOnce(job, { folder, context, engine }));
	return checked.diagnosis.kind === "none" || checked.diagnosis.code === "raw-dump-truncated" ? null : checked;
}

async function inferOnce(
	job: BuildJob,
	{ folder, context, engine }: { folder: string; context: TrtexecContext; engine: string },
): Promise<TrtexecRun> {
	const { onnx } = job.model;
	const shapes = shapesAt("opt", job.spec, { model: onnx });
	const inputs = [];
	for (const [index, feed] of feeds(onnx.graph).entries()) {
		const filled = { dtype: toDType(feed.dtype) ?? "float32", shape: shapes[feed.name] ?? [], fill: "normal" } as const;
		inputs.push(await writeInput(folder, feed.name, { index, data: fillInput(filled, 1, index) }));
	}
	const named = Object.entries(shapes).map(([name, shape]) => ({ name, shape }));
	const spec = { task: "infer", enginePath: engine, shapes: runShapes(named, onnx), inputs, ...loadSettings(job, context) } as const;
	const args = buildArgs(spec, context.trtexec.version);
	const argv = args.kind === "argv" ? args.argv : [`--loadEngine=${engine}`];
	const logPath = job.logPath.replace(/(\.log)?$/, "-load.log");
	return runTrtexec({ argv, cwd: folder, logPath, timeoutMs: job.timeoutMs, writes: [] }, context);
}

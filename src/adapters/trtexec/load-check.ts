// Makes sure that a new plan loads: the build's own log shows it, else one inference is run.
import { timedInputsOf } from "../../core/timed-inputs.ts";
import type { BuildJob } from "../../ports/backend.ts";
import type { TrtexecContext } from "./context.ts";
import { runArgs, shapesAt } from "./engine-args.ts";
import { inWorkFolder, runTrtexec, type TrtexecRun, writeFilled } from "./run.ts";

/**
 * The run that failed, or null if the plan loads. trtexec loads what it has just built even with --skipInference,
 * and logs it; a version that does not is run once, at the optimal shapes.
 */
export async function checkLoads(
	job: BuildJob,
	{ run, context, engine }: { run: TrtexecRun; context: TrtexecContext; engine: string },
): Promise<TrtexecRun | null> {
	if (run.scan.facts.deserialised) return null;
	const { onnx } = job.model;
	const checked = await inWorkFolder(async (folder) => {
		const shapes = shapesAt("opt", job.spec, { model: onnx });
		const inputs = await writeFilled(folder, timedInputsOf(onnx, job.spec.model.inputs)(shapes), 1);
		const named = Object.entries(shapes).map(([name, shape]) => ({ name, shape }));
		const args = runArgs({ ...job, path: engine }, named, { task: "infer", inputs }, context);
		const argv = args.kind === "argv" ? args.argv : [`--loadEngine=${engine}`];
		const logPath = job.logPath.replace(/(\.log)?$/, "-load.log");
		return runTrtexec({ argv, cwd: folder, logPath, timeoutMs: job.timeoutMs, writes: [] }, context);
	});
	const isLoaded = checked.diagnosis.kind === "none" || checked.diagnosis.code === "raw-dump-truncated";
	return isLoaded ? null : checked;
}

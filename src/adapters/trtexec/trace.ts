// Runs an engine for a moment under a profiler, as it is timed, but for a bounded number of inferences.
import { boundKernels } from "../../core/explain/kernels.ts";
import { buildArgs } from "../../formats/trtexec/args.ts";
import type { TraceJob, TraceResult } from "../../ports/backend.ts";
import type { TrtexecContext } from "./context.ts";
import { loadSettings, timingOf } from "./engine-args.ts";
import { asFailure } from "./failure.ts";
import { shapeSettings } from "./shapes.ts";
import { inWorkFolder, writeFilled } from "./work-folder.ts";

/** Enough for a look at every kernel, and a report of some megabytes. */
const [warmUpMs, iterations] = [200, 50];

export async function traceRun(job: TraceJob, context: TrtexecContext): Promise<TraceResult> {
	const { tracer } = context;
	if (tracer === null) return { state: "absent" };
	try {
		return await inWorkFolder(async (cwd) => {
			const inputs = await writeFilled(cwd, job.inputs, job.seed);
			const asked = buildArgs(specOf(job, inputs, context), context.trtexec.version);
			if (asked.kind !== "argv") return { state: "ran", files: [], sentence: asked.message };
			const { tool, kernel, folder, name, timeoutMs } = job;
			const command = [context.trtexec.program, ...asked.argv];
			const of = kernel === undefined ? {} : { kernel };
			const { files, kernels, sentence } = await tracer({ tool, ...of, command, cwd, folder, name, timeoutMs });
			return {
				state: "ran",
				files,
				...(kernels === undefined || kernels.length === 0 ? {} : { kernels: boundKernels(kernels) }),
				...(sentence === undefined ? {} : { sentence }),
			};
		});
	} catch (error) {
		return { state: "ran", files: [], sentence: asFailure(error).message };
	}
}

function specOf(job: TraceJob, inputs: Awaited<ReturnType<typeof writeFilled>>, context: TrtexecContext) {
	return {
		task: "time",
		enginePath: job.engine.path,
		...shapeSettings(job.inputs, job.engine),
		inputs,
		warmUpMs,
		durationMs: 0,
		iterations,
		streams: job.streams,
		timesPath: "times.json",
		...loadSettings(job.engine, context),
		...timingOf(job.engine, context),
	} as const;
}

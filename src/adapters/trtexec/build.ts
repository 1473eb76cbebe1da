// Builds an engine with trtexec; a build succeeded if its plan exists, is not empty and loads.

import { constants } from "node:fs";
import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { BuildRecord, Failure } from "../../../generated/result.ts";
import { asFailure } from "../../core/errors.ts";
import { describeBuild } from "../../core/plan/plan.ts";
import { formatDuration } from "../../core/text/units.ts";
import { timedInputsOf } from "../../core/timed-inputs.ts";
import type { EngineLayers } from "../../engine/core/layer.ts";
import { type BuildPlaces, buildArgs, runArgs, SettingError, shapesAt } from "../../formats/trtexec/args.ts";
import { createBuildLog, createBuildProgress, createSparsityLog } from "../../formats/trtexec/build-log.ts";
import { parseLayerInfo } from "../../formats/trtexec/layers.ts";
import type { BuildJob } from "../../ports/backend.ts";
import { runnerFailure } from "../process/failure.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import {
	type BuildFacts,
	type BuildRequest,
	buildRequest,
	restoreEngine,
	restoreTimingCache,
	saveBuild,
} from "./build-cache.ts";
import { calibrate } from "./calibrate.ts";
import { buildNotes, layersNote, portableFlags, refusalOf } from "./failure.ts";
import {
	describePlan,
	inWorkFolder,
	runTrtexec,
	type TrtexecContext,
	type TrtexecRun,
	writeFilled,
} from "./run.ts";

const tolerated: ReadonlySet<string> = new Set(["int8-uncalibrated"]);

export async function buildEngine(job: BuildJob, context: TrtexecContext): Promise<BuildRecord> {
	const started = performance.now();
	try {
		const places = await preparePlaces(job);
		if (job.ownPlan !== undefined) return await adopt(job.ownPlan, { job, places }, context);
		const own = await calibrate(job, context);
		const request = await buildRequest(own, places, buildArgs(own, places, context));
		const cached = await restoreEngine(request, context);
		return await (cached === null ? buildAnew(request, context) : recall(cached, request, context));
	} catch (error) {
		const refused = { ...describeJob(job), state: "refused" } as const;
		if (error instanceof SettingError)
			return { ...refused, durationMs: 0, failure: unsupportedSetting(error, job) };
		const durationMs = performance.now() - started;
		return { ...refused, durationMs, failure: runnerFailure(asFailure(error)) };
	}
}

async function recall(
	cached: BuildFacts,
	request: BuildRequest,
	context: TrtexecContext,
): Promise<BuildRecord> {
	const { logPath } = request.job;
	const seconds = (cached.durationMs / 1000).toFixed(1);
	const note = `From the engine cache: built in ${seconds} s on ${cached.builtAt} from the same model and flags on the same GPU, driver and TensorRT.`;
	await makeFolders(dirname(logPath));
	await writeFile(logPath, `${note}\n`);
	const record = await describeBuilt(request, { ...cached, notes: [note, ...cached.notes] }, context);
	return { ...record, fromCache: true };
}

async function buildAnew(request: BuildRequest, context: TrtexecContext): Promise<BuildRecord> {
	const { job, places, argv } = request;
	const before = await restoreTimingCache(request, context);
	const entriesBefore = context.cacheEntries.get(places.cache ?? "") ?? null;
	const reader = createBuildLog();
	const { engineFolder, logPath, timeoutMs, onPhase } = job;
	const isSparse = argv.some((flag) => /^--sparsity=(enable|force)$/.test(flag));
	const sparsity = createSparsityLog();
	const progress = onPhase && createBuildProgress(onPhase);
	const onVerbose = (text: string) => {
		progress?.(text);
		if (isSparse) sparsity.feed(text);
	};
	const run = await runTrtexec(
		{
			...{ argv, cwd: engineFolder, logPath, timeoutMs, readers: [reader] },
			// The list of layers is only for people: the engine is usable without it.
			writes: [places.engine],
			onVerbose: isSparse || progress ? onVerbose : undefined,
		},
		context,
	);
	const log = reader.result();
	// A timing cache that does not exist yet cannot be read.
	const warnings = log.warnings.filter(
		(one) => entriesBefore !== null || one.class !== "timing-cache-unreadable",
	);
	const durationMs = run.record.wallMs;
	const recipe = { tensorrt: context.trtexec.version.text, flags: portableFlags(argv) };
	const failed = hasFailed(run) ? run : await checkLoads(request, run, context);
	if (failed !== null) return { ...describeJob(job), durationMs, warnings, recipe, ...refused(failed, job) };
	const notes = buildNotes({ log, layers: await layersOf(places.engine), entriesBefore });
	const { title, kind } = run.diagnosis;
	const facts: BuildFacts = {
		durationMs,
		warnings,
		builtAt: new Date().toISOString(),
		recipe: log.precision === null ? recipe : { ...recipe, typing: log.precision },
		notes: kind === "none" ? notes : [title, ...notes],
		...(before !== null && { hadKernelTimings: true }),
		weightsBytes: log.memory.weights,
		entries: log.timingCache.entries,
		...(isSparse && { sparsity: sparsity.result() }),
	};
	const record = await describeBuilt(request, facts, context);
	await saveBuild(request, facts, { before, context });
	return record;
}

type PlacedJob = Pick<BuildRequest, "job" | "places">;

/** Takes a copy, which nobody changes later, and asks trtexec for its layers. */
async function adopt(
	ownPlan: NonNullable<BuildJob["ownPlan"]>,
	request: PlacedJob,
	context: TrtexecContext,
): Promise<BuildRecord> {
	const { job, places } = request;
	const { command } = job.spec.engine.build ?? {};
	if (command !== undefined) job.onPhase?.("running the build command");
	const started = performance.now();
	// Two versions cannot share timings. They are not kept: a command of the head must not choose kernels of a later base.
	const { text: version } = context.trtexec.version;
	const timings = places.cache && { TRTGATE_TIMING_CACHE: `${places.cache}-${version}` };
	const source = await ownPlan({ TRTGATE_TENSORRT: version, ...timings });
	const durationMs = command === undefined ? 0 : performance.now() - started;
	await orWriteError(copyFile(source, places.engine, constants.COPYFILE_FICLONE), places.engine);
	const once = { warmUpMs: 0, iterations: 1, profile: "profile.json", layers: places.layers };
	const run = await runOnce(request, { task: "profile", ...once }, context);
	if (run.diagnosis.kind !== "none") return { ...describeJob(job), durationMs, ...refused(run, job) };
	context.ownPlans.add(job.spec.model.name);
	context.note(
		"Plans of `build` are taken as they are: with which flags, tactics and warnings they were built is not known, and the whole plan counts as its weights in the peak memory of all engines of its model.",
	);
	const layers = await layersOf(places.engine);
	const facts = {
		...{ durationMs, warnings: [], weightsBytes: null, entries: null },
		recipe: { tensorrt: version, build: command ?? "none" },
		notes: [
			layersNote(layers),
			...(layers?.detail === "detailed"
				? []
				: [
						"The plan holds no details of its layers: with ProfilingVerbosity.DETAILED it would show what changed.",
					]),
		],
	};
	return describeBuilt(request, facts, context);
}

async function describeBuilt(
	{ job, places }: PlacedJob,
	{
		durationMs,
		recipe,
		warnings,
		notes,
		weightsBytes,
		entries,
		sparsity,
		hadKernelTimings,
	}: Omit<BuildFacts, "builtAt">,
	context: TrtexecContext,
): Promise<BuildRecord> {
	const plan = await describePlan(places.engine);
	context.built.set(places.engine, { ...plan, weightsBytes });
	if (entries !== null) context.cacheEntries.set(places.cache ?? "", entries);
	return {
		...describeJob(job),
		...{ state: "built", durationMs, engineKind: "TensorRT plan", engineBytes: plan.bytes },
		...{ engineSha256: plan.sha256, enginePath: places.engine, recipe, warnings, notes },
		...(hadKernelTimings && { hadKernelTimings }),
		...(sparsity && { sparsity }),
	};
}

/**
 * The run that failed, or null if the plan loads. Even with --skipInference, trtexec logs that it loads what it
 * built; a version that does not is run once.
 */
async function checkLoads({ job, places }: BuildRequest, { scan }: TrtexecRun, context: TrtexecContext) {
	if (scan.facts.deserialised) return null;
	const logPath = job.logPath.replace(/(\.log)?$/, "-load.log");
	const checked = await runOnce({ job: { ...job, logPath }, places }, { task: "infer" }, context);
	const isLoaded = checked.diagnosis.kind === "none" || checked.diagnosis.code === "raw-dump-truncated";
	return isLoaded ? null : checked;
}

function runOnce({ job, places }: PlacedJob, task: Parameters<typeof runArgs>[2], context: TrtexecContext) {
	const { logPath, timeoutMs, spec } = job;
	const { onnx } = job.model;
	return inWorkFolder(async (cwd) => {
		const shapes = shapesAt("opt", spec, { model: onnx });
		const inputs = await writeFilled(
			cwd,
			{ inputs: timedInputsOf(onnx, spec.model.inputs)(shapes), seed: 1 },
			context,
		);
		const argv = runArgs({ ...job, path: places.engine }, inputs, task, context);
		return runTrtexec({ argv, cwd, logPath, timeoutMs }, context);
	});
}

function hasFailed({ record, diagnosis }: TrtexecRun) {
	const isFine =
		diagnosis.kind === "none" || [diagnosis.code, ...diagnosis.also].every((code) => tolerated.has(code));
	return !isFine || record.state !== "exited" || record.exitCode !== 0;
}

const layersBeside = (enginePath: string) => join(dirname(enginePath), "layers.json");

async function preparePlaces(job: BuildJob): Promise<BuildPlaces> {
	await makeFolders(job.engineFolder);
	const engine = join(job.engineFolder, "engine.plan");
	const layers = layersBeside(engine);
	for (const path of [engine, layers]) await rm(path, { force: true });
	if (job.cacheFolder === undefined) return { engine, layers, cache: undefined };
	await makeFolders(job.cacheFolder);
	return { engine, layers, cache: join(job.cacheFolder, `${basename(job.engineFolder)}.timing`) };
}

function unsupportedSetting(
	{ setting: [code, key], message, fix = "" }: SettingError,
	{ spec }: BuildJob,
): Failure {
	const title = `models.${spec.model.name}.engines.${spec.engine.name}.${key}: ${message}`;
	return { code, title, fix, excerpt: [], kind: "refusal" };
}

function describeJob(job: BuildJob) {
	return { ...describeBuild(job), warnings: [] as BuildRecord["warnings"], log: job.logPath };
}

function refused(
	run: Pick<TrtexecRun, "record" | "diagnosis">,
	job: BuildJob,
): Pick<BuildRecord, "state" | "failure"> {
	const folders = [`${dirname(job.model.path)}/`, `${job.engineFolder}/`];
	const strip = (text: string) => folders.reduce((left, folder) => left.split(folder).join(""), text);
	const failure = run.record.state === "timed-out" ? tooSlow(refusalOf(run), job) : refusalOf(run);
	return {
		state: run.record.state === "timed-out" ? "timed-out" : "refused",
		failure: { ...failure, title: strip(failure.title), excerpt: failure.excerpt.map(strip) },
	};
}

/** A head that does not build in time is a verdict on the change; a base leaves nothing to compare with. */
function tooSlow(failure: Failure, { arm, timeoutMs }: BuildJob): Failure {
	return {
		...failure,
		title: `The build did not finish within its limit of ${formatDuration(timeoutMs)} (measure.build-timeout) and was stopped.`,
		fix: "If the log's last lines show progress, raise `measure.build-timeout`, keep `cache.timing` on, or lower `optimization-level`; otherwise look for a busy GPU or a hung driver.",
		kind: arm === "head" ? "refusal" : "runner",
	};
}

export async function layersOf(enginePath: string): Promise<EngineLayers | null> {
	try {
		return parseLayerInfo(await readFile(layersBeside(enginePath), "utf8"));
	} catch {
		return null;
	}
}

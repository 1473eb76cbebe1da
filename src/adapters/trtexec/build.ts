// Builds an engine with trtexec; a build succeeded if its plan exists, is not empty and loads.

import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { BuildRecord, Failure } from "../../../generated/result.ts";
import { asFailure } from "../../core/errors.ts";
import { describeBuild } from "../../core/plan/plan.ts";
import { formatDuration } from "../../core/text/units.ts";
import { timedInputsOf } from "../../core/timed-inputs.ts";
import type { EngineLayers } from "../../engine/core/layer.ts";
import { type BuildPlaces, buildArgs, runArgs, SettingError, shapesAt } from "../../formats/trtexec/args.ts";
import { createBuildLog, createBuildProgress } from "../../formats/trtexec/build-log.ts";
import { parseLayerInfo } from "../../formats/trtexec/layers.ts";
import { createSparsityLog } from "../../formats/trtexec/sparsity.ts";
import type { BuildJob } from "../../ports/backend.ts";
import { makeFolders } from "../process/write-error.ts";
import {
	type BuildFacts,
	type BuildRequest,
	buildRequest,
	restoreEngine,
	restoreTimingCache,
	saveBuild,
} from "./build-cache.ts";
import { calibrate } from "./calibrate.ts";
import type { TrtexecContext } from "./context.ts";
import { buildNotes, describeTool, portableFlags, refusalOf } from "./failure.ts";
import { describePlan, inWorkFolder, runTrtexec, type TrtexecRun, writeFilled } from "./run.ts";

const tolerated: ReadonlySet<string> = new Set(["int8-uncalibrated"]);

export async function buildEngine(job: BuildJob, context: TrtexecContext): Promise<BuildRecord> {
	const started = performance.now();
	try {
		const places = await preparePlaces(job);
		const own = await calibrate(job, context);
		const request = await buildRequest(own, places, buildArgs(own, places, context));
		const cached = await restoreEngine(request, context);
		return await (cached === null ? buildAnew(request, context) : recall(cached, request, context));
	} catch (error) {
		const refused = { ...describeJob(job), state: "refused" } as const;
		if (error instanceof SettingError)
			return { ...refused, durationMs: 0, failure: unsupportedSetting(error, job) };
		const durationMs = performance.now() - started;
		return { ...refused, durationMs, failure: describeTool(asFailure(error)) };
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
	const onVerbose = (text: string): void => {
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
		weightsBytes: log.memory.weightsBytes,
		entries: log.timingCache.entries,
		...(isSparse && { sparsity: sparsity.result() }),
	};
	const record = await describeBuilt(request, facts, context);
	await saveBuild(request, facts, { before, context });
	return record;
}

async function describeBuilt(
	{ job, places }: BuildRequest,
	{ durationMs, recipe, warnings, notes, weightsBytes, entries, sparsity }: BuildFacts,
	context: TrtexecContext,
): Promise<BuildRecord> {
	const plan = await describePlan(places.engine);
	context.built.set(places.engine, { ...plan, weightsBytes: weightsBytes ?? plan.bytes });
	if (entries !== null) context.cacheEntries.set(places.cache ?? "", entries);
	return {
		...describeJob(job),
		...{ state: "built", durationMs, engineKind: "TensorRT plan", engineBytes: plan.bytes },
		...{ engineSha256: plan.sha256, enginePath: places.engine, recipe, warnings, notes },
		...(sparsity && { sparsity }),
	};
}

/**
 * The run that failed, or null if the plan loads. Even with --skipInference, trtexec logs that it loads what it
 * built; a version that does not is run once.
 */
async function checkLoads(
	{ job, places }: BuildRequest,
	{ scan }: TrtexecRun,
	context: TrtexecContext,
): Promise<TrtexecRun | null> {
	if (scan.facts.deserialised) return null;
	const { onnx } = job.model;
	const checked = await inWorkFolder(async (cwd) => {
		const shapes = shapesAt("opt", job.spec, { model: onnx });
		const inputs = await writeFilled(cwd, timedInputsOf(onnx, job.spec.model.inputs)(shapes), 1);
		const argv = runArgs({ ...job, path: places.engine }, inputs, { task: "infer" }, context);
		const logPath = job.logPath.replace(/(\.log)?$/, "-load.log");
		return runTrtexec({ argv, cwd, logPath, timeoutMs: job.timeoutMs }, context);
	});
	const isLoaded = checked.diagnosis.kind === "none" || checked.diagnosis.code === "raw-dump-truncated";
	return isLoaded ? null : checked;
}

function hasFailed({ record, diagnosis }: TrtexecRun): boolean {
	const isFine =
		diagnosis.kind === "none" || [diagnosis.code, ...diagnosis.also].every((code) => tolerated.has(code));
	return !isFine || record.state !== "exited" || record.exitCode !== 0;
}

const layersBeside = (enginePath: string): string => join(dirname(enginePath), "layers.json");

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
	const strip = (text: string): string => folders.reduce((left, folder) => left.split(folder).join(""), text);
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

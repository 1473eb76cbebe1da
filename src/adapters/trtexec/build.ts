// Builds a TensorRT engine with trtexec; a build succeeded if its plan exists, is not empty and loads.

import { readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { BuildRecord, Failure } from "../../../generated/result.ts";
import { asFailure } from "../../core/errors.ts";
import { describeBuild } from "../../core/plan/plan.ts";
import { formatDuration } from "../../core/text/units.ts";
import type { EngineLayers } from "../../engine/core/layer.ts";
import { buildArgs } from "../../formats/trtexec/args.ts";
import type { ArgsFault } from "../../formats/trtexec/args-spec.ts";
import { type BuildLogFacts, createBuildLog } from "../../formats/trtexec/build-log.ts";
import { createBuildProgress } from "../../formats/trtexec/build-progress.ts";
import { parseLayerInfo } from "../../formats/trtexec/layers.ts";
import type { BuildJob } from "../../ports/backend.ts";
import { makeFolders } from "../process/write-error.ts";
import {
	type BuildPlaces,
	type BuildRequest,
	buildRequest,
	restoreEngine,
	restoreTimingCache,
	saveBuild,
} from "./build-cache.ts";
import type { TrtexecContext } from "./context.ts";
import { buildSettings, isTyped, profilesOf } from "./engine-args.ts";
import { buildNotes, describeTool, portableFlags, refusalOf } from "./failure.ts";
import { checkLoads } from "./load-check.ts";
import { describePlan, runTrtexec, type TrtexecRun } from "./run.ts";

const tolerated: ReadonlySet<string> = new Set(["int8-uncalibrated"]);

/** @throws ConfigError output-unwritable, config-dims. */
export async function buildEngine(job: BuildJob, context: TrtexecContext): Promise<BuildRecord> {
	const started = performance.now();
	try {
		return await build(job, context);
	} catch (error) {
		const durationMs = performance.now() - started;
		return { ...describeJob(job), state: "refused", durationMs, failure: describeTool(asFailure(error)) };
	}
}

async function build(job: BuildJob, context: TrtexecContext): Promise<BuildRecord> {
	const places = await preparePlaces(job);
	const args = buildArgs(specOf(job, places, context), context.trtexec.version);
	if (args.kind !== "argv")
		return { ...describeJob(job), state: "refused", durationMs: 0, failure: unsupportedSetting(args, job) };
	const { argv } = args;
	const request = await buildRequest(job, places, argv);
	const recalled = await restoreEngine(request, context);
	if (recalled === null) return buildAnew(request, context);
	return { ...describeJob(job), state: "built", durationMs: 0, ...recalled };
}

async function buildAnew(request: BuildRequest, context: TrtexecContext): Promise<BuildRecord> {
	const { job, places, argv } = request;
	const before = await restoreTimingCache(request, context);
	const begins = !context.cacheEntries.has(places.cache ?? "");
	const reader = createBuildLog();
	const run = await runTrtexec(
		{
			argv,
			cwd: job.engineFolder,
			logPath: job.logPath,
			timeoutMs: job.timeoutMs,
			// The list of layers is only for people: the engine is usable without it.
			writes: [places.engine],
			readers: [reader],
			onVerbose: job.onPhase && createBuildProgress(job.onPhase),
		},
		context,
	);
	const log = reader.result();
	// A timing cache that does not exist yet cannot be read.
	const warnings = log.warnings.filter((one) => !begins || one.class !== "timing-cache-unreadable");
	const record = { ...describeJob(job), durationMs: run.record.wallMs, warnings };
	const failed = hasFailed(run) ? run : await checkLoads(job, { run, context, ...places });
	if (failed !== null) return { ...record, ...refused(failed, job) };
	const built = await describeBuilt(request, run, log, context);
	const { recipe, notes, engineBytes } = built;
	const weightsBytes = context.built.get(places.engine)?.weightsBytes ?? engineBytes;
	const { entries } = log.timingCache;
	const facts = { durationMs: record.durationMs, warnings, recipe, notes, weightsBytes, entries };
	await saveBuild(request, { ...facts, builtAt: new Date().toISOString() }, { before, context });
	return { ...record, ...built };
}

/** Other faults count besides the first one. */
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

/** Both sides build on one timing cache, else two builds of one model differ by about 1 %. */
function specOf(job: BuildJob, places: BuildPlaces, context: TrtexecContext) {
	const { spec, model } = job;
	const { precision } = spec.engine;
	return {
		task: "build",
		onnxPath: model.path,
		enginePath: places.engine,
		precision,
		typedModel: isTyped(precision, model.onnx),
		profiles: profilesOf(spec, model.onnx),
		...buildSettings(job, context),
		detailedLayers: true,
		layerInfoPath: places.layers,
		timingCachePath: places.cache,
	} as const;
}

/** If the precision comes from the ONNX file alone, a wrong one is the config's fault, which names the wrong file. */
function unsupportedSetting(reason: ArgsFault, { spec }: BuildJob): Failure {
	const key = `models.${spec.model.name}.engines.${spec.engine.name}.${keyOf(reason)}`;
	const code = {
		"needs-other-onnx": "precision-in-onnx",
		unsupported: "setting-unsupported",
		refused: "tensor-name-unsupported",
	}[reason.kind];
	return { code, title: `${key}: ${reason.message}`, fix: reason.fix, excerpt: [], kind: "refusal" };
}

function keyOf({ kind, what }: ArgsFault): string {
	if (what.startsWith("--")) return "flags";
	if (what === "several optimization profiles") return "profiles";
	if (kind === "needs-other-onnx" || what === "calibration") return what;
	return kind === "unsupported" ? "precision" : "dims";
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

/** A head that does not build in time is a verdict on the change; a base that does not leaves nothing to compare with. */
function tooSlow(failure: Failure, { arm, timeoutMs }: BuildJob): Failure {
	return {
		...failure,
		title: `The build did not finish within its limit of ${formatDuration(timeoutMs)} (measure.build-timeout) and was stopped.`,
		fix: "If the log's last lines show progress, raise `measure.build-timeout`, keep `cache.timing` on, or lower `optimization-level`; otherwise look for a busy GPU or a hung driver.",
		kind: arm === "head" ? "refusal" : "runner",
	};
}

async function describeBuilt(
	{ argv, places }: BuildRequest,
	run: TrtexecRun,
	log: BuildLogFacts,
	context: TrtexecContext,
) {
	const plan = await describePlan(places.engine);
	context.built.set(places.engine, { ...plan, weightsBytes: log.memory.weightsBytes ?? plan.bytes });
	const cache = places.cache ?? "";
	const entriesBefore = context.cacheEntries.get(cache) ?? null;
	if (log.timingCache.entries !== null) context.cacheEntries.set(cache, log.timingCache.entries);
	const notes = buildNotes({ log, layers: await layersOf(places.engine), entriesBefore });
	const { title, kind } = run.diagnosis;
	return {
		state: "built",
		engineKind: "TensorRT plan",
		engineBytes: plan.bytes,
		engineSha256: plan.sha256,
		enginePath: places.engine,
		recipe: {
			tensorrt: context.trtexec.version.text,
			flags: portableFlags(argv),
			...(log.precision === null ? {} : { typing: log.precision }),
		},
		notes: kind === "none" ? notes : [title, ...notes],
	} as const;
}

export async function layersOf(enginePath: string): Promise<EngineLayers | null> {
	try {
		return parseLayerInfo(await readFile(layersBeside(enginePath), "utf8"));
	} catch {
		return null;
	}
}

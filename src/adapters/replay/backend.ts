// Replays a recorded comparison.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { DType } from "../../../generated/golden.ts";
import type { Arm, BackendFacts, BuildRecord, GpuWindow } from "../../../generated/result.ts";
import { describeBuild } from "../../core/plan/plan.ts";
import { float64Bytes } from "../../formats/bytes/byte-source.ts";
import { parseTimedLayers } from "../../formats/trtexec/layer-profile.ts";
import type { Tensor } from "../../golden/core/tensor/tensor.ts";
import type {
	Backend,
	BuildJob,
	InferJob,
	InferResult,
	InferredCase,
	MeasureJob,
	MeasureResult,
	ProfileJob,
	ProfileResult,
} from "../../ports/backend.ts";
import type { Clock, Telemetry, ToolFailure } from "../../ports/world.ts";

const samplesPerMs = 1e7;

interface Replay {
	recording: Recording;
	clock: Clock;
	replayed: { atMs: number; run: RecordedRun }[];
	given: Map<string, number>;
}

export function replay(recording: Recording, clock: Clock): { backend: Backend; telemetry: Telemetry } {
	const state: Replay = { recording, clock, replayed: [], given: new Map() };
	const { facts, fingerprint, notes } = recording.machine;
	const backend: Backend = {
		facts: async () => facts,
		fingerprint: async () => fingerprint,
		build: (job) => build(job, state),
		infer: (job) => infer(job, state),
		measure: (job) => measure(job, state),
		profile: (job) => profile(job, state),
		notes: () => notes,
	};
	const telemetry: Telemetry = {
		start: async () => {},
		window: (fromMs, toMs) =>
			state.replayed.find(({ atMs }) => atMs >= fromMs && atMs <= toMs)?.run.gpu ?? null,
		foreignProcesses: () => [],
		degradations: () => [],
		stop: async () => {},
	};
	return { backend, telemetry };
}

async function armOf(id: string, arm: "base" | "head", { recording }: Replay) {
	return (await recording.engine(id))?.[arm] ?? null;
}

function notRecorded(what: string): ToolFailure {
	return {
		code: "tool-output",
		message: `The recording has no ${what}.`,
		fix: "Replay the project that was recorded, as it is.",
	};
}

async function build(job: BuildJob, state: Replay): Promise<BuildRecord> {
	const { spec, arm, logPath } = job;
	const recorded = await armOf(spec.id, arm, state);
	const described = describeBuild(job);
	if (recorded === null) {
		const { message, fix = "" } = notRecorded(`engine ${spec.id}`);
		const failure = { code: "tool-output", title: message, fix, excerpt: [], kind: "refusal" as const };
		return { ...described, state: "refused", durationMs: 0, warnings: [], failure };
	}
	const enginePath = join(job.engineFolder, "engine.txt");
	await writeAll(
		enginePath,
		`Stands for the ${arm}'s TensorRT plan of ${spec.id}, which is not part of the recording.\n`,
	);
	await writeAll(logPath, `${recorded.log.join("\n")}\n`);
	return { ...described, ...recorded.build, state: "built", enginePath, log: logPath };
}

async function writeAll(path: string, content: string | Uint8Array) {
	await mkdir(dirname(path), { recursive: true });
	await writeFile(path, content);
}

async function infer(job: InferJob, state: Replay): Promise<InferResult> {
	const recorded = await armOf(job.engine.spec.id, job.engine.arm, state);
	const cases: InferredCase[] = [];
	for (const { id } of job.cases) {
		const known = recorded !== null && Object.hasOwn(recorded.outputs, id) ? recorded.outputs[id] : undefined;
		const outputs: Record<string, Tensor> = {};
		for (const [name, output] of Object.entries(known ?? {})) {
			const { dtype, shape } = output;
			outputs[name] = { dtype, shape, data: await state.recording.output(output) };
		}
		const { message } = notRecorded(`golden case ${id}`);
		cases.push(known === undefined ? { id, state: "failed", message } : { id, state: "done", outputs });
		job.onCase?.(cases.length);
	}
	return { state: "done", cases, wallMs: 0 };
}

async function measure(job: MeasureJob, state: Replay): Promise<MeasureResult> {
	const { spec, arm } = job.engine;
	const runs = (await armOf(spec.id, arm, state))?.runs ?? [];
	const key = `${spec.id} ${arm}`;
	const given = state.given.get(key) ?? 0;
	const run = runs[given];
	if (run === undefined) {
		const failure = notRecorded(`run ${given + 1} of ${spec.id} (${arm})`);
		return { state: "unusable", reason: failure.message, failure, wallMs: 0 };
	}
	const { wallMs, timedMs, peakMemoryBytes } = run;
	const samplesMs = Float64Array.from(run.samples, (ticks) => ticks / samplesPerMs);
	// A pilot, which has no warm-up of its own, was not recorded.
	if (job.warmUpMs > 0) {
		state.given.set(key, given + 1);
		state.replayed.push({ atMs: state.clock.now(), run });
		await writeAll(job.samplesPath, float64Bytes(samplesMs));
	}
	return { state: "ok", samplesMs, peakMemoryBytes, wallMs, timedMs };
}

async function profile(job: ProfileJob, state: Replay): Promise<ProfileResult> {
	const { spec, arm } = job.engine;
	const recorded = (await armOf(spec.id, arm, state))?.profile;
	const key = `profile ${spec.id} ${arm}`;
	const isAgain = state.given.has(key);
	state.given.set(key, 1);
	// Only one profile of each engine was recorded; repeating its times would look like no noise.
	if (recorded === undefined || isAgain) return { state: "absent" };
	await writeAll(job.layersPath, recorded.layers);
	await writeAll(job.profilePath, recorded.times);
	return { state: "done", ...parseTimedLayers(recorded.times, recorded.layers) };
}

export interface RecordedMachine {
	facts: BackendFacts;
	fingerprint: Readonly<Record<string, string>>;
	notes: readonly string[];
	engines: Readonly<Record<string, string>>;
}

export interface RecordedRun {
	wallMs: number;
	timedMs: number;
	peakMemoryBytes: number | null;
	/** Unit: 0.1 ns, the last digit that trtexec writes of such times. */
	samples: readonly number[];
	gpu: GpuWindow;
}

/** Stored as the difference from the golden, which compresses well. */
export interface RecordedOutput {
	dtype: DType;
	shape: readonly number[];
	differences: string;
	golden: string;
}

export interface RecordedArm {
	build: Pick<
		BuildRecord,
		| "durationMs"
		| "warnings"
		| "engineKind"
		| "engineBytes"
		| "engineSha256"
		| "recipe"
		| "notes"
		| "precisionCoverage"
	>;
	log: readonly string[];
	runs: readonly RecordedRun[];
	profile?: { layers: string; times: string };
	outputs: Readonly<Record<string, Readonly<Record<string, RecordedOutput>>>>;
}

type RecordedEngine = Readonly<Record<Arm, RecordedArm>>;

export interface Recording {
	machine: RecordedMachine;
	engine(id: string): Promise<RecordedEngine | null>;
	output(recorded: RecordedOutput): Promise<Uint8Array>;
}

/** For folders written by examples/recorded/make.ts: the content is trusted. */
export async function openRecording(folder: string): Promise<Recording> {
	const machine: RecordedMachine = JSON.parse(await readFile(join(folder, "recording.json"), "utf8"));
	const engines = new Map<string, Promise<RecordedEngine>>();
	const readPacked = async (file: string) => inflate(await readFile(join(folder, file)));
	const read = async (file: string): Promise<RecordedEngine> =>
		JSON.parse((await readPacked(file)).toString("utf8"));
	return {
		machine,
		engine: async (id) => {
			const file = Object.hasOwn(machine.engines, id) ? machine.engines[id] : undefined;
			if (file === undefined) return null;
			const known = engines.get(id) ?? read(file);
			engines.set(id, known);
			return known;
		},
		output: async ({ differences, golden }) =>
			restore(await readPacked(differences), await readPacked(golden)),
	};
}

function restore(differences: Buffer, golden: Buffer) {
	const bytes = new Uint8Array(golden.length);
	const view = new DataView(bytes.buffer);
	for (let at = 0; at < bytes.length; at += 4)
		view.setInt32(at, (golden.readInt32LE(at) + differences.readInt32LE(at)) | 0, true);
	return bytes;
}

const inflate = promisify(gunzip);

export async function unpackFolder(from: string, to: string): Promise<void> {
	await rm(to, { recursive: true, force: true });
	await mkdir(to, { recursive: true });
	for (const entry of await readdir(from, { withFileTypes: true })) {
		const source = join(from, entry.name);
		if (entry.isDirectory()) await unpackFolder(source, join(to, entry.name));
		else if (entry.name.endsWith(".gz"))
			await writeFile(join(to, entry.name.slice(0, -3)), await inflate(await readFile(source)));
		else await writeFile(join(to, entry.name), await readFile(source));
	}
}

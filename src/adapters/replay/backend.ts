// Replays a recorded comparison.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BuildRecord } from "../../../generated/result.ts";
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
import type { RecordedRun, Recording } from "./recording.ts";

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

// Times one engine: seeded inputs, a warm-up, then runs for a duration; every run's time is kept.
import { createInterface } from "node:readline";
import type { InferenceSession } from "onnxruntime-web";
import { fillInput } from "../../../core/fill.ts";
import { float64Bytes } from "../../../formats/bytes/byte-source.ts";
import { type MeasureTask, type Reply, turnLine } from "../protocol.ts";
import { peakMemoryBytes, writeAtomic } from "./files.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";
import { toOrtTensor } from "./tensors.ts";

/** A duration of zero means a single run, to warm the machine's caches. */
const minRuns = 10;

export async function runMeasure(task: MeasureTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const lanes = task.flavour === "native" ? await nativeLanes(ort, task) : await wasmLane(ort, task);
	const feeds = makeFeeds(ort, task);
	const time = async (until: Until): Promise<Timed> => {
		const started = performance.now();
		const samplesMs = (await Promise.all(lanes.map((lane) => timeRuns(lane, feeds, until)))).flat();
		return { samplesMs, timedMs: performance.now() - started };
	};
	const { warmUpMs, durationMs } = task;
	await time({ durationMs: warmUpMs, least: warmUpMs > 0 ? 2 : 0 });
	// What V8 still optimises later takes memory of its own, and depends on how long the run is.
	const warmMemoryBytes = warmUpMs > 0 ? peakMemoryBytes() : null;
	const { samplesMs, timedMs } =
		durationMs === "by turns" ? await takeTurns(time) : await time({ durationMs, least: durationMs > 0 ? minRuns : 1 });
	writeAtomic(task.samplesPath, float64Bytes(samplesMs));
	return { kind: "measure", iterations: samplesMs.length, timedMs, peakMemoryBytes: warmMemoryBytes ?? peakMemoryBytes() };
}

interface Until {
	durationMs: number;
	least: number;
}

interface Timed {
	samplesMs: number[];
	timedMs: number;
}

/** Waits for its turns, each a line of the input, and ends with the input. */
async function takeTurns(time: (until: Until) => Promise<Timed>): Promise<Timed> {
	const all: Timed = { samplesMs: [], timedMs: 0 };
	const answer = (timedMs: number, fastestMs: number) => process.stdout.write(`${turnLine}${JSON.stringify({ timedMs, fastestMs })}\n`);
	answer(0, 0);
	for await (const line of createInterface({ input: process.stdin })) {
		const { samplesMs, timedMs } = await time({ durationMs: Number(line), least: 1 });
		all.samplesMs.push(...samplesMs);
		all.timedMs += timedMs;
		answer(timedMs, Math.min(...samplesMs));
	}
	return all;
}

/** Sessions that one loop uses in turn. */
type Lane = readonly [InferenceSession, ...InferenceSession[]];

/** A native session may run many times at once: one session, a loop for each stream. */
async function nativeLanes(ort: Ort, task: MeasureTask): Promise<Lane[]> {
	const session = await openSession(ort, task, { level: "all" });
	return Array.from({ length: task.streams }, (): Lane => [session]);
}

/** WebAssembly runs one inference at a time: a session for each stream, taken in turn by one loop. */
async function wasmLane(ort: Ort, task: MeasureTask): Promise<Lane[]> {
	const first = await openSession(ort, task, { level: "all" });
	const others: InferenceSession[] = [];
	for (let stream = 1; stream < task.streams; stream++) others.push(await openSession(ort, task, { level: "all" }));
	if (others.length > 0) process.stderr.write("trtgate: WebAssembly runs one inference at a time; the streams take turns\n");
	return [[first, ...others]];
}

function makeFeeds(ort: Ort, task: MeasureTask): InferenceSession.FeedsType {
	return Object.fromEntries(task.inputs.map((input, index) => [input.name, toOrtTensor(ort, input, fillInput(input, task.seed, index))]));
}

async function timeRuns(lane: Lane, feeds: InferenceSession.FeedsType, until: Until): Promise<number[]> {
	const samplesMs: number[] = [];
	const started = performance.now();
	while (samplesMs.length < until.least || performance.now() - started < until.durationMs) {
		const session = lane[samplesMs.length % lane.length] ?? lane[0];
		const before = performance.now();
		await session.run(feeds);
		samplesMs.push(performance.now() - before);
	}
	return samplesMs;
}

// Times one engine: seeded inputs, a warm-up, then runs for a duration; every run's time is kept.
import type { InferenceSession } from "onnxruntime-web";
import { fillInput } from "../../../core/fill.ts";
import type { MeasureTask, Reply } from "../protocol.ts";
import { peakMemoryBytes, writeAtomic } from "./files.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";
import { toOrtTensor } from "./tensors.ts";

/** A duration of zero means a single run, to warm the machine's caches. */
const minRuns = 10;

export async function runMeasure(task: MeasureTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const lanes = task.flavour === "native" ? await nativeLanes(ort, task) : await wasmLane(ort, task);
	const feeds = makeFeeds(ort, task);
	await Promise.all(lanes.map((lane) => timeRuns(lane, feeds, { durationMs: task.warmUpMs, least: task.warmUpMs > 0 ? 2 : 0 })));
	const least = task.durationMs > 0 ? minRuns : 1;
	const started = performance.now();
	const samples = await Promise.all(lanes.map((lane) => timeRuns(lane, feeds, { durationMs: task.durationMs, least })));
	const timedMs = performance.now() - started;
	const all = samples.flat();
	writeAtomic(task.samplesPath, littleEndian(all));
	return { kind: "measure", iterations: all.length, timedMs, peakMemoryBytes: peakMemoryBytes() };
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

async function timeRuns(lane: Lane, feeds: InferenceSession.FeedsType, until: { durationMs: number; least: number }): Promise<number[]> {
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

function littleEndian(values: readonly number[]): Uint8Array {
	const view = new DataView(new ArrayBuffer(values.length * 8));
	for (const [index, value] of values.entries()) view.setFloat64(index * 8, value, true);
	return new Uint8Array(view.buffer);
}

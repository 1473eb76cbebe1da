// Counts the instructions of an inference, as a whole or node by node, in ONNX Runtime's WebAssembly module.
import fs from "node:fs";
import { fillInput } from "../../../core/timed-inputs.ts";
import { parseProfile } from "../../../formats/onnxruntime/profile.ts";
import type { CountTask, ProfileTask, Reply } from "../protocol.ts";
import { toOrtTensor } from "./infer.ts";
import { halfInstructions, loadRuntime, type Ort, openSession } from "./runtime.ts";

/**
 * Runs a job by a clock that stands still, or that shows the half instructions as nanoseconds: ONNX Runtime seeds its random numbers by
 * the time, and its profiler reads it.
 */
async function byClock(now: () => number, run: () => Promise<Reply>) {
	const { now: today } = Date;
	Object.defineProperty(performance, "timeOrigin", { value: 0, configurable: true });
	Object.defineProperty(performance, "now", { value: now, configurable: true });
	Date.now = () => 0;
	try {
		return await run();
	} finally {
		for (const name of ["timeOrigin", "now"]) Reflect.deleteProperty(performance, name);
		Date.now = today;
	}
}

/** The first two inferences also plan their memory, which is a small part; from the third on, equal inputs give equal counts. */
const plannedShare = 1e-4;

export function runCount(task: CountTask): Promise<Reply> {
	return byClock(
		() => 0,
		async () => {
			const ort = await loadRuntime(task, true);
			const session = await openSession(ort, task, { level: "all" });
			const count = async (seed: number) => {
				const feeds = makeFeeds(ort, task, seed);
				const before = halfInstructions();
				await session.run(feeds);
				return (halfInstructions() - before) / 2;
			};
			await count(task.seed);
			const early = await count(task.seed + 1);
			const instructions = await count(task.seed);
			const isAlike = Math.abs(early - instructions) < plannedShare * instructions;
			return { kind: "count", instructions, otherInput: isAlike ? early : await count(task.seed + 1) };
		},
	);
}

/** ONNX Runtime prints its profile if it has no file to write it to. */
export function runProfile(task: ProfileTask): Promise<Reply> {
	const printed: string[] = [];
	const { writeSync } = fs;
	return byClock(
		() => halfInstructions() / 1000,
		async () => {
			const ort = await loadRuntime(task, true);
			fs.writeSync = ((_: number, text: string) => {
				printed.push(text);
				return text.length;
			}) as typeof writeSync;
			const session = await openSession(ort, task, { level: task.level, isProfiled: true });
			const feeds = makeFeeds(ort, task, task.seed);
			for (let run = 0; run < 2; run += 1) await session.run(feeds);
			session.endProfiling();
			return { kind: "profile", nodes: parseProfile(printed.join("")) };
		},
	).finally(() => {
		fs.writeSync = writeSync;
	});
}

function makeFeeds(ort: Ort, { inputs }: CountTask | ProfileTask, seed: number) {
	return Object.fromEntries(
		inputs.map((input, index) => [input.name, toOrtTensor(ort, input, fillInput(input, seed, index))]),
	);
}

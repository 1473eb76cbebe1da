// Counts the instructions of an inference, as a whole or node by node.
import fs from "node:fs";
import type { InferenceSession } from "onnxruntime-web";
import { fillInput } from "../../../core/fill.ts";
import { parseProfile } from "../../../formats/onnxruntime/profile.ts";
import type { CountTask, ProfileTask, Reply } from "../protocol.ts";
import { watchCounter } from "./counter.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";
import { toOrtTensor } from "./tensors.ts";

/** The first two inferences plan their memory, which is a small part; from the third on, the same input gives the same count. */
const plannedShare = 1e-4;

export async function runCount(task: CountTask): Promise<Reply> {
	const read = watchCounter("still");
	const ort = await loadRuntime(task);
	const session = await openSession(ort, task, { level: "all" });
	const count = async (seed: number): Promise<number> => {
		const feeds = makeFeeds(ort, task, seed);
		const before = read();
		await session.run(feeds);
		return (read() - before) / 2;
	};
	await count(task.seed);
	const early = await count(task.seed + 1);
	const instructions = await count(task.seed);
	const isAlike = Math.abs(early - instructions) < plannedShare * instructions;
	return { kind: "count", instructions, otherInput: isAlike ? early : await count(task.seed + 1) };
}

/** ONNX Runtime prints its profile where it has no file to write it to. */
export async function runProfile(task: ProfileTask): Promise<Reply> {
	watchCounter("count");
	const ort = await loadRuntime(task);
	const printed: string[] = [];
	const { writeSync } = fs;
	fs.writeSync = ((_: number, text: string) => {
		printed.push(text);
		return text.length;
	}) as typeof writeSync;
	const session = await openSession(ort, task, { level: "all", isProfiled: true });
	const feeds = makeFeeds(ort, task, task.seed);
	for (let run = 0; run < 2; run += 1) await session.run(feeds);
	session.endProfiling();
	fs.writeSync = writeSync;
	return { kind: "profile", nodes: parseProfile(printed.join("")) };
}

function makeFeeds(
	ort: Ort,
	{ inputs }: Pick<CountTask, "inputs">,
	seed: number,
): InferenceSession.FeedsType {
	return Object.fromEntries(
		inputs.map((input, index) => [input.name, toOrtTensor(ort, input, fillInput(input, seed, index))]),
	);
}

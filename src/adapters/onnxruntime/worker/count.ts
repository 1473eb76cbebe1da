// Counts the instructions of an inference, as a whole or node by node, in ONNX Runtime's WebAssembly module.
import fs from "node:fs";
import { fillInput } from "../../../core/fill.ts";
import { parseProfile } from "../../../formats/onnxruntime/profile.ts";
import type { CountTask, ProfileTask, Reply } from "../protocol.ts";
import { toOrtTensor } from "./infer.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";

interface Exports {
	/** Added by scripts/wasm. */
	halfInstructions?: { value: bigint };
}

/** The part of the WebAssembly interface used here; only the web's type library declares it. */
declare const WebAssembly: {
	instantiate(...source: readonly unknown[]): Promise<{ instance?: { exports: Exports }; exports?: Exports }>;
};

/**
 * Reads how many half instructions were executed so far. Call it before ONNX Runtime is loaded: that seeds its random numbers by the time,
 * so the time stands still, or, for its profiler, shows the count in microseconds.
 */
function watchCounter(clock: "still" | "count"): () => number {
	let exports: Exports = {};
	const { instantiate } = WebAssembly;
	WebAssembly.instantiate = async (...source) => {
		const result = await instantiate(...source);
		exports = result.instance?.exports ?? result.exports ?? {};
		return result;
	};
	const read = (): number => Number(exports.halfInstructions?.value ?? 0);
	Object.defineProperty(performance, "timeOrigin", { value: 0 });
	Object.defineProperty(performance, "now", { value: clock === "still" ? () => 0 : () => read() / 1000 });
	Date.now = () => 0;
	return read;
}

/** The first two inferences also plan their memory, which is a small part; from the third on, equal inputs give equal counts. */
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

/** ONNX Runtime prints its profile if it has no file to write it to. */
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

function makeFeeds(ort: Ort, { inputs }: CountTask | ProfileTask, seed: number) {
	return Object.fromEntries(
		inputs.map((input, index) => [input.name, toOrtTensor(ort, input, fillInput(input, seed, index))]),
	);
}

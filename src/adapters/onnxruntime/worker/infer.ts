// Sends cases through one session, each on its own: a case that fails does not stop the others.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { InferenceSession } from "onnxruntime-web";
import { tensorBytes } from "../../../core/golden/tensor/tensor.ts";
import { type CaseReply, caseLine, type InferTask, type Reply, type TensorPlace } from "../protocol.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";
import { fromOrtTensor, type OutputBytes, toOrtTensor } from "./tensors.ts";

export async function runInfer(task: InferTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const session = await openSession(ort, task, { level: task.level ?? "all" });
	const cases: CaseReply[] = [];
	for (const [index, item] of task.cases.entries()) {
		const reply = await tryCase({ ort, session }, item.inputs, {
			folder: task.outputFolder,
			prefix: `${index}`,
		});
		cases.push(reply);
		process.stdout.write(`${caseLine}${index + 1}\n`);
		if (
			task.stopAtFirst === true &&
			reply.state === "done" &&
			reply.outputs.every(({ shape }) => !shape.includes(0))
		)
			break;
	}
	if (task.stays === true) await session.release();
	return { kind: "infer", cases };
}

export interface Engine {
	ort: Ort;
	session: InferenceSession;
}

export async function tryCase(
	engine: Engine,
	inputs: readonly TensorPlace[],
	to: { folder: string; prefix: string },
): Promise<CaseReply> {
	try {
		const outputs = (await runCase(engine, inputs)).map(({ name, dtype, shape, bytes }, k): TensorPlace => {
			const path = `out-${to.prefix}-${k}.bin`;
			writeFileSync(join(to.folder, path), bytes);
			return { name, dtype, shape, path };
		});
		return { state: "done", outputs };
	} catch (error) {
		return { state: "failed", message: error instanceof Error ? error.message : String(error) };
	}
}

/** @throws Error where the model fails on these inputs. */
export async function runCase(
	engine: Engine,
	inputs: readonly TensorPlace[],
): Promise<(OutputBytes & { name: string })[]> {
	const feeds = Object.fromEntries(inputs.map((input) => [input.name, readInput(engine.ort, input)]));
	const results = await engine.session.run(feeds);
	return engine.session.outputNames.map((name) => {
		const tensor = results[name];
		if (tensor === undefined) throw new Error(`Output ${name} is missing.`);
		return { name, ...fromOrtTensor(name, tensor) };
	});
}

function readInput(ort: Ort, input: TensorPlace): ReturnType<typeof toOrtTensor> {
	const bytes = readFileSync(input.path);
	if (bytes.length !== tensorBytes(input))
		throw new Error(`Input ${input.name} has ${bytes.length} bytes, expected ${tensorBytes(input)}.`);
	return toOrtTensor(ort, input, bytes);
}

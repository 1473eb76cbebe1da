// Changes one weight tensor after the other in a scratch copy of a model, runs all cases each time, and puts the tensor back.
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { mutateWeights } from "../../../core/golden/record/mutate.ts";
import { type CaseReply, caseLine, type MutateTask, type Reply, type WeightReply } from "../protocol.ts";
import { tryCase } from "./infer.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";

export async function runMutate(task: MutateTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const weights: WeightReply[] = [];
	for (const [turn, weight] of task.weights.entries()) {
		weights.push(await mutateOne(ort, task, { weight, turn }));
		process.stdout.write(`${caseLine}${turn + 1}\n`);
	}
	return { kind: "mutate", weights };
}

async function mutateOne(ort: Ort, task: MutateTask, at: { weight: MutateTask["weights"][number]; turn: number }): Promise<WeightReply> {
	const { path, offset, bytes, dtype, index } = at.weight;
	const file = openSync(path, "r+");
	try {
		const original = new Uint8Array(bytes);
		if (readSync(file, original, 0, bytes, offset) !== bytes) return { state: "broke", message: `${path} ends before the tensor does.` };
		const mutated = mutateWeights(original, dtype, { relative: task.relative, seed: task.seed, index });
		if (!mutated.changed) return { state: "unchanged" };
		writeSync(file, mutated.bytes, 0, bytes, offset);
		try {
			return await runChanged(ort, task, at.turn);
		} finally {
			writeSync(file, original, 0, bytes, offset);
		}
	} finally {
		closeSync(file);
	}
}

async function runChanged(ort: Ort, task: MutateTask, turn: number): Promise<WeightReply> {
	try {
		const session = await openSession(ort, task, { level: task.level });
		const cases: CaseReply[] = [];
		for (const [index, item] of task.cases.entries()) {
			cases.push(await tryCase({ ort, session }, item.inputs, { folder: task.outputFolder, prefix: `w${turn}-${index}` }));
		}
		await session.release();
		return { state: "ran", cases };
	} catch (error) {
		return { state: "broke", message: error instanceof Error ? error.message : String(error) };
	}
}

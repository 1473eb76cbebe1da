// Tries defects: damages a weight tensor in a scratch copy of the model, runs cases until the verdict is settled, and restores the
// tensor.
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { brokenVerdict, type Trial, watchDefect } from "../../../golden/core/record/defects/judge.ts";
import { damageWeights } from "../../../golden/core/record/defects/weights.ts";
import type { Tensor } from "../../../golden/core/tensor/tensor.ts";
import { type DefectTask, defectLine, type Reply, type TensorPlace } from "../protocol.ts";
import { runCase } from "./infer.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";

export async function runDefects(task: DefectTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const trial = {
		...task.trial,
		reference: task.cases.map(({ expected }) => Object.fromEntries(expected.map(readTensor))),
	};
	// Cases that settled the most verdicts run first.
	const settled = task.cases.map(() => 0);
	for (const one of task.defects) {
		const verdict = await tryDefect(one, { ort, task, trial, settled });
		process.stdout.write(`${defectLine}${JSON.stringify({ number: one.number, verdict })}\n`);
	}
	return { kind: "defects" };
}

function readTensor({ name, dtype, shape, path }: TensorPlace): [string, Tensor] {
	return [name, { dtype, shape, data: new Uint8Array(readFileSync(path)) }];
}

interface Trying {
	ort: Ort;
	task: DefectTask;
	trial: Trial;
	settled: number[];
}

/** null: no byte of the tensor changes. */
async function tryDefect({ path, place, defect }: DefectTask["defects"][number], trying: Trying) {
	const file = openSync(path, "r+");
	try {
		const original = new Uint8Array(place.bytes);
		if (readSync(file, original, 0, place.bytes, place.offset) !== place.bytes)
			throw new Error(`${path} ends before ${place.name} does.`);
		const damaged = damageWeights(original, place, defect);
		if (!damaged.changed) return null;
		writeSync(file, damaged.bytes, 0, place.bytes, place.offset);
		try {
			return await runDamaged(trying);
		} finally {
			writeSync(file, original, 0, place.bytes, place.offset);
		}
	} finally {
		closeSync(file);
	}
}

async function runDamaged({ ort, task, trial, settled }: Trying) {
	const watch = watchDefect(trial);
	const order = settled
		.map((_, index) => index)
		.sort((left, right) => (settled[right] ?? 0) - (settled[left] ?? 0));
	try {
		const session = await openSession(ort, task, { level: task.level });
		try {
			for (const index of order) {
				const engine = { ort, session, sequence: task.sequence };
				const outputs = await runCase(engine, task.cases[index]?.inputs ?? []);
				if (!watch.see(index, outputs)) continue;
				settled[index] = (settled[index] ?? 0) + 1;
				break;
			}
		} finally {
			await session.release();
		}
	} catch {
		return brokenVerdict(trial);
	}
	return watch.verdict();
}

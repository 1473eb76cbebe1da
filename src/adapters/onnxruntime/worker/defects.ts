// Tries defects: damages a weight tensor in a scratch copy of the model, runs cases until the verdict is settled, and restores the
// tensor.
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { brokenVerdict, type Trial, watchDefect } from "../../../golden/core/record/defects/judge.ts";
import { damageWeights } from "../../../golden/core/record/defects/weights.ts";
import { tensorBytes } from "../../../golden/core/tensor/tensor.ts";
import { type DefectTask, defectLine, type Reply, type TensorPlace } from "../protocol.ts";
import { readPlaces, runCase } from "./infer.ts";
import { loadRuntime, type Ort, openSession } from "./runtime.ts";

export async function runDefects(task: DefectTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const trial = {
		...task.trial,
		reference: task.cases.map(({ expected }) => readPlaces(expected)),
	};
	const cases = task.cases.map(({ inputs }) => ({ inputs, size: sizeOf(inputs), tried: 0, settled: 0 }));
	for (const one of task.defects) {
		const verdict = await tryDefect(one, { ort, task, trial, cases });
		process.stdout.write(`${defectLine}${JSON.stringify({ number: one.number, verdict })}\n`);
	}
	return { kind: "defects" };
}

interface Case {
	inputs: readonly TensorPlace[];
	size: number;
	tried: number;
	settled: number;
}

const sizeOf = (inputs: readonly TensorPlace[]) =>
	Math.max(
		1,
		inputs.reduce((sum, layout) => sum + tensorBytes(layout), 0),
	);

/** How likely a case is to settle a verdict, for its time: a batch takes as many times longer as it has rows. */
const worthOf = ({ size, tried, settled }: Case) => (settled + 1) / (tried + 2) / size;

interface Trying {
	ort: Ort;
	task: DefectTask;
	trial: Trial;
	cases: readonly Case[];
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

async function runDamaged({ ort, task, trial, cases }: Trying) {
	const watch = watchDefect(trial);
	const order = [...cases.entries()].sort(([, left], [, right]) => worthOf(right) - worthOf(left));
	try {
		const session = await openSession(ort, task, { level: task.level });
		try {
			for (const [index, one] of order) {
				one.tried += 1;
				const outputs = await runCase({ ort, session, sequence: task.sequence }, one.inputs);
				if (!watch.see(index, outputs)) continue;
				one.settled += 1;
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

// Tries defects on a copy of the model, in a worker process that takes no other job afterwards; a worker that dies is started again
// behind the defect that it died of.

import { writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { brokenVerdict } from "../../core/golden/record/defects/judge.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import type { DefectJob, DefectResult, PlannedDefect } from "../../ports/reference.ts";
import { orWriteError } from "../process/write-error.ts";
import { refusedRun } from "./count.ts";
import { type Copy, copyModel } from "./model-copy.ts";
import { parseDefectLine, type TensorPlace } from "./protocol.ts";
import { inFolder, placeCases, type ReferenceContext, runtimeJob } from "./reference-job.ts";
import { drawsRandomly } from "./worker-hosts.ts";
import { runWorker, type TaskOf } from "./worker-process.ts";

export function tryDefects(job: DefectJob, context: ReferenceContext): Promise<DefectResult> {
	return inFolder<DefectResult>(job, async (folder) => {
		const copy = await copyModel(job.model, join(folder, "model"));
		const inputs = await placeCases(job.cases, folder);
		const cases = [];
		for (const [index, { inputs: of }] of inputs.entries())
			cases.push({ inputs: of, expected: await writeExpected(job, folder, index) });
		return workThrough({ ...job, copy, cases }, context);
	});
}

interface Work extends Omit<DefectJob, "cases"> {
	copy: Copy;
	cases: TaskOf<"defects">["cases"];
}

const mostDeaths = 8;

async function workThrough(work: Work, context: ReferenceContext): Promise<DefectResult> {
	const started = performance.now();
	let open = work.defects;
	for (let deaths = 0; ; deaths += 1) {
		const tried = new Set<number>();
		const limits = {
			logPath: work.logPath,
			timeoutMs: Math.max(1, work.timeoutMs - (performance.now() - started)),
			isAlone: drawsRandomly(work.model.onnx),
			onLine: (line: string) => {
				const found = parseDefectLine(line);
				if (found === null) return;
				tried.add(found.number);
				work.onVerdict(found.number, found.verdict);
			},
		};
		const ran = await runWorker<"defects">(taskOf(work, open, context), context.options, limits);
		if (ran.state === "done") return { state: "done" };
		if (ran.state === "refused") return { state: "failed", failure: refusedRun(ran) };
		if (ran.failure.code === "tool-timeout") return { state: "time" };
		open = open.filter(({ number }) => !tried.has(number));
		const [fatal, ...others] = open;
		if (ran.failure.code === "interrupted" || fatal === undefined || deaths >= mostDeaths)
			return { state: "failed", failure: ran.failure };
		work.onVerdict(fatal.number, brokenVerdict(work.trial));
		open = others;
	}
}

function taskOf(
	{ copy, cases, trial, variant }: Work,
	defects: readonly PlannedDefect[],
	context: ReferenceContext,
): TaskOf<"defects"> {
	const { reference: _, ...rest } = trial;
	return {
		kind: "defects",
		...runtimeJob({ variant }, context),
		modelPath: copy.path,
		external: copy.external,
		level: variant.level,
		cases,
		trial: rest,
		defects: defects.map(({ number, place, defect }) => {
			const path = place.file === null ? copy.path : resolve(dirname(copy.path), place.file);
			return { number, path, place, defect };
		}),
	};
}

async function writeExpected({ trial }: DefectJob, folder: string, index: number): Promise<TensorPlace[]> {
	const places: TensorPlace[] = [];
	for (const [k, [name, tensor]] of Object.entries(trial.reference[index] ?? {}).entries()) {
		const path = join(folder, `expected-${index}-${k}.bin`);
		await write(path, tensor);
		places.push({ name, dtype: tensor.dtype, shape: tensor.shape, path });
	}
	return places;
}

async function write(path: string, { data }: Tensor): Promise<void> {
	await orWriteError(writeFile(path, data), path);
}

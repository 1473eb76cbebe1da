// Tries defects on a copy of the model in a worker process, which takes no other job afterwards. A worker that dies is started again
// after the defect that killed it.

import { dirname, join, resolve } from "node:path";
import { brokenVerdict } from "../../golden/core/record/defects/judge.ts";
import type { DefectJob, DefectResult } from "../../ports/reference.ts";
import type { OnnxRuntimeOptions } from "./backend.ts";
import { inFolder, placeCases, writeTensors } from "./infer.ts";
import { copyModel } from "./model-files.ts";
import { parseDefectLine } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";
import { drawsRandomly, runWorker, type TaskOf } from "./worker-process.ts";

export function tryDefects(
	job: DefectJob,
	{ flavour, folder: runtimeFolder }: Runtime,
	options: OnnxRuntimeOptions,
): Promise<DefectResult> {
	return inFolder<DefectResult>(job, async (folder) => {
		const { reference, ...trial } = job.trial;
		const copy = await copyModel(job.model, join(folder, "model"));
		const inputs = await placeCases(job.cases, folder);
		const cases = [];
		for (const [index, item] of inputs.entries())
			cases.push({
				...item,
				expected: await writeTensors(reference[index] ?? {}, folder, `expected-${index}`),
			});
		const defects = job.defects.map(({ number, place, defect }) => {
			const path = place.file === null ? copy.path : resolve(dirname(copy.path), place.file);
			return { number, path, place, defect };
		});
		const { level, threads } = job.variant;
		const model = { modelPath: copy.path, external: copy.external };
		const { sequence } = job.model;
		const runtime = { flavour, folder: runtimeFolder, threads, level, sequence };
		return workThrough(job, { kind: "defects", ...runtime, ...model, cases, trial, defects }, options);
	});
}

/** A worker that dies more often is the machine's fault. */
const mostDeaths = 8;

async function workThrough(
	job: DefectJob,
	task: TaskOf<"defects">,
	options: OnnxRuntimeOptions,
): Promise<DefectResult> {
	const started = performance.now();
	let open = task.defects;
	for (let deaths = 0; ; deaths += 1) {
		const tried = new Set<number>();
		const ran = await runWorker<"defects">({ ...task, defects: open }, options, {
			logPath: job.logPath,
			timeoutMs: Math.max(1, job.timeoutMs - (performance.now() - started)),
			isAlone: drawsRandomly(job.model.onnx),
			onLine: (line) => {
				const found = parseDefectLine(line);
				if (found === null) return;
				tried.add(found.number);
				job.onVerdict(found.number, found.verdict);
			},
		});
		if (ran.state === "done") return { state: "done" };
		if (ran.refused !== undefined) return { state: "failed", failure: ran.failure };
		if (ran.failure.code === "tool-timeout") return { state: "time" };
		const [fatal, ...others] = open.filter(({ number }) => !tried.has(number));
		if (ran.failure.code === "interrupted" || fatal === undefined || deaths >= mostDeaths)
			return { state: "failed", failure: ran.failure };
		job.onVerdict(fatal.number, brokenVerdict(job.trial));
		open = others;
	}
}

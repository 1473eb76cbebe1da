// ONNX Runtime as the source of goldens: runs a model file as it is, in any build, level and thread count, and with defects.

import { writeFile } from "node:fs/promises";
import { availableParallelism, platform, release } from "node:os";
import { dirname, join, resolve } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import { oldestRoundedOpset, planRounding, type RoundingPlan } from "../../core/onnx/rounding/round.ts";
import { memorySource } from "../../formats/bytes/byte-source.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import { rewriteOnnx } from "../../formats/onnx/write.ts";
import { brokenVerdict } from "../../golden/core/record/defects/judge.ts";
import type { InferResult, InferredCase } from "../../ports/backend.ts";
import type {
	DefectJob,
	DefectResult,
	EmulationJob,
	EmulationResult,
	Reference,
	ReferenceJob,
} from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { readInput } from "../process/input-file.ts";
import { messageOf } from "../process/spawn.ts";
import { orWriteError } from "../process/write-error.ts";
import { cpuName, type OnnxRuntimeOptions } from "./backend.ts";
import { inFolder, placeCases, runCases, writeTensors } from "./infer.ts";
import { type KeptCases, resumeCases } from "./kept-cases.ts";
import { copyExternal, copyModel, externalOf, markOutputs } from "./model-files.ts";
import { parseDefectLine } from "./protocol.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";
import { drawsRandomly, runWorker, type TaskOf } from "./worker-process.ts";

export interface ReferenceOptions extends OnnxRuntimeOptions {
	kept?: KeptCases;
}

export function onnxRuntimeReference(options: ReferenceOptions): Omit<Reference, "weights"> {
	const known = new Map<string, Promise<Runtime>>();
	const runtimeOf = (flavour: OnnxRuntimeOptions["flavour"]) => {
		const runtime = known.get(flavour) ?? chooseRuntime({ ...options, flavour });
		known.set(flavour, runtime);
		return runtime;
	};
	const run = async (job: ReferenceJob) => {
		const runtime = await runtimeOf(job.variant.flavour);
		const runOpen = (open: ReferenceJob) => runReference(open, runtime, options);
		const { kept } = options;
		return job.resumes && kept ? resumeCases(job, runtime, kept, runOpen) : runOpen(job);
	};
	return {
		builds: () => findBuilds(options.flavour, runtimeOf),
		otherBuild: (timeoutMs) =>
			findOther({ ...options, timeoutMs }, runtimeOf, (found) => known.set("native", found)),
		machine: () => ({ device: cpuName(options), os: `${platform()} ${release()}` }),
		run,
		emulate: (job) => runEmulation(job, run),
		mark: markOutputs,
		tryDefects: async (job) => tryDefects(job, await runtimeOf(job.variant.flavour), options),
		parallelRuns,
	};
}

/** WebAssembly first: it gives the same bits on every machine. Native if it is requested. */
async function findBuilds(
	wanted: OnnxRuntimeOptions["flavour"],
	runtimeOf: (flavour: OnnxRuntimeOptions["flavour"]) => Promise<Runtime>,
) {
	const runtimes: Runtime[] = [];
	if (wanted === "native") runtimes.push(await runtimeOf("native"));
	runtimes.push(await runtimeOf("wasm"));
	const found = wanted === "auto" ? await runtimeOf("auto") : null;
	if (found?.flavour === "native") runtimes.push(found);
	return runtimes.map(({ flavour, version }) => ({ flavour, version }));
}

/** Native is installed for it, unless a build was chosen. */
async function findOther(
	options: OnnxRuntimeOptions & { timeoutMs: number },
	runtimeOf: (flavour: OnnxRuntimeOptions["flavour"]) => Promise<Runtime>,
	keep: (native: Promise<Runtime>) => void,
) {
	const { flavour, nativeFolder, timeoutMs } = options;
	if (flavour === "wasm") return { why: "`--onnxruntime wasm` leaves it out", isLate: false };
	const started = performance.now();
	try {
		if (flavour === "native") return await runtimeOf("wasm");
		if (nativeFolder !== undefined) return await runtimeOf("auto");
		const native = await chooseRuntime({ ...options, flavour: "native", onNative: undefined });
		keep(Promise.resolve(native));
		return native;
	} catch (error) {
		const why = messageOf(error).replace(/\.$/, "");
		return { why, isLate: performance.now() - started >= timeoutMs };
	}
}

const mostModelBytes = 2 ** 31;
const mostRuns = 16;

function parallelRuns({ onnx, external }: ModelOnDisk) {
	const bytes = external.reduce((sum, { neededBytes }) => sum + neededBytes, onnx.bytes);
	const fitting = Math.floor(mostModelBytes / Math.max(1, bytes));
	return Math.max(1, Math.min(availableParallelism(), mostRuns, fitting));
}

function runReference(job: ReferenceJob, runtime: Runtime, options: OnnxRuntimeOptions) {
	const { model, stopAtFirst, resumes, variant } = job;
	const { level, threads } = variant;
	const { flavour, folder } = runtime;
	const place = { modelPath: model.path, external: externalOf(model) };
	const task = { flavour, folder, ...place, threads, level, stopAtFirst, resumes };
	return inFolder(job, (scratch) => runCases({ ...job, task }, scratch, options));
}

const maxModelBytes = 1024 ** 3;

async function runEmulation(
	job: EmulationJob,
	run: (job: ReferenceJob) => Promise<InferResult>,
): Promise<EmulationResult> {
	const { model, precision } = job;
	const bytes = model.onnx.bytes + model.external.reduce((sum, file) => sum + file.neededBytes, 0);
	const opset = model.onnx.opsets[""] ?? 0;
	if (bytes > maxModelBytes) return absent("is larger than 1 GiB");
	if (opset < oldestRoundedOpset)
		return absent(`uses operator set ${opset}, which lacks what rounding takes`);
	const original = await readInput(model.path, inputKinds.model);
	const plan = planRounding(readOnnx(memorySource(original), model.path), precision);
	if (plan === null) return absent("computes nothing in fp32 that could be rounded");
	return inFolder<EmulationResult>(job, async (folder) => {
		await copyExternal(model, folder);
		const path = join(folder, "model.onnx");
		await orWriteError(writeFile(path, rewriteOnnx(original, plan.edit)), path);
		const result = await run({ ...job, model: { ...model, path }, scratchFolder: folder });
		if (result.state === "failed") return result;
		const beyond = new Set<string>();
		return {
			state: "done",
			cases: result.cases.map((item) => withoutRanges(item, plan, beyond)),
			tensors: plan.tensors.length,
			beyondRange: [...beyond],
			wallMs: result.wallMs,
		};
	});
}

function absent(why: string): EmulationResult {
	return { state: "absent", sentence: `the model ${why}` };
}

function withoutRanges(item: InferredCase, { rangeOutput, tensors }: RoundingPlan, beyond: Set<string>) {
	if (item.state === "failed") return item;
	const { [rangeOutput]: ranges, ...outputs } = item.outputs;
	const view = ranges && new DataView(ranges.data.buffer, ranges.data.byteOffset, ranges.data.byteLength);
	// The first number is a zero, so that the output is never empty.
	// A sequence has them once for each step.
	for (let step = 0; view && step < view.byteLength; step += 4 * (1 + tensors.length))
		for (const [index, name] of tensors.entries())
			if (!Number.isFinite(view.getFloat32(step + 4 + index * 4, true))) beyond.add(name);
	return { ...item, outputs };
}

function tryDefects(
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

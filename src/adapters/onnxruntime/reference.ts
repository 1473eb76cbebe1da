// ONNX Runtime as the maker of goldens: runs a model file as it is, in any build, level and thread count, and with weights changed.
import { rm } from "node:fs/promises";
import { cpus, platform, release } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { MutationRun } from "../../core/golden/record/mutate-judge.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { explainRun } from "../../formats/onnxruntime/failures.ts";
import type { InferCase, InferResult, InferredCase } from "../../ports/backend.ts";
import type { MutationJob, MutationResult, Reference, ReferenceJob } from "../../ports/reference.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { makeFolders } from "../process/folder.ts";
import type { OnnxRuntimeOptions } from "./backend.ts";
import { asFailure } from "./build.ts";
import { runEmulation } from "./emulate.ts";
import { readOutputs, writeInputs } from "./infer.ts";
import { refusedRun } from "./measure.ts";
import { type Copy, copyModel } from "./model-copy.ts";
import { type CaseReply, caseLine, type MutateTask, type TensorPlace, type WeightReply } from "./protocol.ts";
import { chooseRuntime, type Runtime } from "./runtime.ts";
import { badOutput, runWorker } from "./worker-process.ts";

export function onnxRuntimeReference(options: OnnxRuntimeOptions): Omit<Reference, "weights"> {
	const nativeFolders = [...(options.nativeFolder === undefined ? [] : [options.nativeFolder]), options.cwd ?? process.cwd()];
	const known = new Map<string, Promise<Runtime>>();
	const runtimeOf = (flavour: "auto" | "wasm" | "native"): Promise<Runtime> => {
		const runtime = known.get(flavour) ?? chooseRuntime({ ...options, flavour, nativeFolders });
		known.set(flavour, runtime);
		return runtime;
	};
	return {
		builds: () => findBuilds(options.flavour, runtimeOf),
		machine: () => ({ device: options.cpuName ?? (cpus()[0]?.model.trim() || "unknown CPU"), os: `${platform()} ${release()}` }),
		run: async (job) => runReference(job, { options, runtime: await runtimeOf(job.variant.flavour) }),
		emulate: async (job) =>
			runEmulation(job, async (rounded) => runReference(rounded, { options, runtime: await runtimeOf(job.variant.flavour) })),
		mutate: async (job) => runMutations(job, { options, runtime: await runtimeOf(job.variant.flavour) }),
	};
}

/** WebAssembly first: it gives the same bits on every machine. Native where it is installed or requested. */
async function findBuilds(wanted: OnnxRuntimeOptions["flavour"], runtimeOf: (flavour: "auto" | "wasm" | "native") => Promise<Runtime>) {
	const runtimes: Runtime[] = [];
	if (wanted === "native") runtimes.push(await runtimeOf("native"));
	runtimes.push(await runtimeOf("wasm"));
	if (wanted === "auto") {
		const found = await runtimeOf("auto");
		if (found.flavour === "native") runtimes.push(found);
	}
	return runtimes.map(({ flavour, version }) => ({ flavour, version }));
}

interface ReferenceContext {
	options: OnnxRuntimeOptions;
	runtime: Runtime;
}

async function runReference(job: ReferenceJob, context: ReferenceContext): Promise<InferResult> {
	return inFolder(job, async (folder) => {
		const { level } = job.variant;
		const external = job.model.external.filter((file) => file.path !== null).map((file) => file.location);
		const engine = { ...runtimeJob(job, context), modelPath: job.model.path, external };
		const cases = await placeCases(job.cases, folder);
		const result = await runWorker<"infer">({ kind: "infer", ...engine, level, cases, outputFolder: folder }, context.options, job);
		const { wallMs } = result;
		if (result.state === "failed") return { state: "failed", failure: result.failure, wallMs };
		if (result.state === "refused") return { state: "failed", failure: refusedRun(result), wallMs };
		const inferred: InferredCase[] = [];
		for (const [index, item] of job.cases.entries()) {
			const read = await readReply(result.reply.cases[index], { folder, id: item.id, job });
			if ("code" in read) return { state: "failed", failure: read, wallMs };
			inferred.push(read);
		}
		return { state: "done", cases: inferred, wallMs };
	});
}

async function runMutations(job: MutationJob, context: ReferenceContext): Promise<MutationResult> {
	const result = await inFolder<MutationResult>(job, async (folder) => {
		const copy = await copyModel(job.model, join(folder, "model"));
		const task = await mutateTask(job, { folder, copy });
		const limits = { ...job, onLine: (line: string) => countWeight(line, job) };
		const ran = await runWorker<"mutate">({ ...runtimeJob(job, context), ...task }, context.options, limits);
		if (ran.state === "failed") return { state: "failed", failure: ran.failure };
		if (ran.state === "refused") return { state: "failed", failure: refusedRun(ran) };
		const runs: MutationRun[] = [];
		for (const [turn, { place }] of job.weights.entries()) {
			const run = await readRun(ran.reply.weights[turn], { folder, tensor: place.name, job });
			if ("code" in run) return { state: "failed", failure: run };
			runs.push(run);
		}
		return { state: "done", runs, wallMs: ran.wallMs };
	});
	return result;
}

function runtimeJob(job: ReferenceJob, { runtime }: ReferenceContext) {
	return { flavour: runtime.flavour, folder: runtime.folder, threads: job.variant.threads };
}

async function mutateTask(
	job: MutationJob,
	{ folder, copy }: { folder: string; copy: Copy },
): Promise<Pick<MutateTask, "kind" | "modelPath" | "external" | "level" | "cases" | "outputFolder" | "relative" | "seed" | "weights">> {
	const weights = job.weights.map(({ place, index }) => {
		const path = place.file === null ? copy.path : resolve(dirname(copy.path), place.file);
		return { index, path, offset: place.offset, bytes: place.bytes, dtype: place.dtype };
	});
	const { relative: share, seed } = job;
	const cases = await placeCases(job.cases, folder);
	return {
		kind: "mutate",
		modelPath: copy.path,
		external: copy.external,
		level: job.variant.level,
		cases,
		outputFolder: folder,
		relative: share,
		seed,
		weights,
	};
}

function countWeight(line: string, job: MutationJob): void {
	if (line.startsWith(caseLine)) job.onWeight?.(Number(line.slice(caseLine.length)));
}

async function placeCases(cases: readonly InferCase[], folder: string): Promise<{ inputs: TensorPlace[] }[]> {
	const placed: { inputs: TensorPlace[] }[] = [];
	for (const [index, item] of cases.entries()) placed.push({ inputs: await writeInputs(item, folder, index) });
	return placed;
}

interface Reading {
	folder: string;
	id: string;
	job: ReferenceJob;
}

async function readReply(reply: CaseReply | undefined, { folder, id, job }: Reading): Promise<InferredCase | ToolFailure> {
	if (reply === undefined) return badOutput(`case ${id} did not come back`, job);
	if (reply.state === "failed") return { id, state: "failed", message: explainRun(reply.message) };
	const outputs: { tensors: Record<string, Tensor> } | ToolFailure = await readOutputs(reply.outputs, folder, job);
	return "code" in outputs ? (outputs as ToolFailure) : { id, state: "done", outputs: outputs.tensors };
}

async function readRun(
	reply: WeightReply | undefined,
	{ folder, tensor, job }: { folder: string; tensor: string; job: MutationJob },
): Promise<MutationRun | ToolFailure> {
	if (reply === undefined) return badOutput(`weight ${tensor} did not come back`, job);
	if (reply.state !== "ran") return { tensor, state: reply.state };
	const outputs: Readonly<Record<string, Tensor>>[] = [];
	for (const [index, item] of job.cases.entries()) {
		const read = await readReply(reply.cases[index], { folder, id: item.id, job });
		if ("code" in read) return read;
		if (read.state === "failed") return { tensor, state: "broke" };
		outputs.push(read.outputs);
	}
	return { tensor, state: "ran", outputs };
}

/** Runs in a folder of its own, which is gone afterwards; faults of the machine come back as values. */
async function inFolder<Result>(
	job: ReferenceJob,
	work: (folder: string) => Promise<Result>,
): Promise<Result | { state: "failed"; failure: ToolFailure; wallMs: number }> {
	const started = performance.now();
	const folder = join(job.scratchFolder, "tensors");
	try {
		await makeFolders(folder);
		return await work(folder);
	} catch (error) {
		return { state: "failed", failure: asFailure(error), wallMs: performance.now() - started };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

// Sends golden cases through an engine: in TensorRT's Python API, else one trtexec process for each case.
import { appendFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { strippingFlags } from "../../core/config/tensorrt-settings.ts";
import { ToolError } from "../../core/errors.ts";
import { inParallel } from "../../core/in-parallel.ts";
import { feeds, type OnnxModel, type OnnxValue, toDType } from "../../core/onnx/model.ts";
import { runArgs, SettingError } from "../../formats/trtexec/args.ts";
import { parseVersionText } from "../../formats/trtexec/banner.ts";
import { clashingDumpNames, dumpBytes, dumpDType } from "../../formats/trtexec/output-dump.ts";
import { formatShape, type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import type { InferCase, InferJob, InferResult, InferredCase } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import { orFailure } from "../process/failure.ts";
import { inNewFolder, makeFolders } from "../process/write-error.ts";
import { failureOf } from "./failure.ts";
import {
	checkPlan,
	narrowsIntegers,
	runTrtexec,
	type TrtexecContext,
	type TrtexecRun,
	writeInputs,
} from "./run.ts";

/** A case takes 0.34 s alone and 0.18 s with company, mostly start-up. */
const atOnce = 4;

export async function inferCases(job: InferJob, context: TrtexecContext): Promise<InferResult> {
	const { cases, mode, timeoutMs, logPath, onCase } = job;
	const { path: enginePath, spec, assets, model } = job.engine;
	// The Python worker cannot load plans for a DLA.
	context.workerChoice ??= chooseWorker(context);
	const worker = spec.engine.tensorrt.dla === undefined ? await context.workerChoice : null;
	if (worker !== null) {
		const plugins = (assets?.plugins ?? []).map(({ path }) => path);
		const { path: onnxPath, sequence } = model;
		const isStripped = spec.engine.tensorrt.flags.some((flag) => strippingFlags.some((one) => one === flag));
		const besidePath = job.beside?.path;
		const engine = { enginePath, besidePath, onnxPath, isStripped, device: 0, plugins, sequence };
		const result = await worker.infer({ ...engine, cases, mode, timeoutMs, logPath, onCase });
		if (result.state === "done" || result.failure.code !== "tool-missing") return result;
		context.note(`Golden cases ran in trtexec, one process each: ${result.failure.message}`);
	}
	if (mode === undefined && model.sequence === undefined) return inferByTrtexec(job, context);
	const message =
		mode === undefined
			? "A decoder's sequences need TensorRT's Python package, which feeds each step's cache to the next, and no DLA."
			: "Start-up, memory growth and load were not measured: they need TensorRT's Python package, and no DLA.";
	if (mode !== undefined) context.note(message);
	return { state: "failed", failure: { code: "tool-missing", message }, wallMs: 0 };
}

async function chooseWorker({ worker, trtexec, note }: TrtexecContext) {
	const inTrtexec = (why: string) => {
		note(`Golden cases ran in trtexec, one process each: ${why.replace(/\.$/, "")}.`);
		return null;
	};
	if (worker === undefined) return inTrtexec("no Python worker is set up");
	const probed = await worker.probe();
	if ("absent" in probed) return inTrtexec(probed.absent);
	if (parseVersionText(probed.tensorrt)?.text !== trtexec.version.text)
		return inTrtexec(`Python has TensorRT ${probed.tensorrt}, trtexec is ${trtexec.version.text}`);
	note(`Golden cases ran in TensorRT's Python API (${probed.tensorrt}).`);
	return worker;
}

async function inferByTrtexec(job: InferJob, context: TrtexecContext): Promise<InferResult> {
	const started = performance.now();
	const clash = clashOf(job);
	if (clash !== null) return { state: "failed", failure: clash, wallMs: 0 };
	return orFailure(async () => {
		await makeFolders(job.scratchFolder);
		await rm(job.logPath, { force: true });
		const cases = await inNewFolder("cases-", (folder) => runAll(job, folder, context), job.scratchFolder);
		return { state: "done", cases, isSeparate: true, wallMs: performance.now() - started };
	});
}

function clashOf(job: InferJob): ToolFailure | null {
	const { graph } = job.engine.model.onnx;
	const [group] = [graph.outputs, feeds(graph)].flatMap((values) =>
		clashingDumpNames(values.map(({ name }) => name)),
	);
	if (group === undefined) return null;
	return {
		code: "tool-output",
		message: `trtexec writes the tensors ${group.map((name) => JSON.stringify(name)).join(" and ")} to one file, so neither can be read.`,
		fix: "Install TensorRT's Python package, which needs no files, or rename one of them in the ONNX file.",
	};
}

class CaseError extends Error {}

/** The first fault of the machine is thrown and stops the rest. */
async function runAll(job: InferJob, folder: string, context: TrtexecContext) {
	let done = 0;
	let fault: unknown;
	const runCase = async ({ id, inputs, needsOthers }: InferCase, index: number): Promise<InferredCase> => {
		if (needsOthers) return { id, state: "done", outputs: {} };
		const cwd = join(folder, `case${index}`);
		const logPath = `${cwd}.log`;
		try {
			if (fault !== undefined) throw fault;
			await makeFolders(cwd);
			return { id, state: "done", outputs: await inferCase(inputs, { job, cwd, logPath }, context) };
		} catch (error) {
			if (error instanceof CaseError) return { id, state: "failed", message: error.message };
			if (error instanceof SettingError)
				return { id, state: "failed", message: `${error.message} ${error.fix}` };
			fault ??= error;
			return { id, state: "failed", message: "" };
		} finally {
			await appendFile(job.logPath, await readFile(logPath).catch(() => ""));
			await rm(cwd, { recursive: true, force: true });
			done += 1;
			job.onCase?.(done);
		}
	};
	const cases = await inParallel(job.cases, atOnce, runCase);
	if (fault !== undefined) throw fault;
	return cases;
}

type Tensors = Readonly<Record<string, Tensor>>;

/** @throws CaseError, SettingError; ToolError for faults of the machine: no other case need be tried. */
async function inferCase(
	given: Tensors,
	{ job, cwd, logPath }: { job: InferJob; cwd: string; logPath: string },
	context: TrtexecContext,
) {
	const { engine, timeoutMs } = job;
	const { onnx } = engine.model;
	checkInputs(given, onnx, context);
	const tensors = Object.entries(given).map(([name, tensor]) => ({ name, ...tensor }));
	const inputs = await writeInputs(cwd, tensors);
	const argv = runArgs(engine, inputs, { task: "infer" }, context);
	const plan = await checkPlan(engine.path, context);
	const run = await runTrtexec({ argv, cwd, logPath, timeoutMs, inputs, ...plan }, context);
	const { diagnosis, record } = run;
	if (diagnosis.kind === "refusal" && record.state === "exited")
		throw new CaseError(`${diagnosis.title} [${diagnosis.code}] ${diagnosis.fix}`);
	// The case's own log goes with its folder; all are in the job's.
	if (diagnosis.kind !== "none") throw new ToolError({ ...failureOf(run), log: job.logPath });
	return readOutputs(run, cwd, onnx);
}

/** trtexec silently reads a file of another type or of twice the size. */
function checkInputs(inputs: Tensors, { graph }: OnnxModel, context: TrtexecContext) {
	const wanted = new Map(feeds(graph).map((feed) => [feed.name, feed]));
	for (const [name, tensor] of Object.entries(inputs)) {
		const feed = wanted.get(name);
		const misfit =
			feed === undefined
				? "is none of the engine's"
				: (typeMisfit(tensor, feed, context) ?? shapeMisfit(tensor, feed));
		if (misfit !== null) throw new CaseError(`input ${name} ${misfit}`);
		wanted.delete(name);
	}
	for (const missing of wanted.keys()) throw new CaseError(`the case gives no values for input ${missing}`);
}

function typeMisfit(tensor: Tensor, feed: OnnxValue, { trtexec }: TrtexecContext) {
	const dtype = toDType(feed.dtype);
	if (dtype !== tensor.dtype) return `is ${tensor.dtype}, the model's is ${dtype ?? feed.dtype}`;
	if (dtype !== "int64" || !narrowsIntegers({ trtexec })) return null;
	return `is int64, which TensorRT ${trtexec.version.text} takes as int32: install TensorRT's Python package, which converts it`;
}

function shapeMisfit(tensor: Tensor, { dims }: OnnxValue) {
	const { shape, data } = tensor;
	const bytes = tensorBytes(tensor);
	if (data.length !== bytes)
		return `has ${data.length} bytes, its shape ${formatShape(shape)} needs ${bytes}`;
	const fits =
		dims === null ||
		(dims.length === shape.length &&
			dims.every((dim, axis) => typeof dim !== "number" || dim === shape[axis]));
	return fits ? null : `has the shape ${formatShape(shape)}, which the model does not take`;
}

async function readOutputs(run: TrtexecRun, folder: string, { graph }: OnnxModel) {
	// `__proto__` is a valid name of an output.
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const { name } of graph.outputs) {
		const dump = run.scan.facts.dumps.get(`output ${name}`)?.tensor;
		if (dump === undefined) throw new CaseError(`trtexec wrote no file for output ${name}`);
		const bytes = dumpBytes(dump);
		const dtype = dumpDType(dump.dtypeText);
		if (dtype === null)
			throw new CaseError(`output ${name} is ${dump.dtypeText}, which goldens do not support`);
		if (bytes === null)
			throw new CaseError(
				`the shape of output ${name} depends on the data, and trtexec's file contains only a part of it: install TensorRT's Python package`,
			);
		const data = await readFile(join(folder, dump.path)).catch(() => null);
		if (data?.length !== bytes)
			throw new CaseError(
				`trtexec's file of output ${name} ${data === null ? "is not there" : `has ${data.length} bytes, its shape ${formatShape(dump.dims)} needs ${bytes}`}`,
			);
		// Views of other types need an aligned start.
		tensors[name] = { dtype, shape: [...dump.dims], data: new Uint8Array(data) };
	}
	return tensors;
}

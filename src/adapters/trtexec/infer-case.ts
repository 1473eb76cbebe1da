// Runs one golden case in one trtexec process and reads the raw files that it leaves.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { formatShape, type Tensor, tensorBytes } from "../../core/golden/tensor/tensor.ts";
import { toDType } from "../../core/onnx/element-type.ts";
import { feeds, type OnnxModel, type OnnxValue } from "../../core/onnx/model.ts";
import { buildArgs } from "../../formats/trtexec/args.ts";
import { dumpBytes, dumpDType } from "../../formats/trtexec/output-dump.ts";
import type { InferCase, InferJob, InferredCase } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import type { TrtexecContext } from "./context.ts";
import { loadSettings, shapeSettings } from "./engine-args.ts";
import { failureOf } from "./failure.ts";
import { runTrtexec, type TrtexecRun } from "./run.ts";
import { checkPlan, type InputPlace, writeInput } from "./run-files.ts";

/** broken: the machine's fault, or all cases': no other case need be tried. */
export type CaseRun = { state: "answered"; inferred: InferredCase } | { state: "broken"; failure: ToolFailure };

export interface CaseRef {
	job: InferJob;
	/** Absolute, of this case alone: trtexec writes into it. */
	folder: string;
	logPath: string;
}

export async function inferCase(item: InferCase, place: CaseRef, context: TrtexecContext): Promise<CaseRun> {
	const refuse = (message: string): CaseRun => ({ state: "answered", inferred: { id: item.id, state: "failed", message } });
	const { onnx } = place.job.engine.model;
	const misfit = misfitOf(item, onnx, context);
	if (misfit !== null) return refuse(misfit);
	const inputs: InputPlace[] = [];
	for (const [index, [name, { data }]] of Object.entries(item.inputs).entries())
		inputs.push(await writeInput(place.folder, name, { index, data }));
	const { engine } = place.job;
	const named = Object.entries(item.inputs).map(([name, { shape }]) => ({ name, shape }));
	const enginePath = engine.path;
	const spec = { task: "infer", enginePath, ...shapeSettings(named, engine), inputs, ...loadSettings(engine, context) } as const;
	const args = buildArgs(spec, context.trtexec.version);
	if (args.kind !== "argv") return refuse(`${args.message} ${args.fix}`);
	const run = await runTrtexec(
		{
			argv: args.argv,
			cwd: place.folder,
			logPath: place.logPath,
			timeoutMs: place.job.timeoutMs,
			writes: [],
			inputs,
			...(await checkPlan(enginePath, context.built.get(enginePath))),
		},
		context,
	);
	const { diagnosis, record } = run;
	if (diagnosis.kind === "refusal" && record.state === "exited") return refuse(`${diagnosis.title} [${diagnosis.code}] ${diagnosis.fix}`);
	if (diagnosis.kind !== "none") return { state: "broken", failure: withLog(failureOf(run), place) };
	const outputs = await readOutputs(run, place, onnx);
	if (typeof outputs === "string") return refuse(outputs);
	return { state: "answered", inferred: { id: item.id, state: "done", outputs } };
}

/** The case's own log goes with its folder; all are in the job's. */
function withLog(failure: ToolFailure, { job }: CaseRef): ToolFailure {
	return { ...failure, details: { ...failure.details, log: job.logPath } };
}

/** trtexec silently reads a file of another type or of twice the size, so everything is checked before. */
function misfitOf(item: InferCase, { graph }: OnnxModel, context: TrtexecContext): string | null {
	const wanted = new Map(feeds(graph).map((feed) => [feed.name, feed]));
	for (const [name, tensor] of Object.entries(item.inputs)) {
		const feed = wanted.get(name);
		const misfit = feed === undefined ? "is none of the engine's" : (typeMisfit(tensor, feed, context) ?? shapeMisfit(tensor, feed));
		if (misfit !== null) return `input ${name} ${misfit}`;
		wanted.delete(name);
	}
	const [missing] = wanted.keys();
	return missing === undefined ? null : `the case gives no values for input ${missing}`;
}

function typeMisfit(tensor: Tensor, feed: OnnxValue, { trtexec }: TrtexecContext): string | null {
	const dtype = toDType(feed.dtype);
	if (dtype !== tensor.dtype) return `is ${tensor.dtype}, the model's is ${dtype ?? feed.dtype}`;
	if (dtype !== "int64" || trtexec.version.major >= 10) return null;
	return `is int64, which TensorRT ${trtexec.version.text} takes as int32: install TensorRT's Python package, which converts it`;
}

function shapeMisfit(tensor: Tensor, { dims }: OnnxValue): string | null {
	const { shape, data } = tensor;
	const bytes = tensorBytes(tensor);
	if (data.length !== bytes) return `has ${data.length} bytes, its shape ${formatShape(shape)} needs ${bytes}`;
	const fits = dims === null || (dims.length === shape.length && dims.every((dim, axis) => typeof dim !== "number" || dim === shape[axis]));
	return fits ? null : `has the shape ${formatShape(shape)}, which the model does not take`;
}

/** `__proto__` is a valid name of an output. A returned text names what is wrong. */
async function readOutputs(run: TrtexecRun, { folder }: CaseRef, { graph }: OnnxModel): Promise<Record<string, Tensor> | string> {
	const tensors: Record<string, Tensor> = Object.create(null);
	for (const { name } of graph.outputs) {
		const dump = run.scan.facts.dumps.get(`output ${name}`)?.tensor;
		if (dump === undefined) return `trtexec wrote no file for output ${name}`;
		const bytes = dumpBytes(dump);
		const dtype = dumpDType(dump.dtypeText);
		if (dtype === null) return `output ${name} is ${dump.dtypeText}, which goldens do not support`;
		if (bytes === null)
			return `the shape of output ${name} depends on the data, and trtexec's file contains only a part of it: install TensorRT's Python package`;
		const data = await readFile(join(folder, dump.path)).catch(() => null);
		if (data === null) return `trtexec's file of output ${name} is not there`;
		if (data.length !== bytes)
			return `trtexec's file of output ${name} has ${data.length} bytes, its shape ${formatShape(dump.dims)} needs ${bytes}`;
		// A copy of its own: views of other types need an aligned start.
		tensors[name] = { dtype, shape: [...dump.dims], data: new Uint8Array(data) };
	}
	return tensors;
}

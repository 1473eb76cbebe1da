// Loads a model and runs each case on its own, so that a case that fails does not stop the others.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { InferenceSession } from "onnxruntime-web";
import type { DType, Sequence } from "../../../../generated/golden.ts";
import { runSteps } from "../../../golden/core/sequence/sequence.ts";
import { type Tensor, tensorBytes } from "../../../golden/core/tensor/tensor.ts";
import {
	type BuildTask,
	type CaseReply,
	caseLine,
	caseReplyName,
	type InferTask,
	type Reply,
	type TensorPlace,
} from "../protocol.ts";
import { loadRuntime, type Ort, type OrtTensor, openSession } from "./runtime.ts";

export async function runBuild(task: BuildTask): Promise<Reply> {
	const ort = await loadRuntime(task);
	const session = await openSession(ort, task, { level: "all" });
	if (task.stays === true) await session.release();
	const { node, web } = ort.env.versions;
	return { kind: "build", version: node ?? web ?? "unknown" };
}

export async function runInfer(task: InferTask): Promise<Reply> {
	const started = performance.now();
	const ort = await loadRuntime(task);
	const session = await openSession(ort, task, { level: task.level ?? "all" });
	const { enough = Infinity, softMs = Infinity } = task.resumes ?? {};
	const cases: CaseReply[] = [];
	for (const [index, item] of task.cases.entries()) {
		const to = { folder: task.outputFolder, prefix: `${index}` };
		const reply = await tryCase({ ort, session, sequence: task.sequence }, item.inputs, to);
		cases.push(reply);
		writeFileSync(join(task.outputFolder, caseReplyName(index)), JSON.stringify(reply));
		process.stdout.write(`${caseLine}${index + 1}\n`);
		const isEnough = reply.state === "done" && reply.outputs.every(({ shape }) => !shape.includes(0));
		if (task.stopAtFirst === true && isEnough) break;
		if (cases.length >= enough && performance.now() - started > softMs) break;
	}
	if (task.stays === true) await session.release();
	return { kind: "infer", cases };
}

interface Engine {
	ort: Ort;
	session: InferenceSession;
	sequence?: Sequence;
}

export async function tryCase(
	engine: Engine,
	inputs: readonly TensorPlace[],
	to: { folder: string; prefix: string },
): Promise<CaseReply> {
	try {
		const outputs = Object.entries(await runCase(engine, inputs)).map(([name, tensor], k) => {
			const { data, ...layout } = tensor;
			const path = `out-${to.prefix}-${k}.bin`;
			writeFileSync(join(to.folder, path), data);
			return { name, ...layout, path };
		});
		return { state: "done", outputs };
	} catch (error) {
		return { state: "failed", message: error instanceof Error ? error.message : String(error) };
	}
}

type Tensors = Readonly<Record<string, Tensor>>;

export async function runCase(engine: Engine, inputs: readonly TensorPlace[]): Promise<Tensors> {
	const run = (feeds: Tensors) => runOnce(engine, feeds);
	const whole = readPlaces(inputs);
	return engine.sequence === undefined ? run(whole) : runSteps(engine.sequence, whole, run);
}

export function readPlaces(places: readonly TensorPlace[]): Tensors {
	const tensors = places.map(({ name, path, ...layout }) => {
		const data = readFileSync(path);
		const expected = tensorBytes(layout);
		if (data.length !== expected)
			throw new Error(`Tensor ${name} has ${data.length} bytes, expected ${expected}.`);
		return [name, { ...layout, data: new Uint8Array(data.buffer, data.byteOffset, data.length) }];
	});
	return Object.fromEntries(tensors);
}

async function runOnce({ ort, session }: Engine, inputs: Tensors) {
	const feeds = Object.entries(inputs).map(([name, tensor]) => [
		name,
		toOrtTensor(ort, { name, ...tensor }, tensor.data),
	]);
	const results = await session.run(Object.fromEntries(feeds));
	const outputs = session.outputNames.map((name) => {
		const tensor = results[name];
		if (tensor === undefined) throw new Error(`Output ${name} is missing.`);
		const { type, dims, data } = tensor;
		if (!Object.hasOwn(views, type) || !ArrayBuffer.isView(data))
			throw new Error(`Output ${name} is ${type}, which cannot be compared.`);
		const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
		return [name, { dtype: type as DType, shape: [...dims], data: bytes }];
	});
	return Object.fromEntries(outputs);
}

type View = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView;

const views: Partial<Record<DType, View & { BYTES_PER_ELEMENT: number }>> = {
	float32: Float32Array,
	float64: Float64Array,
	float16: Uint16Array,
	int8: Int8Array,
	uint8: Uint8Array,
	int16: Int16Array,
	uint16: Uint16Array,
	int32: Int32Array,
	uint32: Uint32Array,
	int64: BigInt64Array,
	uint64: BigUint64Array,
	bool: Uint8Array,
};

/** `bytes` are little-endian, and may be reused by the tensor. */
export function toOrtTensor(
	ort: Ort,
	{ name, dtype, shape }: { name: string; dtype: DType; shape: readonly number[] },
	bytes: Uint8Array,
): OrtTensor {
	const view = views[dtype];
	if (view === undefined)
		throw new Error(`Input ${name} is ${dtype}, which ONNX Runtime's JavaScript API cannot feed.`);
	const size = view.BYTES_PER_ELEMENT;
	const data = new view(aligned(bytes, size), 0, bytes.length / size);
	const make = ort.Tensor as unknown as new (
		type: string,
		data: unknown,
		dims: readonly number[],
	) => OrtTensor;
	const tensor = new make(dtype, data, shape);
	// Node 24 has Float16Array, to which the constructor converts, but the native addon does not support it.
	if (dtype === "float16") Object.defineProperty(tensor, "data", { value: data });
	return tensor;
}

function aligned(bytes: Uint8Array, size: number) {
	const { buffer, byteOffset, length } = bytes;
	const isWhole = byteOffset === 0 && buffer.byteLength === length && length % size === 0;
	return buffer instanceof ArrayBuffer && isWhole ? buffer : Uint8Array.from(bytes).buffer;
}

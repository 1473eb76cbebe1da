import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type OnnxRuntimeOptions, onnxRuntimeBackend } from "../../src/adapters/onnxruntime/backend.ts";
import { onnxRuntimeReference } from "../../src/adapters/onnxruntime/reference.ts";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import type { Backend, BuildJob, BuiltEngine, InferCase } from "../../src/ports/backend.ts";
import type { ReferenceVariant } from "../../src/ports/reference.ts";
import type { ModelOnDisk } from "../../src/ports/world.ts";
import { float32 } from "./golden-tensors.ts";
import { sha256 } from "./project.ts";

const root = join(import.meta.dirname, "../..");
export const models = join(root, "test/fixtures/onnxruntime");
export const net = join(models, "net.onnx");
export const wasmSource = join(root, "dist/ort");
export const program = (name: string): string => join(import.meta.dirname, "programs", `${name}.mjs`);

const testOptions = (): OnnxRuntimeOptions => ({
	flavour: "wasm",
	workerPath: join(root, "src/ort-worker.ts"),
	wasmFolder: wasmSource,
	cacheFolder: "/nowhere",
	processes: createProcesses(),
	threads: 1,
});

export function testBackend(changes: Partial<OnnxRuntimeOptions> = {}): Backend {
	return onnxRuntimeBackend({ ...testOptions(), ...changes });
}

export function testReference() {
	return onnxRuntimeReference(testOptions());
}

export function modelAt(path: string, external: ModelOnDisk["external"] = []): ModelOnDisk {
	const bytes = readFileSync(path);
	const none = { nodes: [], initializers: [], subgraphs: [] };
	const graph = { name: "", inputs: [], outputs: [], valueInfo: [], ...none };
	const onnx = { bytes: bytes.length, irVersion: 10, opsets: {}, graph, functions: [] };
	return { path, onnx, sha256: sha256(bytes), external } as unknown as ModelOnDisk;
}

export const fixture = (name: string): ModelOnDisk => modelAt(join(models, `${name}.onnx`));

export function buildJob(model: ModelOnDisk, folder: string, changes: Partial<BuildJob> = {}): BuildJob {
	const engine = { name: "fp32", precision: "fp32", onnx: basename(model.path) };
	return {
		spec: { id: "m/fp32", model: { name: "m" }, engine, dims: {} } as unknown as BuildJob["spec"],
		arm: "head",
		model,
		engineFolder: join(folder, "engine"),
		logPath: join(folder, "build.log"),
		timeoutMs: 600_000,
		...changes,
	};
}

export async function builtEngine(
	backend: Backend,
	model: ModelOnDisk,
	folder: string,
): Promise<BuiltEngine> {
	const job = buildJob(model, folder);
	const record = await backend.build(job);
	if (record.enginePath === undefined) throw new Error(`not built: ${JSON.stringify(record.failure)}`);
	return { spec: job.spec, arm: job.arm, record, path: record.enginePath, model };
}

export function inferJob(engine: BuiltEngine, cases: readonly InferCase[], folder: string) {
	return {
		engine,
		cases,
		scratchFolder: join(folder, "scratch"),
		logPath: join(folder, "infer.log"),
		threads: 1,
		timeoutMs: 600_000,
	};
}

export function countJob(engine: BuiltEngine, folder: string) {
	return {
		engine,
		inputs: [{ name: "image", dtype: "float32", shape: [1, 3, 32, 32], fill: "normal" }] as const,
		seed: 1,
		timeoutMs: 600_000,
		logPath: join(folder, "count.log"),
	};
}

export function referenceJob(folder: string, model: ModelOnDisk, inputs: readonly InferCase["inputs"][]) {
	return {
		model,
		cases: inputs.map((each, index) => ({ id: String(index), inputs: each })),
		variant: { flavour: "wasm", level: "basic", threads: 1 } as ReferenceVariant,
		scratchFolder: join(folder, "scratch"),
		logPath: join(folder, "log"),
		timeoutMs: 600_000,
	};
}

export function inferOne(backend: Backend, engine: BuiltEngine, inputs: InferCase["inputs"], folder: string) {
	return backend.infer(inferJob(engine, [{ id: "a", inputs }], folder));
}

export function image(value: number) {
	return float32(new Array<number>(3072).fill(value), [1, 3, 32, 32]);
}

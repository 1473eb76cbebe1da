// What the parts of bench/work.ts share: models with sizes for their inputs, and ONNX Runtime with its counters.
import { mkdtempSync, readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Arm } from "../../generated/result.ts";
import { readModel } from "../../src/adapters/files/model-reader.ts";
import { onnxRuntimeBackend } from "../../src/adapters/onnxruntime/backend.ts";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import type { Work } from "../../src/core/compare/work.ts";
import { feeds, toDType } from "../../src/core/onnx/model.ts";
import type { Backend, BuiltEngine, CountJob, TimedInput } from "../../src/ports/backend.ts";
import { fetchModel, runTool, type ZooModel } from "../zoo/fetch.ts";

const root = resolve(import.meta.dirname, "../..");
export const python = process.env["PYTHON"] ?? "python3";
export const scratch = mkdtempSync(join(tmpdir(), "trtgate-work-"));
const cache = process.env["TRTGATE_ZOO"] ?? join(homedir(), ".cache", "trtgate-zoo");

/** @param wasmFolder holds the runtime; the counted one that ships by default. */
export function runtime(wasmFolder = join(root, "dist/ort")): Backend {
	return onnxRuntimeBackend({
		...{ flavour: "wasm", wasmFolder, threads: 1, processes: createProcesses() },
		workerPath: join(root, "dist/ort/worker.js"),
		cacheFolder: join(scratch, "cache"),
	});
}

export interface Subject {
	name: string;
	path: string;
}

/** The models of the zoo, fetched once. */
export function zooModels(only: readonly string[]): Subject[] {
	const { models }: { models: ZooModel[] } = JSON.parse(
		readFileSync(join(root, "bench/zoo/models.json"), "utf8"),
	);
	const chosen = only.length === 0 ? models : models.filter(({ name }) => only.includes(name));
	return chosen.map((model) => ({
		name: model.name,
		path: fetchModel(model, { python, cache, archives: null }).path,
	}));
}

const sizes: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> = JSON.parse(
	readFileSync(join(import.meta.dirname, "sizes.json"), "utf8"),
);

/** Values of which every model makes sense: a sampling rate, a length, an index of any table. */
function fillOf(name: string, dtype: string): TimedInput["fill"] {
	if (name === "sr") return 16_000;
	if (name === "input_lengths") return 32;
	if (name.includes("mask")) return "ones";
	return dtype.startsWith("int") ? [0, 1] : "normal";
}

export async function open(
	{ name, path }: Subject,
	arm: Arm,
): Promise<{ engine: BuiltEngine; inputs: TimedInput[] }> {
	const model = await readModel(path);
	const inputs = feeds(model.onnx.graph).map((feed): TimedInput => {
		const shape =
			sizes[name]?.[feed.name] ?? (feed.dims ?? []).map((dim) => (typeof dim === "number" ? dim : 1));
		const dtype = toDType(feed.dtype) ?? "float32";
		return { name: feed.name, dtype, shape, fill: fillOf(feed.name, dtype) };
	});
	const record = {
		model: name,
		engine: "fp32",
		arm,
		state: "built",
		durationMs: 0,
		warnings: [],
	} as unknown as BuiltEngine["record"];
	return { engine: { spec: {} as BuiltEngine["spec"], arm, record, path, model }, inputs };
}

export function jobOf(opened: Awaited<ReturnType<typeof open>>): CountJob {
	return { ...opened, seed: 1, timeoutMs: 600_000, logPath: join(scratch, "worker.log") };
}

/** @throws Error where the model does not run. */
export async function countModel(backend: Backend, subject: Subject): Promise<Work> {
	const result = await backend.count?.(jobOf(await open(subject, "head")));
	if (result?.state === "counted") return result;
	const why = result?.state === "failed" ? result.failure.message : "it is not counted";
	throw new Error(`${subject.path}: ${why}`);
}

export function scriptOf<Answer>(...args: string[]): Answer {
	const lines = runTool(python, [join(import.meta.dirname, "models.py"), ...args])
		.trim()
		.split("\n");
	return JSON.parse(lines.at(-1) ?? "");
}

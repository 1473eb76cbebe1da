// Loads ONNX Runtime, as WebAssembly or native, and creates sessions.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import type { InferenceSession, Tensor, TypedTensor } from "onnxruntime-web";
import type { Level, RuntimeJob } from "../protocol.ts";

export interface Ort {
	env: {
		versions: { web?: string; node?: string };
		wasm: { wasmPaths?: unknown; wasmBinary?: Uint8Array; numThreads?: number };
	};
	Tensor: typeof Tensor;
	InferenceSession: {
		create(path: string, options: InferenceSession.SessionOptions): Promise<InferenceSession>;
	};
}

export type OrtTensor = Tensor | TypedTensor<Tensor.Type>;

/**
 * WebAssembly is optimised later than by default: a kernel's loops reach this budget in the first inferences all the same, but functions
 * that are large and not hot, one of which takes V8 a second, not within a short run. A function is validated when it is first called,
 * because most never are.
 */
const v8Flags = ["--wasm-tiering-budget=150000000", "--wasm-lazy-validation"];

interface Exports {
	halfInstructions?: { value: bigint };
}

/** The part of the WebAssembly interface used here; only the web's type library declares it. */
declare const WebAssembly: {
	compile(bytes: Uint8Array): Promise<object>;
	instantiate(module: unknown, imports: unknown): Promise<unknown>;
};

let isShared = false;
let counted: Exports = {};

export function halfInstructions(): number {
	return Number(counted.halfInstructions?.value ?? 0);
}

/** All copies of the runtime share the compiled code, which takes most of a start. */
function shareModule(path: string) {
	if (isShared) return;
	isShared = true;
	for (const flag of v8Flags) setFlagsFromString(flag);
	const { instantiate } = WebAssembly;
	let compiled: Promise<object> | null = null;
	WebAssembly.instantiate = async (_, imports) => {
		compiled ??= WebAssembly.compile(readFileSync(path));
		const module = await compiled;
		const instance = (await instantiate(module, imports)) as { exports: Exports };
		counted = instance.exports;
		return { instance, module };
	};
}

let copies = 0;

/** @param isOwn loads a copy that no other job has used or will use, with a memory of its own. */
export async function loadRuntime(job: RuntimeJob, isOwn = false): Promise<Ort> {
	if (job.flavour === "native") {
		const found: unknown = createRequire(join(job.folder, "resolve.js"))("onnxruntime-node");
		return found as Ort;
	}
	const folder = pathToFileURL(join(job.folder, "/")).href;
	shareModule(join(job.folder, "ort-wasm-simd-threaded.wasm"));
	if (isOwn) copies += 1;
	const name = isOwn ? `copy=${copies}` : `threads=${job.threads}`;
	const ort: Ort = await import(`${folder}onnxruntime.mjs?${name}`);
	ort.env.wasm.wasmPaths = folder;
	// Keeps ONNX Runtime from reading the file for each copy.
	ort.env.wasm.wasmBinary = new Uint8Array();
	ort.env.wasm.numThreads = job.threads;
	return ort;
}

export function openSession(
	ort: Ort,
	job: RuntimeJob,
	options: { level: Level; isProfiled?: true },
): Promise<InferenceSession> {
	return ort.InferenceSession.create(job.modelPath, {
		executionProviders: [job.flavour === "wasm" ? "wasm" : "cpu"],
		graphOptimizationLevel: options.level,
		executionMode: "sequential",
		intraOpNumThreads: job.threads,
		interOpNumThreads: 1,
		// Warnings: they are counted by class in the build's record. A profile is logged at the lowest level.
		logSeverityLevel: options.isProfiled === true ? 0 : 2,
		enableProfiling: options.isProfiled === true,
		...(job.flavour === "wasm" && job.external.length > 0 ? { externalData: readExternal(job) } : {}),
	});
}

/** WebAssembly cannot open files, so it gets their bytes. */
function readExternal(job: RuntimeJob) {
	return job.external.map((location) => ({
		path: location,
		data: readFileSync(join(dirname(job.modelPath), location)),
	}));
}

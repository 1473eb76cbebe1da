// Chooses TensorRT or ONNX Runtime.
import { join } from "node:path";
import type { Arm } from "../../generated/result.ts";
import { entryStore } from "../adapters/cache/entries.ts";
import { readDevice } from "../adapters/gpu/nvidia-smi.ts";
import { readBoard } from "../adapters/gpu/tegra.ts";
import type { Processes } from "../adapters/process/processes.ts";
import { trtexecBackend } from "../adapters/trtexec/backend.ts";
import { type Found, findTrtexec, libraryAdvice, readTegraDevice } from "../adapters/trtexec/find.ts";
import type { Config } from "../core/config/config.ts";
import { ConfigError } from "../core/errors.ts";
import { nsightTracer } from "../engine/adapters/nsys/tracer.ts";
import type { Device } from "../formats/tegra/tegrastats.ts";
import { tensorRtWorker } from "../golden/adapters/tensorrt-worker/worker.ts";
import type { Environment } from "../host/adapters/github/env.ts";
import type { Backend } from "../ports/backend.ts";

const maxEngineBytes = 10 * 1024 ** 3;
const maxTimingBytes = 256 * 1024 ** 2;

export interface BackendChoice {
	config: Pick<Config, "backend" | "device" | "measure" | "cache" | "base" | "libraries">;
	trtexec?: string;
	cwd: string;
	environment: Environment;
	processes: Processes;
	cacheFolder: string;
	workerPath: string;
	onnxRuntime(): Backend;
}

type ArmBackends = Readonly<Record<Arm, Backend>>;

export interface Machine {
	backends: ArmBackends;
	/** none: on the CPU. unknown: on a GPU that nvidia-smi does not describe. */
	gpu: Device | "none" | "unknown";
}

export function chosenMachine(choice: BackendChoice): { backend: Backend; gpu(): Promise<Machine["gpu"]> } {
	let chosen: Promise<Machine> | null = null;
	const machine = () => {
		chosen ??= chooseMachine(choice);
		return chosen;
	};
	return {
		backend: lazyBackend(async () => (await machine()).backends),
		gpu: async () => (await machine()).gpu,
	};
}

function lazyBackend(choose: () => Promise<ArmBackends>): Backend {
	let ready: ArmBackends | null = null;
	const of = async ({ arm }: { arm: Arm }) => {
		ready = await choose();
		return ready[arm];
	};
	const isSplit = () => ready !== null && ready.base !== ready.head;
	return {
		facts: async (arm = "head") => (await of({ arm })).facts(),
		fingerprint: async () => {
			const [own, base] = [await (await of({ arm: "head" })).fingerprint(), await of({ arm: "base" })];
			return isSplit() ? { ...own, "base-tensorrt": (await base.facts()).version } : own;
		},
		build: async ({ cacheFolder, ...job }) => {
			const backend = await of(job);
			// TensorRT reads kernel timings of its own version only.
			const own = cacheFolder === undefined || !isSplit() ? cacheFolder : `${cacheFolder}/${job.arm}`;
			return backend.build({ ...job, cacheFolder: own });
		},
		layersOf: async (engine) => (await (await of(engine)).layersOf?.(engine)) ?? null,
		calibrationOf: async (engine) => (await (await of(engine)).calibrationOf?.(engine)) ?? null,
		infer: async (job) => (await of(job.engine)).infer(job),
		measure: async (job) => (await of(job.engine)).measure(job),
		count: async (job) =>
			(await (await of(job.engine)).count?.(job)) ?? {
				state: "absent",
				reason: "TensorRT's engines are timed.",
			},
		profile: async (job) => (await (await of(job.engine)).profile?.(job)) ?? { state: "absent" },
		trace: async (job) => (await (await of(job.engine)).trace?.(job)) ?? { state: "absent" },
		notes: () => {
			const [base, own] = [ready?.base.notes?.() ?? [], ready?.head.notes?.() ?? []];
			const sideOf = (note: string): string =>
				!base.includes(note) ? "Head: " : !own.includes(note) ? "Base: " : "";
			return [...new Set([...base, ...own])].map((note) => `${sideOf(note)}${note}`);
		},
	};
}

async function chooseMachine(choice: BackendChoice): Promise<Machine> {
	const { config, processes, environment } = choice;
	const onCpu = (): Machine => {
		const backend = choice.onnxRuntime();
		return { backends: { base: backend, head: backend }, gpu: "none" };
	};
	if (config.backend === "onnxruntime") return onCpu();
	const [found, ofBase, board] = await Promise.all([
		findTrtexec({ ...choice, libraries: config.libraries }),
		config.base === undefined ? null : findTrtexec({ ...choice, ...config.base }),
		readBoard(processes),
	]);
	const wanted = environment.visibleDevices;
	const read =
		board !== null && found.state === "found"
			? await readTegraDevice(found.trtexec, { board, wanted }, found.processes)
			: await readDevice(processes, wanted);
	const required = config.backend === "tensorrt" || choice.trtexec !== undefined || ofBase !== null;
	if (ofBase?.state === "missing")
		throw missing(ofBase, { trtexec: config.base?.trtexec, pointer: "/base/trtexec" });
	if (found.state === "missing" && required) throw missing(found, choice);
	if (found.state === "missing" || (read.state !== "found" && !required && config.device === undefined))
		return onCpu();
	if (read.state === "none") throw withoutGpu(choice);
	const gpu = read.state === "found" ? read.device : null;
	const head = tensorRt(found, gpu, choice);
	const base =
		ofBase === null
			? head
			: tensorRt(ofBase, gpu, withoutSharedCaches(choice, ofBase, found), config.base?.python);
	return { backends: { base, head }, gpu: gpu ?? "unknown" };
}

/** Caches are keyed by version only. */
function withoutSharedCaches(choice: BackendChoice, base: Installation, head: Installation) {
	if (base.trtexec.version.text !== head.trtexec.version.text) return choice;
	const { config } = choice;
	return { ...choice, config: { ...config, cache: { ...config.cache, engines: false, timing: false } } };
}

type Installation = Extract<Found, { state: "found" }>;

function tensorRt(
	{ trtexec, processes }: Installation,
	gpu: Device | null,
	choice: BackendChoice,
	python = "python3",
) {
	const { config, cacheFolder, workerPath } = choice;
	const { cudaGraph, spinWait, transfers } = config.measure;
	const store = (name: string, maxBytes: number) => entryStore({ folder: join(cacheFolder, name), maxBytes });
	return trtexecBackend({
		trtexec,
		gpu,
		processes,
		timing: { cudaGraph, spinWait, transfers },
		worker: tensorRtWorker({ python, workerPath, processes }),
		caches: {
			engines: config.cache.engines ? store("engines", maxEngineBytes) : null,
			timing: config.cache.timing ? store("timing-caches", maxTimingBytes) : null,
		},
		tracer: nsightTracer({ processes }),
	});
}

function missing(
	{ tried }: Extract<Found, { state: "missing" }>,
	{ trtexec, pointer }: { trtexec?: string | undefined; pointer?: string },
) {
	const list = tried.map(({ program, why }) => `${program} ${why}`).join("; ");
	return new ConfigError({
		code: "backend-mismatch",
		message: `TensorRT is required, but trtexec${pointer === undefined ? "" : " of the base"} was not found: ${list}.`,
		pointer,
		fix:
			libraryAdvice(tried) ??
			(trtexec === undefined
				? "Install TensorRT with its programs, name trtexec with --trtexec, or set `backend: onnxruntime`."
				: "Correct the path; run `trtexec --help` by hand to see why it does not start."),
	});
}

function withoutGpu({ config, environment }: BackendChoice) {
	const { visibleDevices } = environment;
	const { device, backend } = config;
	const hidden =
		visibleDevices === undefined ? "" : ` called ${JSON.stringify(visibleDevices)} (CUDA_VISIBLE_DEVICES)`;
	const wanted =
		device === undefined
			? hidden
			: ` that is device ${JSON.stringify(device)} of the config or the command line`;
	return new ConfigError({
		code: "backend-mismatch",
		message: `TensorRT is required and trtexec is installed, but nvidia-smi lists no GPU${wanted}.`,
		pointer: device === undefined ? undefined : "/device",
		fix:
			device === undefined
				? `Run on a machine with a GPU (in a container, pass it through)${backend === "tensorrt" ? ", or set `backend: onnxruntime`" : ""}.`
				: "Write an index, UUID or MIG UUID that `nvidia-smi -L` lists; an index counts among CUDA_VISIBLE_DEVICES.",
	});
}

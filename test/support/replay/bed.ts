import { readFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { expect, onTestFinished } from "vitest";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { trtexecBackend } from "../../../src/adapters/trtexec/backend.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { parseVersionText } from "../../../src/formats/trtexec/banner.ts";
import type { Tensor } from "../../../src/golden/core/tensor/tensor.ts";
import type {
	Backend,
	BuildJob,
	BuiltEngine,
	GoldenWorker,
	InferResult,
	MeasureJob,
	MeasureResult,
} from "../../../src/ports/backend.ts";
import { loaded } from "../../core/config/load.ts";
import { temporaryFolder } from "../project.ts";
import { comparisonConfig, installReplay, type Replay, type ReplayFault } from "./install.ts";

const models = { "same-model": "encoder", "slower-head": "classifier", "wrong-head": "segmenter" } as const;

export interface Bed {
	backend: Backend;
	folder: string;
	job(change?: { config?: readonly [from: string, to: string]; model?: string }): Promise<BuildJob>;
	engine(): Promise<BuiltEngine>;
}

interface Setting extends Partial<Pick<Replay, "comparison" | "faults">> {
	version?: string;
	worker?: GoldenWorker;
}

/** As if the step left what TensorRT 10.6 leaves in this recording. */
export function recorded(step: ReplayFault["step"], name: string): ReplayFault {
	return { step, do: "recording", recording: `10.6/${name}` };
}

export function bed({
	comparison = "wrong-head",
	faults = [],
	version: versionText = "10.6.0",
	worker,
}: Setting = {}): Bed {
	const folder = temporaryFolder();
	const path = installReplay(folder, { comparison, faults });
	const processes = createProcesses({ env: { PATH: path } });
	onTestFinished(() => processes.killAll());
	const version = parseVersionText(versionText);
	if (version === null) throw new Error(versionText);
	const program = join(path.split(delimiter)[0] ?? "", "trtexec");
	const timing = { cudaGraph: true, spinWait: true, transfers: false };
	const backend = trtexecBackend({
		trtexec: { program, version },
		gpu: null,
		processes,
		timing,
		...(worker ? { worker } : {}),
	});
	const job: Bed["job"] = async ({ config = ["", ""], model = models[comparison] } = {}) => {
		const [spec] = engineSpecs(loaded(comparisonConfig(comparison).replace(config[0], config[1])));
		if (spec === undefined) throw new Error("no engine");
		const read = await readModel(resolve("test/fixtures/models", `${model}.onnx`));
		const places = {
			engineFolder: join(folder, "engine"),
			cacheFolder: join(folder, "cache"),
			logPath: join(folder, "build.log"),
		};
		return { spec, arm: "base", model: read, timeoutMs: 600_000, ...places };
	};
	const engine = async (): Promise<BuiltEngine> => {
		const asked = await job();
		const record = await backend.build(asked);
		expect(record.state, JSON.stringify(record.failure)).toBe("built");
		return { spec: asked.spec, arm: "base", record, path: record.enginePath ?? "", model: asked.model };
	};
	return { backend, folder, job, engine };
}

const goldenFolder = resolve("test/fixtures/comparisons/wrong-head/golden");

export function image(change: Partial<Tensor> = {}): Tensor {
	return {
		dtype: "float32",
		shape: [1, 3, 64, 64],
		data: new Uint8Array(readFileSync(join(goldenFolder, "image-0.bin"))),
		...change,
	};
}

export function infer(
	{ backend, folder }: Bed,
	engine: BuiltEngine,
	{
		inputs = { image: image() },
		timeoutMs = 600_000,
	}: { inputs?: Readonly<Record<string, Tensor>>; timeoutMs?: number } = {},
): Promise<InferResult> {
	const places = { scratchFolder: join(folder, "scratch"), logPath: join(folder, "verify.log") };
	return backend.infer({ engine, cases: [{ id: "a", inputs }], ...places, threads: 1, timeoutMs });
}

export function measure(
	{ backend, folder }: Bed,
	engine: BuiltEngine,
	timeoutMs = 600_000,
	paced: Pick<MeasureJob, "everyMs"> = {},
): Promise<MeasureResult> {
	return backend.measure({
		engine,
		inputs: [{ name: "image", dtype: "float32", shape: [1, 3, 64, 64], fill: "normal" }],
		streams: 1,
		seed: 1,
		warmUpMs: 10,
		durationMs: 10,
		...paced,
		threads: 1,
		timeoutMs,
		samplesPath: join(folder, "raw/a.f64"),
		logPath: join(folder, "measure.log"),
	});
}

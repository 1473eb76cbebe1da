import type { Arm } from "../../generated/result.ts";
import { noTelemetry } from "../../src/adapters/gpu/sampler.ts";
import type { OnnxModel } from "../../src/core/onnx/model.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import type { Backend, BuiltEngine, MeasureJob, MeasureResult } from "../../src/ports/backend.ts";
import type { Progress } from "../../src/ports/world.ts";
import type { Measured } from "../../src/stages/measure.ts";
import type { TimedWorkload } from "../../src/stages/workloads.ts";
import { buildConfig } from "./build-config.ts";
import { buildBuild } from "./build-result.ts";

export const silent: Progress = { stage() {}, item() {}, detail() {}, done() {} };

export function steadyRun(medianMs: number, iterations = 20): MeasureResult {
	return {
		state: "ok",
		samplesMs: new Float64Array(iterations).fill(medianMs),
		peakMemoryBytes: 1000,
		wallMs: 10,
		timedMs: iterations * medianMs,
	};
}

export function brokenRun(reason: string): MeasureResult {
	return { state: "unusable", reason, failure: { code: "tool-crashed", message: reason }, wallMs: 10 };
}

function isPilot({ samplesPath }: MeasureJob): boolean {
	return samplesPath.includes("/scratch/warm-");
}

export function fakeBackend(
	answer: (arm: Arm, nth: number, job: MeasureJob) => MeasureResult,
): Backend & { order: Arm[]; warmed: Arm[] } {
	const order: Arm[] = [];
	const warmed: Arm[] = [];
	const refuse = (): never => {
		throw new Error("only measure is faked");
	};
	const backend = {
		order,
		warmed,
		facts: refuse,
		fingerprint: refuse,
		build: refuse,
		infer: refuse,
		async measure(job: MeasureJob) {
			const { arm } = job.engine;
			if (isPilot(job)) {
				warmed.push(arm);
				return steadyRun(1);
			}
			order.push(arm);
			return answer(arm, order.length - 1, job);
		},
	};
	return backend;
}

export function fakePorts(backend: Backend, stopAfter = Number.POSITIVE_INFINITY) {
	let calls = 0;
	let now = 0;
	const counting: Backend = {
		...backend,
		measure: (job) => {
			if (!isPilot(job)) calls += 1;
			return backend.measure(job);
		},
	};
	const interrupt = { reason: () => (calls >= stopAfter ? "interrupted by SIGINT" : null) };
	const clock = { now: () => (now += 1), timestamp: () => "2026-01-01T00:00:00.000Z" };
	return { backend: counting, progress: silent, interrupt, clock, telemetry: noTelemetry() };
}

const none = { inputs: [], outputs: [], nodes: [], initializers: [], valueInfo: [] };
export const emptyModel = {
	...{ bytes: 0, irVersion: 8, producer: "", producerVersion: "", opsets: {}, functions: [] },
	graph: { name: "", ...none, subgraphs: [], sparseInitializers: [] },
} as unknown as OnnxModel;

export function fakeEngine(arm: Arm, engineSha256: string): BuiltEngine {
	const [spec] = engineSpecs(buildConfig());
	const record = buildBuild({ model: "net", engine: "plain", arm, engineSha256 });
	const model = { path: "", onnx: emptyModel, sha256: arm, external: [] };
	return { spec: spec!, arm, record, path: `/${arm}`, model };
}

export function fakeWorkload(
	name: string,
	hashes: { base?: string; head?: string },
	firstArms: readonly Arm[] = [],
): TimedWorkload {
	const head = fakeEngine("head", hashes.head ?? "b");
	const base = hashes.base === undefined ? {} : { base: fakeEngine("base", hashes.base) };
	const config = head.spec.engine.workloads[0]!;
	const workload = { id: `net/plain/${name}`, engineId: "net/plain", config };
	return { workload, head, ...base, inputs: [], firstArms };
}

export async function onlyOf(measured: AsyncIterable<Measured>) {
	const all: Measured[] = [];
	for await (const one of measured) all.push(one);
	const { rows, errors = [] } = all[0]!;
	return { row: rows[0], error: errors[0] };
}

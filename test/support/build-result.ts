import type {
	ArmStats,
	BuildRecord,
	Comparison,
	GateResult,
	GoldenCheck,
	GoldenVerdict,
	GpuWindow,
	PerfRun,
	Result,
	SiblingResult,
	WorkloadResult,
} from "../../generated/result.ts";
import { clockNotes, workloadGpu } from "../../src/core/telemetry/conditions.ts";

/** Medians of runs in µs. */
export interface RunMedians {
	base: readonly number[];
	head: readonly number[];
}

/** From recordings of TensorRT 10.6 on an H200: 400 iterations a run. */
export const recordedMedians = {
	slower: {
		base: [27.95, 27.92, 27.8, 27.86, 27.89, 27.95, 27.83, 27.92],
		head: [29.05, 29.02, 29.02, 29.02, 29.02, 29.02, 29.14, 29.11],
	},
	same: {
		base: [39.67, 39.67, 39.7, 39.61, 39.58, 39.7, 39.61, 39.7],
		head: [39.64, 39.64, 39.61, 39.61, 39.7, 39.61, 39.58, 39.67],
	},
	wrong: {
		base: [27.22, 27.19, 27.22, 27.25, 27.16, 27.19, 27.22, 27.22],
		head: [27.22, 27.22, 27.22, 27.28, 27.28, 27.19, 27.27, 27.16],
	},
} as const satisfies Record<string, RunMedians>;

export function buildComparison(overrides: Partial<Comparison> = {}): Comparison {
	return {
		verdict: "unchanged",
		estimate: -0.0006,
		interval: [-0.0028, 0.0016],
		pairs: 8,
		excluded: 0.0028,
		minimalEffect: 0.02,
		level: 0.99,
		...overrides,
	};
}

export function buildStats(medianMs: number, overrides: Partial<ArmStats> = {}): ArmStats {
	return {
		runs: 8,
		iterations: 3200,
		medianMs,
		meanMs: medianMs * 1.0003,
		minMs: medianMs * 0.994,
		p90Ms: medianMs * 1.003,
		p95Ms: medianMs * 1.004,
		p99Ms: medianMs * 1.006,
		throughputPerSecond: 1000 / medianMs,
		peakMemoryBytes: 742 * 1024 * 1024,
		...overrides,
	};
}

/** Head first in every second pair, as an interleaved schedule does. */
export function buildRuns({ base, head }: RunMedians): PerfRun[] {
	const run = (arm: "base" | "head", pair: number, medianUs: number): PerfRun => ({
		arm,
		pair,
		order: pair * 2 + ((arm === "head") === (pair % 2 === 0) ? 0 : 1),
		state: "ok",
		wallMs: 667,
		samples: `runs/${arm}-${pair}.bin`,
		iterations: 400,
		medianMs: medianUs / 1000,
		meanMs: (medianUs * 1.0003) / 1000,
		minMs: (medianUs * 0.994) / 1000,
		p90Ms: (medianUs * 1.003) / 1000,
		p95Ms: (medianUs * 1.004) / 1000,
		p99Ms: (medianUs * 1.006) / 1000,
		throughputPerSecond: 1e6 / medianUs,
		peakMemoryBytes: 742 * 1024 * 1024,
	});
	return base.flatMap((medianUs, pair) => [
		run("base", pair, medianUs),
		run("head", pair, head[pair] ?? medianUs),
	]);
}

const range = (mean: number, apart = 0) => ({ mean, min: mean - apart, max: mean + apart });

/** Readings of an H200 that ran a small net. */
export function buildGpuWindow(overrides: Partial<GpuWindow> = {}): GpuWindow {
	return {
		samples: 6,
		smClockMhz: range(1980),
		memoryClockMhz: range(3201),
		powerW: range(118, 4),
		temperatureC: range(31),
		memoryUsedBytes: 743 * 1024 * 1024,
		use: { source: "nvidia-smi", smUtilisation: 0.42, memoryBandwidth: 0.01 },
		throttleReasons: [],
		powerCapShare: 0,
		...overrides,
	};
}

export function watchGpu(
	workload: WorkloadResult,
	windowOf: (run: PerfRun) => Partial<GpuWindow> = () => ({}),
): WorkloadResult {
	const runs = workload.runs.map((run) => ({
		...run,
		gpu: buildGpuWindow({ temperatureC: range(30 + Math.floor(run.order / 4), 1), ...windowOf(run) }),
		computeShare: 0.95,
	}));
	const gpu = workloadGpu(runs, workload.latency.estimate);
	return { ...workload, runs, ...(gpu === null ? {} : { gpu, notes: clockNotes(gpu, workload.latency) }) };
}

export function buildWorkload(overrides: Partial<WorkloadResult> = {}): WorkloadResult {
	const latency = overrides.latency ?? buildComparison();
	const { model = "encoder", engine = "fp16", workload = "4 × 64" } = overrides;
	return {
		id: `${model}/${engine}/${workload}`,
		model,
		engine,
		workload,
		precision: "fp16",
		shapes: { tokens: [4, 64] },
		streams: 1,
		verdict: latency.verdict,
		latency,
		p99: buildComparison({
			estimate: 0.0001,
			interval: [-0.004, 0.0042],
			excluded: 0.0042,
			minimalEffect: 0.1,
		}),
		memory: buildComparison({ estimate: 0, interval: [0, 0], excluded: 0 }),
		base: buildStats(0.03967),
		head: buildStats(0.03963),
		noise: { runCv: 0.0011, detectable: 0.0022 },
		replaced: 0,
		limits: { warn: 0.02, fail: 0.1 },
		runs: buildRuns(recordedMedians.same),
		...overrides,
	};
}

export function buildSlowWorkload(overrides: Partial<WorkloadResult> = {}): WorkloadResult {
	return buildWorkload({
		model: "classifier",
		engine: "fp16",
		workload: "batch 8",
		shapes: { images: [8, 3, 32, 32] },
		latency: buildComparison({
			verdict: "regressed",
			estimate: 0.0416,
			interval: [0.0372, 0.0461],
			excluded: 0.0461,
		}),
		p99: buildComparison({
			verdict: "regressed",
			estimate: 0.0408,
			interval: [0.0361, 0.0456],
			excluded: 0.0456,
			minimalEffect: 0.1,
		}),
		base: buildStats(0.02791),
		head: buildStats(0.02902),
		noise: { runCv: 0.0019, detectable: 0.0044 },
		notes: ["Clocks equal on both sides."],
		runs: buildRuns(recordedMedians.slower),
		...overrides,
	});
}

/** An engine against a sibling that takes 40 µs. */
export function buildSibling(
	overrides: Partial<SiblingResult>,
	estimate: number,
	half: number,
): SiblingResult {
	const [base, head] = [0.04, 0.04 * (1 + estimate)];
	const interval: [number, number] = [estimate - half, estimate + half];
	const verdict = interval[1] < 0 ? "improved" : interval[0] > 0 ? "regressed" : "unchanged";
	return {
		...{ model: "encoder", engine: "int8", against: "fp16", workload: "4 × 64", replaced: 0 },
		latency: buildComparison({ verdict, estimate, interval, base, head, minimalEffect: 0.05 }),
		sibling: buildStats(base),
		own: buildStats(head),
		limits: { warn: 0.05 },
		...overrides,
	};
}

export function buildCheck(overrides: Partial<GoldenCheck> = {}): GoldenCheck {
	return {
		output: "hidden",
		metric: "relative-l2",
		got: 0.0012,
		allowed: 0.005,
		bound: "at-most",
		pass: true,
		severity: "fail",
		base: 0.0012,
		elements: 16384,
		worst: { index: [2, 11, 40], got: 0.5121, expected: 0.5103 },
		...overrides,
	};
}

export function buildGolden(overrides: Partial<GoldenVerdict> = {}): GoldenVerdict {
	return {
		model: "encoder",
		engine: "fp16",
		precision: "fp16",
		case: "case0",
		state: "match",
		modelChanged: false,
		checks: [buildCheck()],
		...overrides,
	};
}

export function buildBuild(overrides: Partial<BuildRecord> = {}): BuildRecord {
	return {
		model: "encoder",
		engine: "fp16",
		arm: "head",
		precision: "fp16",
		state: "built",
		durationMs: 19_200,
		engineKind: "TensorRT plan",
		engineBytes: 516_000,
		warnings: [],
		...overrides,
	};
}

export function buildGate(overrides: Partial<GateResult> = {}): GateResult {
	return {
		gate: "latency",
		model: "encoder",
		engine: "fp16",
		status: "pass",
		message: "No relevant change.",
		...overrides,
	};
}

export function buildResult(overrides: Partial<Result> = {}): Result {
	return {
		schemaVersion: 1,
		tool: { name: "trtgate", version: "0.1.0" },
		outcome: "pass",
		startedAt: "2026-11-21T09:45:00.000Z",
		durationMs: 96_400,
		childMs: 92_000,
		backend: { kind: "tensorrt", name: "TensorRT", version: "10.6.0", device: "NVIDIA H200" },
		environment: { driver: "580.159.04", cuda: "12.8", "timing cache": "shared by both sides" },
		arms: {
			base: { label: "main", ref: "main", commit: "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678" },
			head: { label: "head", commit: "d4e5f6a1b2c30718293a4b5c6d7e8f9012345678" },
		},
		config: { path: "trtgate.yml" },
		findings: [],
		builds: [buildBuild({ arm: "base", durationMs: 27_300 }), buildBuild()],
		golden: [buildGolden(), buildGolden({ case: "case1" })],
		workloads: [buildWorkload()],
		gates: [
			buildGate({ gate: "build", message: "Built in 19.2 s." }),
			buildGate({ gate: "golden", case: "case0", message: "1 check agrees with the golden." }),
			buildGate({ gate: "golden", case: "case1", message: "1 check agrees with the golden." }),
			buildGate({ workload: "4 × 64" }),
		],
		errors: [],
		notes: [],
		files: [
			{ path: "report.html", what: "this report" },
			{ path: "logs/build-encoder-fp16-head.log", what: "log of a build" },
		],
		...overrides,
	};
}

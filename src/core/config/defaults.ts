// Every default of trtgate.yml, and the reason for its value.
import type { Precision } from "../schema/config.ts";
import type { Config, Gates, MeasureConfig, ProbesConfig, Threshold } from "./config.ts";

const latency: Threshold = {
	// The smallest change that five to eight pairs detect on a quiet GPU (run noise up to 1 %).
	warn: 0.02,
	// Far above the variation between builds (about 1 %) and noise: certainly a real change.
	fail: 0.1,
};

// A tail estimated from one run of 3 s scatters by 3 to 5 %, so its limits lie wider than those of the median.
const p99: Threshold = { warn: 0.1, fail: 0.2 };

// Memory is counted, not sampled; 5 % is more than the allocator's rounding.
const memory: Threshold = { fail: 0.05 };

// Two builds of one model differ by less; a lost fusion or a fallback to fp32 weights adds more.
const engineSize: Threshold = { fail: 0.1 };

// Build time depends on caches and other processes, so it only warns.
const buildTime: Threshold = { warn: 0.5 };

// A GPU that keeps its clocks drifts by about 1 % (measured on an H200); one that throttles by more than the latency may.
const soakDrift: Threshold = { warn: 0.02, fail: 0.1 };

// The count is exact. What it says about a GPU is not, so by default it only warns.
const work: Threshold = { warn: 0.02 };

/**
 * Largest relative L2 error to an fp32 reference. fp32 engines may compute in TF32 (5e-4 measured on real engines),
 * fp16 stays below 2.5e-3, a weight tensor that is 4 % wrong shows as 3.3e-2.
 */
const relativeL2: Readonly<Record<Precision, number>> = {
	fp32: 1e-3,
	tf32: 5e-3,
	fp16: 5e-3,
	// Three mantissa bits fewer than fp16.
	bf16: 2e-2,
	int8: 5e-2,
	// Three mantissa bits, as e4m3: the rounding alone may reach 0.1.
	fp8: 1e-1,
	// Four bits: beyond gross errors, only a task metric in the golden manifest is meaningful.
	int4: 2e-1,
	fp4: 2e-1,
};

export const defaultGates: Omit<Gates, "pointers"> = {
	latency,
	p99,
	memory,
	engineSize,
	buildTime,
	soakDrift,
	work,
	relativeL2,
	// A change is not blocked for what it did not cause; releases and nightly runs set `fail`.
	existing: "warn",
	// Different kernel choices change the error by less than a factor of two; ten times is another computation.
	errorGrowth: { warn: 2, fail: 10 },
	// Shown, but does not block a pull request; a release sets `fail`.
	inconclusive: "neutral",
	// The change decides whether it can be compared, so it must not pass by preventing that.
	notComparable: "fail",
	// A probe has no reference: some models read their neighbours on purpose, as those with per-tensor dynamic quantisation do.
	probes: "warn",
	// Whatever feeds and reads the engine breaks with it.
	interface: "fail",
	// It needs a review; whether it blocks is decided by branch protection and the team.
	goldenChange: "warn",
	// The same for the limits themselves.
	limitChange: "warn",
	// Whether a check may go is for a person to decide.
	coverage: "warn",
	vanished: "warn",
};

/** A dozen inferences for each engine: affordable at night, too slow for every push. */
export const defaultProbes: Omit<ProbesConfig, "pointer"> = { when: "nightly", only: [] };

const minuteMs = 60_000;

export const defaultMeasure: MeasureConfig = {
	// Four looks, over which the verdict spends its error.
	looks: [5, 8, 12, 16],
	// Clocks and temperature settle within about a second under load.
	warmUpMs: 2000,
	// Longer than the one-second swing of a GPU at its power limit; more runs help, longer ones do not.
	durationMs: 3000,
	adaptsLength: true,
	// A run takes seconds; a golden set of a large model minutes.
	timeoutMs: 10 * minuteMs,
	// Large models without a timing cache build for many minutes.
	buildTimeoutMs: 30 * minuteMs,
	// Several runners of one machine share its processors.
	threads: 1,
	// With shared kernel timings two builds differ by less than 0.1 %, and a second build is cheap.
	rebuilds: 1,
	// It takes minutes of the GPU.
	soakMs: 0,
	// The same bytes cannot differ in speed.
	identicalEngines: "skip",
	// The launch by the CPU is the largest noise of small models (1.5 % without a graph, 0.2 % with one).
	cudaGraph: true,
	// Copies measure the bus, not the engine.
	transfers: false,
	// A sleeping thread wakes late.
	spinWait: true,
};

type Settings = Pick<Config, "backend" | "onnxruntime" | "preflight" | "baseline" | "profile" | "explain" | "cache">;

export const defaultSettings: Settings = {
	backend: "auto",
	onnxruntime: "auto",
	preflight: { strict: false },
	// What a pull request would change.
	baseline: { from: "base-ref" },
	// A profile costs a minute and is useful only after a regression.
	// Nsight Compute replays kernels and needs the right to read counters, which most runners do not give.
	profile: { nsys: "on-regression", ncu: "never" },
	// It builds engines of its own, some of each side.
	explain: { bisect: "off", budgetMs: 5 * minuteMs },
	// The base of a pull request is built again at every push; kernel timings shared by both sides remove random differences between builds.
	cache: { engines: true, timing: true, verdicts: true },
};

/** A command that compares one output of one case. */
export const defaultCommandTimeoutMs = minuteMs;

/** The build fails for a layer that the DLA cannot run, so the gate reports it. */
export const defaultGpuFallback = false;

/** The one engine of a model that names none: the precision of the ONNX file. */
export const defaultEngine = { name: "fp32", precision: "fp32" } as const;

/** The one workload of an engine that names none: every dimension at its optimum. */
export const defaultWorkloadName = "default";

// Reads the log of a build: times, sizes, memory, caches, and warnings by class.
import type { LogLine } from "./transcript.ts";

const classes = [
	["shape-assumed", /Dynamic dimensions required for input|Shape missing for input with dynamic shape/],
	["shape-broadcast", /is being broadcasted to/],
	["int64-binding", /Make sure (?:input|output) .* has Int64 binding/],
	["int64-narrowed", /generated with INT64 weights|cast down to INT32/],
	["weights-clamped", /weights outside the range of \w+ was clamped/],
	["fp16-overflow", /overflow in FP16|Finite FP32 values/],
	[
		"fp16-subnormal",
		/subnormal FP16|smallest positive FP16 subnormal|encountered issues when converting weights|weights are affected by this issue/,
	],
	["weak-typing-deprecated", /Weakly-typed networks have been deprecated/],
	["precision-ignored", /mode is not allowed if graph is strongly typed/],
	["int8-uncalibrated", /Calibrator is not being used|Missing scale and zero-point for tensor/],
	["calibration-ignored", /Calibrator won't be used in explicit quantization mode/],
	["timing-cache-unreadable", /Could not read (?:timing )?cache from|Detected invalid timing cache|timing cache will not be used/],
	["tactic-memory", /insuff?icient memory|Device memory is insufficient|could not be allocated/],
	["backend-skipped", /Skipping this backend strategy/],
	["opset-old", /Models using older opsets are not guaranteed/],
	["lazy-loading-off", /CUDA lazy loading is not enabled/],
	["other-gpu-model", /engine plan file across different models of devices/],
	["cuda-graph-refused", /CUDA graph capture/],
	["flag-deprecated", /(?:is|has been) deprecated/],
	["bound-by-enqueue", /Throughput may be bound by Enqueue Time/],
	["bound-by-input-transfer", /Throughput may be bound by host-to-device/],
	["bound-by-output-transfer", /Throughput may be bound by device-to-host/],
	["compute-unstable", /GPU compute time is unstable/],
	["several-streams", /Multiple inference streams are used/],
] as const satisfies readonly (readonly [string, RegExp])[];

export type WarningClass = (typeof classes)[number][0] | "other";

/** Second lines of a warning: advice that adds nothing. */
const advice = /\[W\] {2,}\S/;

/** Null for a line that only continues the warning before it. */
export function classifyWarning(text: string): WarningClass | null {
	if (advice.test(text)) return null;
	return classes.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";
}

export interface BuildMemory {
	weightsBytes: number | null;
	activationBytes: number | null;
	scratchBytes: number | null;
	hostPersistentBytes: number | null;
	devicePersistentBytes: number | null;
	/** Peak of TensorRT's allocators during the build; not what the engine needs. */
	peakCpuMiB: number | null;
	peakGpuMiB: number | null;
	/** Of one execution context. */
	contextMiB: number | null;
}

export interface TimingCacheFacts {
	/** global: read from and written to a file. local: discarded. */
	mode: "global" | "local" | "unknown";
	loadedBytes: number | null;
	savedBytes: number | null;
	/** Kernel timings in the file after this build. The second of two builds on one file adds only those it had to measure. */
	entries: number | null;
	/** empty: there was no readable file. */
	started: "empty" | "filled" | "unknown";
	/** In verbose logs: layers that took their timing from the cache of this build. */
	cachedResults: number;
}

export interface BuildWarning {
	class: WarningClass;
	count: number;
	example: string;
}

export interface BuildLogFacts {
	/** PASSED or FAILED on the last line; null if neither appeared. */
	ended: "passed" | "failed" | null;
	parseSeconds: number | null;
	/** The builder only, without loading and saving. */
	generationSeconds: number | null;
	builtSeconds: number | null;
	/** Only six digits; the file's size is exact. */
	engineMiB: number | null;
	deserialisedSeconds: number | null;
	precision: string | null;
	optimisationLevel: number | null;
	opset: number | null;
	producer: string | null;
	inputs: number | null;
	outputs: number | null;
	/** Only from verbose logs. */
	layers: number | null;
	memory: BuildMemory;
	timingCache: TimingCacheFacts;
	warnings: BuildWarning[];
	errorLines: number;
}

export interface BuildLogReader {
	feed(line: LogLine): void;
	result(): BuildLogFacts;
}

type NumberKey =
	| "parseSeconds"
	| "generationSeconds"
	| "builtSeconds"
	| "engineMiB"
	| "deserialisedSeconds"
	| "optimisationLevel"
	| "opset"
	| "inputs"
	| "outputs"
	| "layers";

const decimal = "(-?\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?)";

const numbers: readonly (readonly [key: NumberKey, pattern: RegExp])[] = [
	["parseSeconds", new RegExp(`Parse time: ${decimal}`)],
	["generationSeconds", new RegExp(`Engine generation completed in ${decimal} seconds`)],
	["builtSeconds", new RegExp(`Engine built in ${decimal} sec`)],
	["engineMiB", new RegExp(`Created engine with size: ${decimal} MiB`)],
	["deserialisedSeconds", new RegExp(`Engine deserialized in ${decimal} sec`)],
	["optimisationLevel", /BuilderOptimizationLevel: (-?\d+)/],
	["opset", /Opset version:\s+(\d+)/],
	["inputs", /Detected (\d+) inputs? and/],
	["outputs", /Detected \d+ inputs? and (\d+) output/],
	["layers", /After reformat layers: (\d+) layers/],
];

const memoryNumbers: readonly (readonly [key: keyof BuildMemory, pattern: RegExp])[] = [
	["weightsBytes", /Total Weights Memory: (\d+)/],
	["activationBytes", /Total Activation Memory: (\d+)/],
	["scratchBytes", /(?:Max|Total) Scratch Memory: (\d+)/],
	["hostPersistentBytes", /Total Host Persistent Memory: (\d+)/],
	["devicePersistentBytes", /Total Device Persistent Memory: (\d+)/],
	["peakCpuMiB", /Peak memory usage of TRT CPU\/GPU memory allocators: CPU (\d+) MiB/],
	["peakGpuMiB", /Peak memory usage of TRT CPU\/GPU memory allocators: CPU \d+ MiB, GPU (\d+) MiB/],
	["contextMiB", new RegExp(`Created execution context with device memory size: ${decimal} MiB`)],
];

function emptyFacts(): BuildLogFacts {
	return {
		ended: null,
		parseSeconds: null,
		generationSeconds: null,
		builtSeconds: null,
		engineMiB: null,
		deserialisedSeconds: null,
		precision: null,
		optimisationLevel: null,
		opset: null,
		producer: null,
		inputs: null,
		outputs: null,
		layers: null,
		memory: {
			weightsBytes: null,
			activationBytes: null,
			scratchBytes: null,
			hostPersistentBytes: null,
			devicePersistentBytes: null,
			peakCpuMiB: null,
			peakGpuMiB: null,
			contextMiB: null,
		},
		timingCache: { mode: "unknown", loadedBytes: null, savedBytes: null, entries: null, started: "unknown", cachedResults: 0 },
		warnings: [],
		errorLines: 0,
	};
}

function readNumbers(facts: BuildLogFacts, text: string): void {
	for (const [key, pattern] of numbers) {
		const found = pattern.exec(text)?.[1];
		if (found !== undefined) facts[key] = Number(found);
	}
	for (const [key, pattern] of memoryNumbers) {
		const found = pattern.exec(text)?.[1];
		// Several passes print their figures; the largest must fit into memory.
		if (found !== undefined) facts.memory[key] = Math.max(Number(found), facts.memory[key] ?? 0);
	}
	facts.precision ??= /\] Precision: (.+)$/.exec(text)?.[1]?.trim() ?? null;
	facts.producer ??= /Producer name:\s+(\S.*)$/.exec(text)?.[1]?.trim() ?? null;
}

function readCache(cache: TimingCacheFacts, text: string): void {
	if (text.includes("Global timing cache in use")) cache.mode = "global";
	if (text.includes("Local timing cache in use")) cache.mode = "local";
	const loaded = /Loaded (\d+) bytes of (?:timing )?cache from/.exec(text)?.[1];
	const saved = /Saved (\d+) bytes of (?:timing )?cache to/.exec(text)?.[1];
	const entries = /Serialized (\d+) timing cache entries/.exec(text)?.[1];
	if (loaded !== undefined && cache.loadedBytes === null) {
		cache.loadedBytes = Number(loaded);
		if (cache.started === "unknown") cache.started = "filled";
	}
	if (saved !== undefined) cache.savedBytes = Number(saved);
	if (entries !== undefined) cache.entries = Number(entries);
}

export function createBuildLog(): BuildLogReader {
	const facts = emptyFacts();
	const warnings = new Map<WarningClass, BuildWarning>();
	const takeWarning = (text: string): void => {
		const found = classifyWarning(text);
		if (found === null) return;
		if (found === "timing-cache-unreadable" && facts.timingCache.started === "unknown") facts.timingCache.started = "empty";
		const known = warnings.get(found);
		if (known) known.count++;
		else warnings.set(found, { class: found, count: 1, example: text.slice(0, 300) });
	};
	const takeVerbose = (text: string): void => {
		if (text.includes("got cached result")) facts.timingCache.cachedResults++;
		else if (text.includes("After reformat layers")) readNumbers(facts, text);
	};
	const takeInfo = (text: string): void => {
		readNumbers(facts, text);
		readCache(facts.timingCache, text);
	};
	const takePlain = (text: string): void => {
		if (text.startsWith("&&&& PASSED")) facts.ended = "passed";
		if (text.startsWith("&&&& FAILED")) facts.ended = "failed";
	};
	const takeError = (): void => {
		facts.errorLines++;
	};
	const take = { verbose: takeVerbose, info: takeInfo, warning: takeWarning, error: takeError, none: takePlain };
	return {
		feed: ({ level, text }) => take[level](text),
		result: () => ({ ...facts, memory: { ...facts.memory }, timingCache: { ...facts.timingCache }, warnings: [...warnings.values()] }),
	};
}

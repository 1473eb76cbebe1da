// Reads the log of a build, and what trtexec reports of a timed run.
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
	[
		"timing-cache-unreadable",
		/Could not read (?:timing )?cache from|Detected invalid timing cache|timing cache will not be used/,
	],
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

type WarningClass = (typeof classes)[number][0] | "other";

/** Second lines of a warning. */
const advice = /\[W\] {2,}\S/;

export function classifyWarning(text: string): WarningClass | null {
	if (advice.test(text)) return null;
	return classes.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";
}

const memoryPatterns = {
	weightsBytes: /Total Weights Memory: (\d+)/,
	activationBytes: /Total Activation Memory: (\d+)/,
	scratchBytes: /(?:Max|Total) Scratch Memory: (\d+)/,
	contextMiB: /Created execution context with device memory size: (-?\d+(?:\.\d+)?(?:e[-+]?\d+)?) MiB/,
};
const memoryKeys = ["weightsBytes", "activationBytes", "scratchBytes", "contextMiB"] as const;

export interface BuildLogFacts {
	precision: string | null;
	memory: Record<keyof typeof memoryPatterns, number | null>;
	/** `isLocal`: discarded after the build. `entries`: kernel timings after the build. */
	timingCache: { isLocal: boolean; entries: number | null };
	warnings: { class: WarningClass; count: number; example: string }[];
}

interface LogReader<Facts> {
	feed(line: LogLine): void;
	result(): Facts;
}

export function createBuildLog(): LogReader<BuildLogFacts> {
	const facts: BuildLogFacts = {
		precision: null,
		memory: { weightsBytes: null, activationBytes: null, scratchBytes: null, contextMiB: null },
		timingCache: { isLocal: false, entries: null },
		warnings: [],
	};
	const takeWarning = (text: string): void => {
		const found = classifyWarning(text);
		const known = facts.warnings.find((warning) => warning.class === found);
		if (known) known.count += 1;
		else if (found !== null) facts.warnings.push({ class: found, count: 1, example: text.slice(0, 300) });
	};
	const takeInfo = (text: string): void => {
		const { memory, timingCache } = facts;
		for (const key of memoryKeys) {
			const found = memoryPatterns[key].exec(text)?.[1];
			// Several passes print figures; the largest must fit into memory.
			if (found !== undefined) memory[key] = Math.max(Number(found), memory[key] ?? 0);
		}
		timingCache.isLocal ||= text.includes("Local timing cache in use");
		const entries = /Serialized (\d+) timing cache entries/.exec(text)?.[1];
		if (entries !== undefined) timingCache.entries = Number(entries);
		facts.precision ??= /\] Precision: (.+)$/.exec(text)?.[1]?.trim() ?? null;
	};
	return {
		feed: ({ level, text }) => {
			if (level === "warning") takeWarning(text);
			if (level === "info") takeInfo(text);
		},
		result: () => facts,
	};
}

export interface PerfLogFacts {
	/** Iterations per second, not samples. */
	throughput: number | null;
	iterations: number | null;
	/** As reported; a version's defaults can differ from what was requested. */
	mode: { cudaGraph: boolean | null; spinWait: boolean | null; transfers: boolean | null };
}

/** `0.0279541`, `1e-05`; null for `inf` and `nan`. */
function numberAfter(text: string, label: string): number | null {
	const at = text.indexOf(label);
	if (at < 0) return null;
	const found = /^\s*(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)/.exec(text.slice(at + label.length))?.[1];
	return found === undefined ? null : Number(found);
}

function switchOf(text: string, label: string, known: boolean | null): boolean | null {
	if (!text.includes(`${label}: `)) return known;
	return text.endsWith("Enabled") ? true : text.endsWith("Disabled") ? false : known;
}

export function createPerfLog(): LogReader<PerfLogFacts> {
	const facts: PerfLogFacts = {
		throughput: null,
		iterations: null,
		mode: { cudaGraph: null, spinWait: null, transfers: null },
	};
	return {
		feed: ({ level, text }) => {
			if (level !== "info") return;
			const { mode } = facts;
			facts.throughput = numberAfter(text, "] Throughput:") ?? facts.throughput;
			facts.iterations = numberAfter(text, "Timing trace has") ?? facts.iterations;
			facts.mode = {
				cudaGraph: switchOf(text, "CUDA Graph", mode.cudaGraph),
				spinWait: switchOf(text, "Spin-wait", mode.spinWait),
				transfers: switchOf(text, "Data transfers", mode.transfers),
			};
		},
		result: () => ({ ...facts }),
	};
}

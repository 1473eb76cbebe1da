// Reads the log of a build, and what trtexec reports of a timed run.

import type { Sparsity } from "../../../generated/result.ts";
import { createFactReader } from "./log-lines.ts";
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

function numberIn(pattern: RegExp, text: string) {
	const found = pattern.exec(text)?.[1];
	return found === undefined ? null : Number(found);
}

const memoryFacts = ["weights", "activations", "scratch", "context", "managed"] as const;

export interface BuildLogFacts {
	precision: string | null;
	/** In bytes, by the facts of log-lines.ts. */
	memory: Record<(typeof memoryFacts)[number], number | null>;
	/** That states the memory of a context; else the last line on memory. */
	memoryLine: string | null;
	/** `isKept`: after the build. `entries`: kernel timings in it, which only some versions count. */
	timingCache: { isKept: boolean; entries: number | null };
	warnings: { class: WarningClass; count: number; example: string }[];
}

const layersLeft = /^\[[^\]]{1,40}\] \[V\] \[TRT\] After [\w ]+: (\d{1,6}) layers$/;

interface LogReader<Facts> {
	feed(line: LogLine): void;
	result(): Facts;
}

export function createBuildLog(): LogReader<BuildLogFacts> {
	const stated = createFactReader();
	const warnings: BuildLogFacts["warnings"] = [];
	let precision: string | null = null;
	const takeWarning = (text: string) => {
		const found = classifyWarning(text);
		const known = warnings.find((warning) => warning.class === found);
		if (known) known.count += 1;
		else if (found !== null) warnings.push({ class: found, count: 1, example: text.slice(0, 300) });
	};
	return {
		feed: (line) => {
			const { level, text } = line;
			stated.feed(line);
			if (level === "warning") takeWarning(text);
			if (level === "info") precision ??= /\] Precision: (.+)$/.exec(text)?.[1]?.trim() ?? null;
		},
		result: () => ({
			precision,
			memory: Object.fromEntries(
				memoryFacts.map((fact) => [fact, stated.value(fact)]),
			) as BuildLogFacts["memory"],
			memoryLine: stated.lineOf("context", "managed"),
			timingCache: { isKept: stated.value("kept") !== null, entries: stated.value("entries") },
			warnings,
		}),
	};
}

export interface PerfLogFacts {
	throughput: number | null;
	iterations: number | null;
	/** As reported; a version's defaults can differ from what was requested. */
	mode: { cudaGraph: boolean | null; spinWait: boolean | null; transfers: boolean | null };
}

/** `0.0279541`, `1e-05`; not `inf` and `nan`. */
const numeral = "(-?\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?)";
const iterations = new RegExp(`Timing trace has\\s*${numeral}`);
const modes = { "CUDA Graph": "cudaGraph", "Spin-wait": "spinWait", "Data transfers": "transfers" } as const;

export function createPerfLog(): LogReader<PerfLogFacts> {
	const stated = createFactReader();
	const facts: Omit<PerfLogFacts, "throughput"> = {
		iterations: null,
		mode: { cudaGraph: null, spinWait: null, transfers: null },
	};
	return {
		feed: (line) => {
			const { level, text } = line;
			if (level !== "info") return;
			stated.feed(line);
			facts.iterations = numberIn(iterations, text) ?? facts.iterations;
			const [, label, state] = /(CUDA Graph|Spin-wait|Data transfers): .*?(En|Dis)abled$/.exec(text) ?? [];
			if (label !== undefined) facts.mode[modes[label as keyof typeof modes]] = state === "En";
		},
		result: () => ({ ...facts, throughput: stated.value("throughput") }),
	};
}

/** Reads the progress of a build from its verbose log: layers, then conversions between layers. */
export function createBuildProgress(onPhase: (phase: string) => void): (text: string) => void {
	let [layers, timed] = [0, 0];
	return (text) => {
		const count = layersLeft.exec(text)?.[1];
		if (count !== undefined && timed === 0) layers = Number(count);
		else if (/timing cache in use/.test(text)) onPhase("timing kernels");
		else if (/=== Computing costs for /.test(text)) {
			timed = Math.min(timed + 1, layers);
			onPhase(layers === 0 ? "timing kernels" : `timing kernels: layer ${timed} of ${layers}`);
		} else if (/=== Computing reformatting costs/.test(text)) onPhase("timing conversions between layers");
		else if (/Detected \d+ inputs? and \d+ output/.test(text)) onPhase("kernels are chosen");
	};
}

/** TensorRT 8 lists names, 10 counts; the last pass over the kernels is the engine's. */
const line =
	/\(Sparsity\) (?:(Found|Chose) (\d{1,6}) layer|(Layers eligible)[^:]*:(.*)|TRT inference plan picked[^:]*:(.*))/;

export function createSparsityLog(): { feed(text: string): void; result(): Sparsity } {
	const found: Sparsity = { eligible: null, picked: null };
	return {
		feed(text) {
			const match = text.includes("(Sparsity)") ? line.exec(text) : null;
			if (match === null) return;
			const [, verb, count, isEligible, eligible = "", picked = ""] = match;
			const names = (eligible + picked).split(",").filter((name) => name.trim() !== "");
			found[verb === "Found" || isEligible !== undefined ? "eligible" : "picked"] = Number(
				count ?? names.length,
			);
		},
		result: () => found,
	};
}

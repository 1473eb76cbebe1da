// The resolved configuration: every default filled in, every unit converted, every value's source known.
import type { AcceptFile, BaseFile, Precision, ProbeName, ProbesWhen } from "../../../generated/config.ts";
import type { GateValues, Occasion, Threshold } from "./gate-records.ts";

export type Source =
	| { kind: "default"; because?: Occasion }
	| { kind: "file"; path: string; line: number; column: number }
	| { kind: "input"; name: string };

/**
 * Sources by JSON pointer into the config file, e.g. `/models/resnet50/gates/latency/fail`: of everything that the
 * file holds, of what inputs set, and of the defaults that depend on the occasion.
 */
export type Sources = Readonly<Record<string, Source>>;

export interface DimRange {
	min: number;
	opt: number;
	max: number;
}

export type { Occasion, Threshold };

export interface Gates extends GateValues {
	/**
	 * JSON pointers of the values above that the file sets, for annotations: by gate name (`latency`, `engine-size`,
	 * `golden.relative-l2`, …; the limit that fails before the one that warns), by limit (`latency.warn`), and by setting
	 * (`inconclusive`).
	 */
	pointers: Readonly<Record<string, string>>;
}

export interface WorkloadConfig {
	name: string;
	/** Sizes by symbolic dimension: every dimension of the engine, those that the file leaves out at their optimum. */
	dims: Readonly<Record<string, number>>;
	streams: number;
	gates: Gates;
	ofBase?: boolean;
	pointer: string;
}

export interface InputConfig {
	shape?: readonly (number | string)[];
	pinned?: readonly number[];
	/** What timed runs feed in; absent: what the model says that it takes. */
	fill?: "normal" | "uniform" | "zeros" | "ones" | number;
}

export interface PluginConfig {
	path: string;
	dynamic: boolean;
	pointer: string;
}

export interface TensorRtConfig {
	workspaceBytes?: number;
	optimizationLevel?: number;
	plugins: readonly PluginConfig[];
	dla?: { core: number; gpuFallback: boolean };
	calibration?: { path: string; pointer: string };
	flags: readonly string[];
}

export interface EngineConfig {
	name: string;
	onnx: string;
	precision: Precision;
	/** What some profile holds; optima of the first. */
	dims: Readonly<Record<string, DimRange>>;
	profiles: readonly Readonly<Record<string, DimRange>>[];
	tensorrt: TensorRtConfig;
	workloads: readonly WorkloadConfig[];
	golden?: string;
	/** Gates of what is not a workload: build, size, golden. */
	gates: Gates;
	pointer: string;
}

export interface ProbesConfig {
	when: ProbesWhen;
	only: readonly ProbeName[];
	/** The input that is 1 where a position counts; absent: recognised by its name. */
	mask?: string;
	/** The input that masks padded positions of a row; absent: recognised by its name. */
	length?: string;
	pointer: string;
}

export interface PrepareConfig {
	command: string;
	env: readonly string[];
}

export interface ModelConfig {
	name: string;
	onnx: string;
	prepare?: PrepareConfig;
	inputs: Readonly<Record<string, InputConfig>>;
	/** Share of the tested defects that a golden must notice; empty: the defaults. */
	notice: Readonly<Partial<Record<Precision, number>>>;
	engines: readonly EngineConfig[];
	probes: ProbesConfig;
	pointer: string;
}

export interface MeasureConfig {
	looks: readonly number[];
	/** Fixed where the config gives one of the two, else the most: the runs are as long as a pilot shows to be enough. */
	warmUpMs: number;
	durationMs: number;
	adaptsLength: boolean;
	timeoutMs: number;
	buildTimeoutMs: number;
	threads: number;
	soakMs: number;
	/** Builds of each side. */
	rebuilds: number;
	unchangedModels?: "skip" | "verify" | "rebuild";
	identicalEngines: "skip" | "measure";
	cudaGraph: boolean;
	transfers: boolean;
	spinWait: boolean;
}

export interface RunnerConfig {
	name: string;
	labels: readonly string[] | { group: string; labels?: readonly string[] };
	engines: readonly string[];
	device?: string;
	split: "none" | "model" | "engine";
	pointer: string;
}

export interface CommandConfig {
	name: string;
	command: readonly [string, ...string[]];
	timeoutMs: number;
}

export interface AcceptedChange extends Omit<AcceptFile, "at-most"> {
	atMost: number;
	pointer: string;
}

export type ProfileWhen = "never" | "on-regression" | "always";

export interface Config {
	path: string;
	backend: "auto" | "tensorrt" | "onnxruntime";
	onnxruntime: "auto" | "wasm" | "native";
	/** Index among the visible GPUs, or UUID of a GPU or a MIG slice; absent: the first. */
	device?: string;
	/** Another TensorRT of this machine, which the base runs on; absent: the head's. */
	base?: BaseFile;
	models: readonly ModelConfig[];
	gates: Gates;
	accept?: readonly AcceptedChange[];
	measure: MeasureConfig;
	runners: readonly RunnerConfig[];
	preflight: { tensorrt?: string; strict: boolean };
	baseline: { from: "base-ref" | "tag" | "pinned" | "pin"; ref?: string };
	profile: Record<"nsys" | "ncu", ProfileWhen>;
	explain: { bisect: "off" | "nightly" | "on"; budgetMs: number };
	/** Where records are kept: on a branch or in a folder, relative to the head's. Absent: nowhere. */
	history?: undefined | { branch?: string; folder?: string; when: "nightly" | "always" };
	cache: { engines: boolean; timing: boolean; verdicts: boolean };
	commands?: readonly CommandConfig[];
	sources: Sources;
}

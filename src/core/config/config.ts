// The resolved configuration: defaults filled in, units converted, the source of each value known.
import type {
	AcceptFile,
	BaseFile,
	DecoderFile,
	InputFile,
	MeasureWhen,
	Precision,
	ProbeName,
	ProbesWhen,
} from "../../../generated/config.ts";
import { type GateValues, gateEntries, type Occasion, type Threshold } from "./gate-records.ts";

export type Source =
	| { kind: "default"; because?: Occasion }
	| { kind: "file"; path: string; line: number; column: number }
	| { kind: "input"; name: string };

/** By JSON pointer, e.g. `/models/resnet50/gates/latency/fail`; with defaults that depend on the occasion. */
type Sources = Readonly<Record<string, Source>>;

export interface DimRange {
	min: number;
	opt: number;
	max: number;
}

export type { Occasion, Threshold };

export interface Gates extends GateValues {
	/** Of what the file sets, by gate (`latency`: the limit that fails first), limit (`latency.warn`) or setting. */
	pointers: Readonly<Record<string, string>>;
}

export interface SweepConfig {
	dim: string;
	from: number;
	to: number;
}

export interface WorkloadConfig {
	name: string;
	/** Sizes of all symbolic dimensions; those that the file leaves out are at their optimum. */
	dims: Readonly<Record<string, number>>;
	streams: number;
	/** An inference starts at this interval; absent: as soon as the one before ends. */
	everyMs?: number;
	/** `dims` has its largest size. */
	sweep?: SweepConfig;
	gates: Gates;
	ofBase?: boolean;
	pointer: string;
}

export interface InputConfig extends InputFile {
	pinned?: readonly number[];
}

export interface PluginConfig {
	path: string;
	dynamic: boolean;
	pointer: string;
}

export interface CalibrationConfig {
	path: string;
	pointer: string;
	/** Present: `path` is a golden's manifest or a folder of tensors. Absent: it is a calibration cache. */
	data?: { method: "entropy" | "minmax"; cases?: number | undefined };
}

export interface TensorRtConfig {
	workspaceBytes?: number;
	optimizationLevel?: number;
	plugins: readonly PluginConfig[];
	dla?: { core: number; gpuFallback: boolean };
	calibration?: CalibrationConfig;
	flags: readonly string[];
}

export interface VersionedFile {
	range: string;
	from: number;
	to: number;
	path: string;
}

export interface EngineConfig {
	name: string;
	/** Or the golden, where there is no ONNX file and the golden alone says what goes in and out. */
	onnx: string;
	/** Present: `onnx` is the model's own file until the version of TensorRT is known. */
	onnxByVersion?: readonly VersionedFile[];
	precision: Precision;
	/** The union of the profiles, with the optima of the first. */
	dims: Readonly<Record<string, DimRange>>;
	profiles: readonly Readonly<Record<string, DimRange>>[];
	tensorrt: TensorRtConfig;
	build?: OwnBuildConfig;
	workloads: readonly WorkloadConfig[];
	golden?: string;
	against?: string;
	gates: Gates;
	pointer: string;
}

export interface ProbesConfig {
	when: ProbesWhen;
	only: readonly ProbeName[];
	mask?: string;
	length?: string;
	pointer: string;
}

export interface PrepareConfig {
	command: string;
	env: readonly string[];
}

export interface OwnBuildConfig extends Partial<PrepareConfig> {
	plan: string;
	pointer: string;
}

export interface ModelConfig {
	name: string;
	onnx: string;
	prepare?: PrepareConfig;
	/** Where the names of inputs, outputs and dimensions do not show it. */
	decoder?: DecoderFile;
	inputs: Readonly<Record<string, InputConfig>>;
	/** Share of tested defects that a golden must notice; empty for the defaults. */
	notice: Readonly<Partial<Record<Precision, number>>>;
	engines: readonly EngineConfig[];
	probes: ProbesConfig;
	pointer: string;
}

export interface MeasureConfig {
	looks: readonly number[];
	/** An upper bound if `adaptsLength`, because a pilot shows how much is enough. */
	warmUpMs: number;
	durationMs: number;
	adaptsLength: boolean;
	timeoutMs: number;
	buildTimeoutMs: number;
	threads: number;
	rebuilds: number;
	unchangedModels?: "skip" | "verify" | "rebuild";
	identicalEngines: "skip" | "measure";
	cudaGraph: boolean;
	transfers: boolean;
	spinWait: boolean;
	startUp: MeasureWhen;
	memoryGrowth: MeasureWhen;
	load: LoadConfig;
}

export interface LoadConfig {
	when: MeasureWhen;
	arrivals: string;
	/** Rate, as a share of the base's capacity. */
	at: number;
	maxBatch?: number;
	maxDelayMs: number;
	durationMs: number;
	together?: readonly string[];
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

export interface Config {
	path: string;
	backend: "auto" | "tensorrt" | "onnxruntime";
	onnxruntime: "auto" | "wasm" | "native";
	/** Index among the visible GPUs, or UUID of a GPU or MIG slice; by default the first. */
	device?: string;
	libraries?: string;
	base?: BaseFile;
	models: readonly ModelConfig[];
	gates: Gates;
	accept?: readonly AcceptedChange[];
	measure: MeasureConfig;
	runners: readonly RunnerConfig[];
	preflight: { tensorrt?: string; strict: boolean };
	baseline: { from: "base-ref" | "tag" | "pinned" | "pin"; ref?: string };
	profile: Record<"nsys" | "ncu", "never" | "on-regression" | "always">;
	explain: { bisect: "off" | "nightly" | "on"; budgetMs: number };
	/** Branch or folder of the records, relative to the head's. Absent: no history is kept. */
	history?: undefined | { branch?: string; folder?: string; when: "nightly" | "always" };
	cache: { engines: boolean; timing: boolean; verdicts: boolean };
	commands?: readonly CommandConfig[];
	sources: Sources;
}

export const defaultGates = Object.fromEntries(
	gateEntries.map(([key, { byDefault }]) => [key, byDefault]),
) as unknown as GateValues;

/** A dozen inferences per engine: too slow for every push. */
export const defaultProbes: Omit<ProbesConfig, "pointer"> = { when: "new", only: [] };

const minuteMs = 60_000;

export const defaultMeasure: MeasureConfig = {
	looks: [5, 8, 12, 16],
	warmUpMs: 2000,
	// Longer than the one-second swing of a GPU at its power limit.
	durationMs: 3000,
	adaptsLength: true,
	timeoutMs: 10 * minuteMs,
	buildTimeoutMs: 30 * minuteMs,
	threads: 1,
	// If kernel timings are shared, two builds differ by less than 0.1 %, and a second build is cheap.
	rebuilds: 1,
	identicalEngines: "skip",
	// Launches by the CPU are the largest noise of small models: 1.5 % without a graph, 0.2 % with one.
	cudaGraph: true,
	transfers: false,
	spinWait: true,
	// Half a minute and up to three minutes for an engine.
	startUp: "nightly",
	memoryGrowth: "nightly",
	// Four minutes for an engine.
	load: { when: "off", arrivals: "poisson", at: 0.8, maxDelayMs: 0, durationMs: 10_000 },
};

type Settings = Pick<Config, "backend" | "onnxruntime" | "preflight" | "baseline" | "profile" | "cache"> & {
	explain: { bisect: Config["explain"]["bisect"]; budget: string };
};

export const defaultSettings: Settings = {
	backend: "auto",
	onnxruntime: "auto",
	preflight: { strict: false },
	baseline: { from: "base-ref" },
	// A profile costs a minute, and Nsight Compute needs a right to read counters that most runners lack.
	profile: { nsys: "on-regression", ncu: "never" },
	explain: { bisect: "off", budget: "5m" },
	cache: { engines: true, timing: true, verdicts: true },
};

// Computes golden outputs: ONNX Runtime on the model file itself. Types only.
import type { DefectVerdict, Trial } from "../core/golden/record/defects/judge.ts";
import type { WeightDefect, WeightLocation } from "../core/golden/record/defects/weights.ts";
import type { OnnxDType } from "../core/onnx/model.ts";
import type { RoundedPrecision } from "../core/onnx/rounding/rounding-nodes.ts";
import type { InferCase, InferResult, InferredCase } from "./backend.ts";
import type { ModelOnDisk, ToolFailure } from "./world.ts";

/** How a reference runs: which build of ONNX Runtime, how far it optimises the graph, on how many threads. */
export interface ReferenceVariant {
	flavour: "wasm" | "native";
	level: "disabled" | "basic" | "extended" | "all";
	threads: number;
}

export interface ReferenceJob {
	model: ModelOnDisk;
	cases: readonly InferCase[];
	variant: ReferenceVariant;
	scratchFolder: string;
	logPath: string;
	timeoutMs: number;
	/** The cases are alternatives: those after the first that runs are left out. */
	stopAtFirst?: true | undefined;
}

export interface PlannedDefect {
	number: number;
	place: WeightLocation;
	defect: WeightDefect;
}

export interface EmulationJob extends ReferenceJob {
	precision: RoundedPrecision;
}

/** absent: the model cannot be rounded, or nothing in it is; a sentence says why. */
export type EmulationResult =
	| {
			state: "done";
			cases: readonly InferredCase[];
			tensors: number;
			beyondRange: readonly string[];
			wallMs: number;
	  }
	| { state: "absent"; sentence: string }
	| { state: "failed"; failure: ToolFailure };

export interface DefectJob extends ReferenceJob {
	trial: Trial;
	defects: readonly PlannedDefect[];
	/** verdict: null where the defect changes no byte. */
	onVerdict(number: number, verdict: DefectVerdict | null): void;
}

export type DefectResult = { state: "done" | "time" } | { state: "failed"; failure: ToolFailure };

export interface MarkJob {
	model: ModelOnDisk;
	outputs: readonly { name: string; dtype: OnnxDType }[];
	/** Absolute; the copy is written there. */
	folder: string;
}

/** Computes golden outputs with ONNX Runtime from the model file itself, never from an engine under test. */
export interface Reference {
	/** The builds on this machine; the first records the goldens. */
	builds(): Promise<readonly { flavour: ReferenceVariant["flavour"]; version: string }[]>;
	machine(): { device: string; os: string };
	parallelRuns(model: ModelOnDisk): number;
	weights(model: ModelOnDisk): Promise<{ places: readonly WeightLocation[]; unplaced: readonly string[] }>;
	run(job: ReferenceJob): Promise<InferResult>;
	/** A copy of the model with more outputs. @throws ToolError disk-full; ConfigError output-unwritable. */
	mark(job: MarkJob): Promise<ModelOnDisk>;
	/** Runs the cases with weights and results rounded to a precision, as an engine of that precision has them. */
	emulate(job: EmulationJob): Promise<EmulationResult>;
	/** Tries defects in a copy of the model, one after the other, each on as many cases as its verdict takes. */
	tryDefects(job: DefectJob): Promise<DefectResult>;
}

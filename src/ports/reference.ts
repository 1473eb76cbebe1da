// Computes golden outputs with ONNX Runtime.

import type { OnnxDType } from "../core/onnx/model.ts";
import type { RoundedPrecision } from "../core/onnx/rounding/rounding-nodes.ts";
import type { DefectVerdict, Trial } from "../golden/core/record/defects/judge.ts";
import type { WeightDefect, WeightLocation } from "../golden/core/record/defects/weights.ts";
import type { InferCase, InferResult, InferredCase } from "./backend.ts";
import type { ModelOnDisk, ToolFailure } from "./world.ts";

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
	/**
	 * The cases that are done when time is up are an answer, and a later run goes on after them. It begins no other case after
	 * `softMs` if `enough` are done.
	 */
	resumes?: { enough: number; softMs: number } | undefined;
	/** Cases are alternatives, so it stops after the first that runs. */
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

/** absent: nothing in the model can be rounded. */
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
	onVerdict(number: number, verdict: DefectVerdict | null): void;
}

export type DefectResult = { state: "done" | "time" } | { state: "failed"; failure: ToolFailure };

export interface MarkJob {
	model: ModelOnDisk;
	outputs: readonly { name: string; dtype: OnnxDType }[];
	folder: string;
}

export interface ReferenceBuild {
	flavour: ReferenceVariant["flavour"];
	version: string;
}

/** `why` it cannot run. isLate: it was not installed in time. */
export type OtherBuild = ReferenceBuild | { why: string; isLate: boolean };

/** Runs the model file itself, never an engine under test. */
export interface Reference {
	builds(): Promise<readonly ReferenceBuild[]>;
	/** The build that is not the first; it may have to be installed. */
	otherBuild(timeoutMs: number): Promise<OtherBuild>;
	machine(): { device: string; os: string };
	parallelRuns(model: ModelOnDisk): number;
	weights(model: ModelOnDisk): Promise<{ places: readonly WeightLocation[]; unplaced: readonly string[] }>;
	run(job: ReferenceJob): Promise<InferResult>;
	/** Writes a copy of the model with more outputs. @throws ToolError disk-full; ConfigError output-unwritable. */
	mark(job: MarkJob): Promise<ModelOnDisk>;
	emulate(job: EmulationJob): Promise<EmulationResult>;
	tryDefects(job: DefectJob): Promise<DefectResult>;
}

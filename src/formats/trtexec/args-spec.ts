// Describes a run of trtexec independently of the TensorRT version.
import type { Precision } from "../../../generated/config.ts";

export interface NamedShape {
	name: string;
	shape: readonly number[];
}

export interface ShapeProfile {
	inputs: readonly { name: string; min: readonly number[]; opt: readonly number[]; max: readonly number[] }[];
}

export interface Plugins {
	static?: readonly string[];
	dynamic?: readonly string[];
}

interface Shared {
	device?: number;
	plugins?: Plugins;
	/** The engine runs on this core; a run loads a plan built for it. */
	dlaCore?: number;
	extraFlags?: readonly string[];
}

export interface BuildArgs extends Shared {
	task: "build";
	onnxPath: string;
	enginePath: string;
	precision: Precision;
	typedModel: boolean;
	profiles: readonly ShapeProfile[];
	workspaceMiB?: number;
	timingCachePath?: string;
	allowGpuFallback?: boolean;
	builderOptimizationLevel?: number;
	/** INT8 calibration cache; without the file trtexec uses made-up ranges. */
	calibrationPath?: string;
	detailedLayers: boolean;
	layerInfoPath?: string;
}

export interface TimingMode {
	cudaGraph: boolean;
	spinWait: boolean;
	transfers: boolean;
}

export interface RunArgs extends Shared {
	enginePath: string;
	shapes: readonly NamedShape[];
	profileIndex?: number;
	inputs?: readonly { name: string; path: string }[];
}

export interface TimeArgs extends RunArgs, TimingMode {
	task: "time";
	warmUpMs: number;
	durationMs: number;
	iterations?: number;
	streams: number;
	timesPath: string;
}

export interface InferArgs extends RunArgs {
	task: "infer";
}

export interface ProfileArgs extends RunArgs {
	task: "profile";
	transfers: boolean;
	warmUpMs: number;
	iterations: number;
	profilePath: string;
	layerInfoPath: string;
}

export type ArgsSpec = BuildArgs | TimeArgs | InferArgs | ProfileArgs;

/** needs-other-onnx: in this version the ONNX file decides the precision, so another file is needed. */
export interface ArgsFault {
	kind: "needs-other-onnx" | "unsupported" | "refused";
	what: string;
	message: string;
	fix: string;
}

export type ArgsResult = { kind: "argv"; argv: string[] } | ArgsFault;

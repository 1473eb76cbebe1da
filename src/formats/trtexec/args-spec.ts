// What a run of trtexec is asked to do, before it is spelled for one version.
import type { Precision } from "../../core/schema/config.ts";

export interface NamedShape {
	name: string;
	shape: readonly number[];
}

/** One optimization profile: every dynamic input with its three shapes. */
export interface ShapeProfile {
	inputs: readonly { name: string; min: readonly number[]; opt: readonly number[]; max: readonly number[] }[];
}

export interface Plugins {
	/** Loaded before the parser runs. */
	static?: readonly string[];
	/** May be put into the plan. */
	dynamic?: readonly string[];
}

interface Shared {
	device?: number;
	plugins?: Plugins;
	/** The engine runs there; a run loads a plan of its own core. */
	dlaCore?: number;
	/** The user's own flags, each as one argument `--flag` or `--flag=value`. */
	extraFlags?: readonly string[];
	verbose?: boolean;
}

export interface BuildArgs extends Shared {
	task: "build";
	onnxPath: string;
	enginePath: string;
	precision: Precision;
	/** The ONNX file itself has the precision in its types or Q/DQ nodes. */
	typedModel: boolean;
	/** Let the ONNX file's types decide also where the version would take flags. */
	strongTyping?: boolean;
	profiles: readonly ShapeProfile[];
	workspaceMiB?: number;
	timingCachePath?: string;
	/** Fail rather than time a kernel that the cache lacks. */
	cacheOnly?: boolean;
	allowGpuFallback?: boolean;
	builderOptimizationLevel?: number;
	/** Calibration cache of INT8; trtexec makes ranges up where the file is missing. */
	calibrationPath?: string;
	/** Layer types, formats and tactics in the plan and in the exported layer info. */
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
	/** For outputs whose shape depends on the data: six digits, but all of them. */
	outputPath?: string;
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

export type ArgsResult =
	| { kind: "argv"; argv: string[] }
	/** This precision is a property of the ONNX file in this version: another file is needed. */
	| { kind: "needs-other-onnx"; precision: Precision; message: string; fix: string }
	/** This version of TensorRT cannot do it. */
	| { kind: "unsupported"; what: string; message: string; fix: string }
	/** A name, path or flag that trtexec cannot be given. */
	| { kind: "refused"; what: string; message: string; fix: string };

// Ports to the machine and its user.

import type { DType, Sequence, TensorFile } from "../../generated/golden.ts";
import type { GoldenVerdict, GpuWindow } from "../../generated/result.ts";
import type { CommandConfig, PrepareConfig } from "../core/config/config.ts";
import type { Fault, ToolCode } from "../core/errors.ts";
import type { InputKind } from "../core/input-kind.ts";
import type { ExternalFile, OnnxModel } from "../core/onnx/model.ts";
import type { WeightPattern } from "../core/onnx/sparsity.ts";
import type { EngineAssets } from "../core/plan/plan.ts";
import type { ForeignProcess } from "../core/telemetry/validity.ts";
import type { CommandAnswer, CommandRequest } from "../golden/core/compare/check-output.ts";
import type { Tensor } from "../golden/core/tensor/tensor.ts";

/** The stage decides what the failure stops. */
export interface ToolFailure extends Fault<ToolCode> {
	/** The model cannot run with its inputs, and a retry would not help. The code says why. */
	refusal?: string;
}

/** Every write is atomic. */
export interface Files {
	/** @throws ConfigError by the kind: missing, not regular, too large, forbidden. */
	readText(path: string, kind: InputKind): Promise<string>;
	readBytes(path: string, kind: InputKind): Promise<Uint8Array>;
	writeText(path: string, text: string): Promise<void>;
	writeBytes(path: string, bytes: Uint8Array): Promise<void>;
	/** null if there is no regular file. */
	size(path: string): Promise<number | null>;
	/** Of the file or where it lies, in ms since 1970; null if nothing is there. */
	changedMs(path: string): Promise<number | null>;
	sha256(path: string, kind: InputKind): Promise<string>;
	/** Resolves links; null if nothing is there. @throws ConfigError path-unreadable. */
	realPath(path: string): Promise<string | null>;
	makeFolder(path: string): Promise<void>;
}

export interface ModelReader {
	/** @throws ConfigError model-missing, model-unreadable. */
	read(path: string): Promise<ModelOnDisk>;
}

export interface PatternReader {
	/** Of the weights that can be read, a chunk at a time. @throws ConfigError model-unreadable. */
	patterns(model: ModelOnDisk): Promise<readonly WeightPattern[]>;
}

export interface ModelOnDisk {
	path: string;
	onnx: OnnxModel;
	/** Hash of the file; with external data, of the sorted lines `sha256  location` of all files. */
	sha256: string;
	external: readonly ExternalFile[];
	/** How its cases run in steps; `onnx` then is the model over all steps, but for an engine's. */
	sequence?: Sequence | undefined;
}

export interface TensorReader {
	/** @throws ConfigError golden-missing, tensor-invalid. */
	read(path: string, file: TensorFile): Promise<Tensor>;
}

/** @throws ConfigError golden-missing, golden-invalid, tensor-invalid. */
export type CalibrationFinder = (wanted: CalibrationWanted) => Promise<CalibrationData>;

export interface CalibrationWanted {
	/** A golden's manifest, or a folder with a file per case. */
	path: string;
	inputs: readonly { name: string; dtype: DType }[];
	most?: number | undefined;
}

export type CalibrationData = Required<NonNullable<EngineAssets["calibration"]>>;

export interface FileCache {
	list(prefix: string): Promise<string[]>;
	/** Copies the files to their targets and returns the facts; null, and nothing written, if the entry is incomplete. */
	fetch(name: string, targets: Readonly<Record<string, string>>): Promise<unknown>;
	/** Resolves to the reason why the files are not kept, or null. */
	keep(
		name: string,
		entry: { files: Readonly<Record<string, string>>; facts: unknown },
	): Promise<string | null>;
}

export interface KeptVerdicts {
	/** `at`: ISO 8601, UTC. */
	recall(key: string): Promise<{ verdicts: GoldenVerdict[]; at: string } | null>;
	keep(key: string, verdicts: readonly GoldenVerdict[], at: string): Promise<void>;
}

export interface Clock {
	/** Milliseconds of a monotonic clock. */
	now(): number;
	/** ISO 8601, UTC. */
	timestamp(): string;
}

export interface Shell {
	run(
		command: PrepareConfig,
		/** `what`: begins the sentence of a failure; `The prepare command` by default. */
		options: {
			cwd: string;
			logPath: string;
			timeoutMs: number;
			what?: string;
			variables?: Record<string, string>;
		},
	): Promise<{ state: "done" } | { state: "failed"; failure: ToolFailure }>;
}

export interface Progress {
	stage(name: string, items: number): void;
	item(label: string, leftMs?: number): void;
	/** Detail on the current item, e.g. `pair 3 of 5`. */
	detail(text: string): void;
	done(summary: string): void;
}

/** Samples the GPU. Failures become sentences in `degradations`. */
export interface Telemetry {
	/** Resolves at the first reading, or when there will be none. */
	start(): Promise<void>;
	/** Times come from the Clock port; null if nothing was read. */
	window(fromMs: number, toMs: number): GpuWindow | null;
	foreignProcesses(fromMs: number, toMs: number): readonly ForeignProcess[];
	degradations(): readonly string[];
	stop(): Promise<void>;
}

export interface GpuLease {
	/** Waits for other jobs. `note`: why the use may not be exclusive. @throws ToolError gpu-busy, interrupted. */
	take(): Promise<{ note?: string; release(): Promise<void> }>;
}

export interface Interrupt {
	/** Reason, e.g. `interrupted by SIGINT`; null to go on. */
	reason(): string | null;
}

export interface CommandJob {
	command: CommandConfig;
	cwd: string;
	scratchFolder: string;
	about: CommandRequest;
	expected: Tensor;
	got: Tensor;
}

/** Never throws: a failure counts as an answer that does not pass. */
export interface CustomCommands {
	run(job: CommandJob): Promise<CommandAnswer>;
}

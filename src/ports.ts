// Every interface that stages need from the world. Types only.

import type { InputConfig } from "./core/config/config.ts";
import type { ErrorDetails, PlatformCode, ToolCode } from "./core/errors.ts";
import type { WeightPlace } from "./core/golden/mutate.ts";
import type { MutationRun } from "./core/golden/mutate-judge.ts";
import type { Tensor } from "./core/golden/tensor.ts";
import type { ExternalFile, OnnxModel } from "./core/onnx/model.ts";
import type { EngineAssets, EngineSpec } from "./core/plan/plan.ts";
import type { DType, TensorFile } from "./core/schema/golden.ts";
import type { Arm, ArmKernels, ArmLayers, BackendFacts, BuildRecord, GpuWindow } from "./core/schema/result.ts";
import type { Neighbour } from "./core/telemetry/validity.ts";

/** A fault of a tool, as a value: stages decide what it stops. */
export interface ToolFailure {
	code: ToolCode;
	message: string;
	details: ErrorDetails;
}

/** The file system. Every write is atomic: a reader sees the old file, the new one, or none. */
export interface Files {
	readText(path: string): Promise<string>;
	readBytes(path: string): Promise<Uint8Array>;
	writeText(path: string, text: string): Promise<void>;
	writeBytes(path: string, bytes: Uint8Array): Promise<void>;
	/** Bytes of a regular file, or null where there is none. */
	size(path: string): Promise<number | null>;
	/** Lower-case hex, streamed. */
	sha256(path: string): Promise<string>;
	/** The path with every symbolic link resolved, or null where nothing is there. */
	realPath(path: string): Promise<string | null>;
	makeFolder(path: string): Promise<void>;
}

/** Reads an ONNX file's structure without reading its weights. */
export interface ModelReader {
	/** @throws ConfigError model-missing, model-unreadable (truncated, empty, text, Git LFS pointer, hostile). */
	read(path: string): Promise<ModelOnDisk>;
}

export interface ModelOnDisk {
	path: string;
	onnx: OnnxModel;
	/** Of the file; with external data, of the lines `sha256  location` of the model and every external file, sorted. */
	sha256: string;
	external: readonly ExternalFile[];
}

/** Reads a golden's tensor files in any format that manifests may name. */
export interface TensorReader {
	/** @throws ConfigError golden-missing, tensor-invalid (size, hash, dtype or shape not as the manifest says). */
	read(path: string, file: TensorFile): Promise<Tensor>;
}

export interface Clock {
	/** Milliseconds, monotonic. */
	now(): number;
	/** ISO 8601, UTC. */
	timestamp(): string;
}

/** Runs the user's own `prepare` command by the shell. */
export interface Shell {
	run(
		command: string,
		options: { cwd: string; logPath: string; timeoutMs: number },
	): Promise<{ state: "done" } | { state: "failed"; failure: ToolFailure }>;
}

/** What people see while the gate works. */
export interface Progress {
	stage(name: string, items: number): void;
	/** One item of the stage begins; `etaMs` is the time left of the whole run where it is known. */
	item(label: string, etaMs?: number): void;
	/** Something about the item at hand, e.g. `pair 3 of 5`. */
	detail(text: string): void;
	done(summary: string): void;
}

/** An engine that was built, with all that is needed to run it. */
export interface BuiltEngine {
	spec: EngineSpec;
	arm: Arm;
	record: BuildRecord;
	/** Absolute path of the engine file. */
	path: string;
	/** The ONNX file that it came from. */
	model: ModelOnDisk;
	assets?: EngineAssets;
}

export interface BuildJob {
	spec: EngineSpec;
	arm: Arm;
	model: ModelOnDisk;
	assets?: EngineAssets;
	/** Absolute folder for the engine. */
	engineFolder: string;
	/** Absolute folder that the builds of this run share, for what the next may take over. */
	cacheFolder?: string;
	logPath: string;
	timeoutMs: number;
}

export interface InferCase {
	id: string;
	inputs: Readonly<Record<string, Tensor>>;
}

export interface InferJob {
	engine: BuiltEngine;
	cases: readonly InferCase[];
	/** Absolute folder of our own for inputs and outputs in passing. */
	scratchFolder: string;
	logPath: string;
	threads: number;
	timeoutMs: number;
	onCase?(done: number): void;
}

export type InferredCase =
	| { id: string; state: "done"; outputs: Readonly<Record<string, Tensor>> }
	| { id: string; state: "failed"; message: string };

export type InferResult =
	| { state: "done"; cases: readonly InferredCase[]; wallMs: number }
	| { state: "failed"; failure: ToolFailure; wallMs: number };

export interface TimedInput {
	name: string;
	dtype: DType;
	shape: readonly number[];
	fill: InputConfig["fill"];
}

/** One run: one process that loads the engine, warms up, measures and ends. */
export interface MeasureJob {
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	streams: number;
	/** Same for all runs of a workload, so that both arms read the same values. */
	seed: number;
	warmUpMs: number;
	durationMs: number;
	threads: number;
	timeoutMs: number;
	/** Absolute path; the raw samples lie there before this resolves. */
	samplesPath: string;
	logPath: string;
}

export type MeasureResult =
	| {
			state: "ok";
			samplesMs: Float64Array;
			peakMemoryBytes: number | null;
			wallMs: number;
			/** Wall time of the timed inferences alone, where the backend knows it. */
			timedMs?: number;
			/** Launching the kernels takes the CPU longer than running them takes the GPU. */
			enqueueBound?: boolean;
	  }
	| { state: "unusable"; reason: string; failure: ToolFailure; wallMs: number };

/** A run of its own that times each layer: slower than a timed run, and never compared with one. */
export interface ProfileJob {
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	seed: number;
	timeoutMs: number;
	/** Absolute paths of what is left. */
	profilePath: string;
	layersPath: string;
	logPath: string;
}

/** absent: this backend cannot look into an engine. `layers` is null where its files are there and were not understood. */
export type ProfileResult =
	| { state: "done"; layers: ArmLayers | null; sentence?: string }
	| { state: "absent" }
	| { state: "failed"; failure: ToolFailure };

/** A short run under a profiler, for people to look at: slower than a timed run, and never compared with one. */
export interface TraceJob {
	/** nsys: every kernel of the run. ncu: one kernel, by the GPU's own counters. */
	tool: "nsys" | "ncu";
	/** Of ncu: the kernel's name as nsys has it; absent: the first ones of the run. */
	kernel?: string;
	engine: BuiltEngine;
	inputs: readonly TimedInput[];
	streams: number;
	seed: number;
	timeoutMs: number;
	/** Absolute folder of what is left, and the name that its files begin with. */
	folder: string;
	name: string;
}

/** `sentence` says what is not there and why. absent: this backend has no profiler. */
export type TraceResult = { state: "ran"; files: readonly string[]; kernels?: ArmKernels; sentence?: string } | { state: "absent" };

/** TensorRT or ONNX Runtime. Failures are values; only a bug throws. */
export interface Backend {
	facts(): Promise<BackendFacts>;
	/** What must match before numbers may be compared. */
	fingerprint(): Promise<Readonly<Record<string, string>>>;
	build(job: BuildJob): Promise<BuildRecord>;
	infer(job: InferJob): Promise<InferResult>;
	measure(job: MeasureJob): Promise<MeasureResult>;
	profile?(job: ProfileJob): Promise<ProfileResult>;
	trace?(job: TraceJob): Promise<TraceResult>;
	/** Sentences so far about what was degraded or chosen; each once. */
	notes?(): readonly string[];
}

/** Watches the GPU beside the runs. Nothing here throws or ends a run: what fails is a sentence in `degradations`. */
export interface Telemetry {
	/** Resolves at the first reading, or when it is clear that there will be none. */
	start(): Promise<void>;
	/** Between two times of the Clock port; null where nothing was read. */
	window(fromMs: number, toMs: number): GpuWindow | null;
	/** Processes on the GPU in that time that are not ours. */
	neighbours(fromMs: number, toMs: number): readonly Neighbour[];
	/** What is not known, and why; each sentence once. */
	degradations(): readonly string[];
	stop(): Promise<void>;
}

/** Jobs of one machine take turns: whoever holds it builds and measures alone. */
export interface Turn {
	/**
	 * Waits for the others. `note` says what is not sure about it.
	 * @throws ToolError gpu-busy, interrupted.
	 */
	take(): Promise<{ note?: string; release(): Promise<void> }>;
}

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
	/** Absolute folder of our own. */
	scratchFolder: string;
	logPath: string;
	timeoutMs: number;
}

export interface MutationJob extends ReferenceJob {
	/** `index` is the tensor's place among all weights of the model. */
	weights: readonly { place: WeightPlace; index: number }[];
	/** Size of the change, a share of each value. */
	relative: number;
	seed: number;
	onWeight?(done: number): void;
}

export type MutationResult = { state: "done"; runs: readonly MutationRun[]; wallMs: number } | { state: "failed"; failure: ToolFailure };

/** ONNX Runtime as the maker of goldens: it runs a model file itself, never an engine under test. */
export interface Reference {
	/** What is on this machine; the first makes the goldens. */
	builds(): Promise<readonly { flavour: ReferenceVariant["flavour"]; version: string }[]>;
	/** The processor, and the system. */
	machine(): { device: string; os: string };
	/** Float weights that can be changed in place, and the names of those that cannot. */
	weights(model: ModelOnDisk): Promise<{ places: readonly WeightPlace[]; unplaced: readonly string[] }>;
	run(job: ReferenceJob): Promise<InferResult>;
	/** Runs all cases once for each weight, with that one changed in a copy of the model. */
	mutate(job: MutationJob): Promise<MutationResult>;
}

/** Whether somebody asked to stop. */
export interface Interrupt {
	/** Why to stop, e.g. `interrupted by SIGINT`; null to go on. */
	reason(): string | null;
}

/** A fault of the forge, as a value: it is told, and never changes the outcome. */
export interface ForgeFault {
	code: PlatformCode;
	/** What was asked of whom, and what came back. */
	message: string;
	fix: string;
	/** The request may have been carried out all the same: look before asking again. */
	unclear?: true;
}

export type Forged<Value extends object> = ({ state: "done" } & Value) | { state: "failed"; fault: ForgeFault };

export interface ForgeComment {
	id: number;
	/** For what only GraphQL can do. */
	nodeId: string;
	body: string;
	/** Login and type of who wrote it, e.g. `github-actions[bot]`, `Bot`. */
	author: { login: string; type: string } | null;
	/** For people. */
	url: string;
}

export interface ForgeIssue {
	number: number;
	body: string;
	author: ForgeComment["author"];
	url: string;
}

export interface CheckAnnotation {
	path: string;
	line: number;
	level: "failure" | "warning" | "notice";
	title: string;
	message: string;
}

export interface CheckRunDraft {
	name: string;
	sha: string;
	/** Ours: tells runs of one name apart. */
	externalId: string;
	conclusion: "success" | "failure" | "neutral";
	title: string;
	/** Markdown, at most 65,535 characters. */
	summary: string;
	detailsUrl?: string;
	annotations: readonly CheckAnnotation[];
}

export interface StatusDraft {
	sha: string;
	context: string;
	state: "success" | "failure" | "error";
	/** At most 140 characters. */
	description: string;
	url?: string;
}

/** What a forge can show. Every call resolves, in bounded time; nothing throws. */
export interface Forge {
	/** Login of whom the token speaks for; null where the forge does not say. */
	login(): Promise<string | null>;
	/** All comments of a pull request or an issue, oldest first. */
	comments(issue: number): Promise<Forged<{ comments: readonly ForgeComment[] }>>;
	createComment(issue: number, body: string, on?: "pull-request" | "issue"): Promise<Forged<{ comment: ForgeComment }>>;
	updateComment(id: number, body: string): Promise<Forged<{ comment: ForgeComment }>>;
	deleteComment(id: number): Promise<Forged<object>>;
	/** Folds a comment away as outdated. */
	minimiseComment(nodeId: string): Promise<Forged<object>>;
	/** Our check run of this name and external id on a commit. */
	findCheckRun(wanted: Pick<CheckRunDraft, "name" | "sha" | "externalId">): Promise<Forged<{ found: { id: number; url: string } | null }>>;
	createCheckRun(draft: CheckRunDraft): Promise<Forged<{ found: { id: number; url: string } }>>;
	/** Annotations are added to those that are there. */
	updateCheckRun(id: number, draft: CheckRunDraft): Promise<Forged<{ found: { id: number; url: string } }>>;
	setStatus(draft: StatusDraft): Promise<Forged<object>>;
	/** Open issues with a label, oldest first. */
	openIssues(label: string): Promise<Forged<{ issues: readonly ForgeIssue[] }>>;
	createIssue(draft: { title: string; body: string; labels: readonly string[] }): Promise<Forged<{ issue: ForgeIssue }>>;
	updateIssue(number: number, change: { title?: string; body?: string; state?: "closed" }): Promise<Forged<{ issue: ForgeIssue }>>;
	/** Open pull requests whose head is this commit, also those of forks. */
	pullRequestsOf(sha: string): Promise<Forged<{ numbers: readonly number[] }>>;
}

/** Keeps files with the workflow run. */
export interface ArtifactStore {
	/** Names that the run has already are told apart by the attempt. */
	upload(artifact: ArtifactDraft): Promise<Forged<{ artifact: KeptArtifact }>>;
}

export interface ArtifactDraft {
	name: string;
	/** Absolute folder; paths in the artifact are relative to it. */
	root: string;
	/** Absolute paths of regular files. */
	files: readonly string[];
	/** As in gzip; 0 for what does not shrink. */
	compression: number;
	/** The one file as it is, under its own name, so that a browser opens it. */
	asIs?: true;
}

export interface KeptArtifact {
	id: number;
	name: string;
	url: string;
	bytes: number;
}

/** The world, as stages see it. */
export interface Ports {
	files: Files;
	models: ModelReader;
	tensors: TensorReader;
	backend: Backend;
	clock: Clock;
	shell: Shell;
	telemetry: Telemetry;
	turn: Turn;
	progress: Progress;
	interrupt: Interrupt;
	/** Wall time so far during which a child process was at work, milliseconds. */
	childMs(): number;
}

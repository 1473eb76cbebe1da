// The form of one entry of the failure catalogue, and the facts that an entry may ask for.
import type { DiagnosisKind } from "../../../core/diagnosis.ts";
import type { TensorRtVersion } from "../banner.ts";
import type { DumpedTensor } from "../output-dump.ts";
import type { WrittenFile } from "../recording.ts";
import type { LogLine } from "../transcript.ts";

/** One shape of line. Rules look at errors unless they say otherwise; lines without a level count as errors. */
export interface LinePattern {
	level: "error" | "warning" | "info";
	/** Named groups become the names that titles speak of. */
	pattern: RegExp;
}

/** Names that a rule caught, cleaned for one line of text. */
export type Names = Readonly<Record<string, string>>;

/**
 * cause: says why. symptom: says what broke, and stands back behind any cause.
 * last-word: what trtexec says on its way out, whatever the reason.
 */
export type Rank = "cause" | "symptom" | "last-word";

export interface Rule {
	code: string;
	kind: Exclude<DiagnosisKind, "none">;
	rank: Rank;
	/** Any of them. */
	lines?: readonly LinePattern[];
	/** All of them, beside a hit of `lines`. */
	with?: readonly LinePattern[];
	when?: (facts: Facts) => boolean;
	/** Names that come from facts. */
	names?: (facts: Facts) => Names;
	title: (names: Names) => string;
	fix: string | ((names: Names) => string);
	/** Lines to show where `lines` are absent. */
	show?: (facts: Facts) => readonly LogLine[];
}

/** The ONNX node that the parser was at when it gave up. */
export interface NodeFacts {
	op: string;
	output: string;
	name: string;
	/** Where the log says that it was at this node. */
	line: LogLine;
}

/** What the log says beside errors; all of it bounded. */
export interface LogFacts {
	lineCount: number;
	version: TensorRtVersion | null;
	/** As the banner repeats it. */
	command: readonly string[] | null;
	ending: "passed" | "failed" | "none";
	printedHelp: boolean;
	opset: number | null;
	device: { name: string | null; memoryMiB: number | null; usedMiB: number | null };
	/** How far the run came. */
	reached: { deserialised: boolean; contextCreated: boolean; inferenceStarted: boolean; summary: boolean };
	loadedInputs: ReadonlyMap<string, { path: string; line: LogLine }>;
	randomInputs: ReadonlyMap<string, LogLine>;
	dumps: ReadonlyMap<string, { tensor: DumpedTensor; line: LogLine }>;
	node: NodeFacts | null;
}

export interface LargestTensor {
	name: string;
	/** For people: `[2, 3]`. */
	shape: string;
	bytes: number;
}

/** Everything that rules may look at: the log's facts and what the caller knows. */
export interface Facts {
	log: LogFacts;
	exitCode: number | null;
	signal: string | null;
	timedOut: boolean;
	spawnError: string | null;
	/** Flag to value; a flag without a value has the empty string. */
	flags: ReadonlyMap<string, string>;
	argumentCount: number | null;
	wrote: ReadonlyMap<string, WrittenFile> | null;
	absent: readonly string[];
	inputs: ReadonlyMap<string, number>;
	plan: { builtSha256: string; sha256: string } | null;
	/** Of the ONNX file at the shapes of this run. */
	largestTensor: LargestTensor | null;
	/** Number of dimensions of each input, from the ONNX file. */
	inputRanks: ReadonlyMap<string, number> | null;
}

export const error = (pattern: RegExp): LinePattern => ({ level: "error", pattern });
export const warning = (pattern: RegExp): LinePattern => ({ level: "warning", pattern });
export const info = (pattern: RegExp): LinePattern => ({ level: "info", pattern });

/** A CUDA error as trtexec prints it, with or without file and line, or as the library quotes it. */
export const cudaError = (text: string): LinePattern =>
	error(new RegExp(`(?:Cuda failure[^:]*(?::\\d+)?: ?|Cuda Runtime \\()(?:${text})`, "i"));

/** ` of node "x" (Op)`, or as much of it as is known. */
export function ofNode(names: Names): string {
	const { node, op } = names;
	if (node && op) return `node "${node}" (${op})`;
	if (op) return `a node of type ${op}${names["output"] ? ` (output "${names["output"]}")` : ""}`;
	return "a node";
}

export function named(what: string, name: string | undefined): string {
	return name ? `${what} "${name}"` : what;
}

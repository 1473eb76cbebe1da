// Rules of the failure catalogue, and their facts.
import type { TensorRtVersion } from "../banner.ts";
import type { DumpedTensor } from "../output-dump.ts";
import type { LogLine } from "../transcript.ts";

/** A line of its level; a plain expression matches errors and lines without a level. Named groups become names. */
export type LinePattern = RegExp | { level: "warning" | "info"; pattern: RegExp };

export type Names = Readonly<Record<string, string | undefined>>;

export interface Rule {
	/** Default: the failure is the model's or the config's. */
	kind?: "runner" | "refusal";
	/** cause (default): explains the failure. symptom: any cause takes precedence. fallback: printed after any failure. */
	rank?: "symptom" | "fallback";
	lines?: LinePattern | readonly LinePattern[];
	with?: LinePattern;
	when?: (facts: Facts) => boolean;
	names?: (facts: Facts) => Names;
	/**
	 * `{x}` is the name x, `{x|y}` y if it is unknown, `{input: x}` `input "x"`, and `{at}` the ONNX node. The run's own are
	 * `{signal}`, `{plan}`, which it loads, and `{saved}`.
	 */
	title: string;
	fix: string;
	show?: (facts: Facts) => readonly LogLine[];
}

export type Rules = Readonly<Record<string, Rule | readonly Rule[]>>;

export interface CodedRule extends Rule {
	code: string;
}

export function listRules(table: Rules, defaults: Pick<Rule, "kind" | "rank"> = {}): CodedRule[] {
	return Object.entries(table).flatMap(([code, rules]) =>
		[rules].flat().map((rule) => ({ code, ...defaults, ...rule })),
	);
}

export interface NodeFacts {
	op: string;
	output: string;
	name: string;
	line: LogLine;
}

export interface LogFacts {
	lineCount: number;
	version: TensorRtVersion | null;
	command: readonly string[] | null;
	hasStart: boolean;
	ending: "passed" | "failed" | "none";
	printedHelp: boolean;
	opset: number | null;
	device: { memoryMiB: number | null; usedMiB: number | null };
	deserialised: boolean;
	loadedInputs: Map<string, { path: string; line: LogLine }>;
	randomInputs: Map<string, LogLine>;
	dumps: Map<string, { tensor: DumpedTensor; line: LogLine }>;
	node: NodeFacts | null;
}

/** Facts about a run besides its log; omitted ones were not checked. */
export interface RunFacts {
	exitCode: number | null;
	signal: string | null;
	timedOut?: boolean;
	spawnError?: string | null;
	argv?: readonly string[];
	absent?: readonly string[];
	plan?: { builtSha256: string; sha256: string };
	model?: {
		largestTensor: { name: string; shape: string; bytes: number } | null;
		inputRanks: ReadonlyMap<string, number>;
	};
}

export interface Facts extends RunFacts {
	log: LogFacts;
	/** Flag to value; a flag without a value has the empty string. */
	flags: ReadonlyMap<string, string>;
	argumentCount: number | null;
	/** Bytes by path. */
	wrote: ReadonlyMap<string, number> | null;
	inputs: ReadonlyMap<string, number>;
}

export const linesOf = ({ lines = [] }: Rule): readonly LinePattern[] => [lines].flat();

export const warning = (pattern: RegExp): LinePattern => ({ level: "warning", pattern });
export const info = (pattern: RegExp): LinePattern => ({ level: "info", pattern });

export const cudaError = (text: string): RegExp =>
	new RegExp(`(?:Cuda failure[^:]*(?::\\d+)?: ?|Cuda Runtime \\()(?:${text})`, "i");

function describeNode({ node, op, output }: Names) {
	if (node && op) return `node "${node}" (${op})`;
	if (op) return `a node of type ${op}${output ? ` (output "${output}")` : ""}`;
	return "a node";
}

export function titleOf({ title }: Rule, names: Names): string {
	return title.replace(/\{(?:([^{}|:]+): )?(\w+)(?:\|([^{}]*))?\}/g, (_, what, key: string, absent = "") => {
		if (key === "at") return describeNode(names);
		const name = names[key];
		if (what === undefined) return name || absent;
		return name ? `${what} "${name}"` : what;
	});
}

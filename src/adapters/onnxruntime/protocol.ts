// The messages between the backend and its worker process: a job file in, a reply file out. The reply is untrusted.
import type { DType, Sequence } from "../../../generated/golden.ts";
import { fieldsOf, isObject, parseJson } from "../../core/found.ts";
import type { CountedNode } from "../../formats/onnxruntime/profile.ts";
import type { DefectVerdict, Trial } from "../../golden/core/record/defects/judge.ts";
import type { WeightDefect, WeightLocation } from "../../golden/core/record/defects/weights.ts";
import { elementBytes } from "../../golden/core/tensor/tensor.ts";
import type { TimedInput } from "../../ports/backend.ts";

export type Flavour = "wasm" | "native";
export type Level = "disabled" | "basic" | "extended" | "all";

export interface RuntimeJob {
	flavour: Flavour;
	/** wasm: holds ort-wasm-simd-threaded.{wasm,mjs}. native: onnxruntime-node resolves from here. */
	folder: string;
	modelPath: string;
	external: readonly string[];
	threads: number;
	sequence?: Sequence;
	resultPath: string;
	stays?: true;
}

export interface TensorPlace {
	name: string;
	dtype: DType;
	shape: readonly number[];
	/** Raw little-endian values. Absolute for inputs; a file name in `outputFolder` for outputs. */
	path: string;
}

export interface BuildTask extends RuntimeJob {
	kind: "build";
}

export interface InferTask extends RuntimeJob {
	kind: "infer";
	level?: Level;
	cases: readonly { inputs: readonly TensorPlace[] }[];
	stopAtFirst?: true;
	/** After this time, and this many cases, it begins no other. */
	resumes?: { enough: number; softMs: number };
	outputFolder: string;
}

interface SeededTask extends RuntimeJob {
	inputs: readonly TimedInput[];
	seed: number;
}

export interface CountTask extends SeededTask {
	kind: "count";
}

export interface ProfileTask extends SeededTask {
	kind: "profile";
	level: Level;
}

export interface DefectTask extends RuntimeJob {
	kind: "defects";
	level: Level;
	cases: readonly { inputs: readonly TensorPlace[]; expected: readonly TensorPlace[] }[];
	trial: Omit<Trial, "reference">;
	/** `number` is the defect's place in the plan; `path` the absolute file that holds the tensor. */
	defects: readonly { number: number; path: string; place: WeightLocation; defect: WeightDefect }[];
}

export type Task = BuildTask | InferTask | CountTask | ProfileTask | DefectTask;

export const idleLine = "trtgate: done with ";
export const caseLine = "trtgate: case ";
export const defectLine = "trtgate: defect ";

/** In `outputFolder`, written before the line of the case: what is left of a worker that is killed. */
export function caseReplyName(index: number): string {
	return `case-${index}.json`;
}

export type CaseReply =
	| { state: "done"; outputs: readonly TensorPlace[] }
	| { state: "failed"; message: string };

export type Reply =
	| { kind: "failed"; message: string }
	| { kind: "build"; version: string }
	| { kind: "infer"; cases: readonly CaseReply[] }
	| { kind: "defects" }
	| { kind: "count"; instructions: number; otherInput: number }
	| { kind: "profile"; nodes: readonly CountedNode[] };

type Fields = Readonly<Record<string, unknown>>;

export function parseReply(text: string): Reply | null {
	const { kind, message, version, instructions, otherInput, nodes, ...value } = fieldsOf(parseJson(text));
	const cases = allOf(value.cases, parseCase);
	if (kind === "infer" && cases !== null) return { kind, cases };
	if (kind === "failed" && isText(message)) return { kind, message };
	if (kind === "build" && isText(version)) return { kind, version };
	if (kind === "profile" && Array.isArray(nodes)) return { kind, nodes };
	if (kind === "count" && isWork(instructions) && isWork(otherInput))
		return { kind, instructions, otherInput };
	return kind === "defects" ? { kind } : null;
}

function allOf<Item>(values: unknown, parse: (value: Fields) => Item | null): Item[] | null {
	if (!Array.isArray(values)) return null;
	const items = values.map((value) => (isObject(value) ? parse(value) : null));
	return items.every((item) => item !== null) ? items : null;
}

export function parseCaseReply(text: string): CaseReply | null {
	return parseCase(fieldsOf(parseJson(text)));
}

function parseCase({ state, message, outputs }: Fields): CaseReply | null {
	if (state === "failed") return isText(message) ? { state, message } : null;
	const places = state === "done" ? allOf(outputs, parsePlace) : null;
	return places && { state: "done", outputs: places };
}

function parsePlace({ name, dtype, shape, path }: Fields) {
	if (!isText(name) || !isText(path) || !/^[\w-]+\.bin$/.test(path)) return null;
	if (!isText(dtype) || !Object.hasOwn(elementBytes, dtype)) return null;
	if (!Array.isArray(shape) || !shape.every(isCount)) return null;
	return { name, dtype: dtype as DType, shape, path };
}

/** The place in the plan, and the verdict: null if the defect changes no byte. null as a whole: not such a line. */
export function parseDefectLine(line: string): { number: number; verdict: DefectVerdict | null } | null {
	const value = line.startsWith(defectLine) ? parseJson(line.slice(defectLine.length)) : undefined;
	const { number, verdict } = fieldsOf(value);
	if (!isCount(number)) return null;
	if (verdict === null) return { number, verdict };
	const read = isObject(verdict) ? parseVerdict(verdict) : null;
	return read && { number, verdict: read };
}

const defectStates: ReadonlySet<unknown> = new Set(["noticed", "missed", "unmoved"]);

/** JSON has no infinity, so an infinite change arrives as null. */
function parseVerdict({ states, change }: Fields) {
	if (!isObject(states) || !Object.values(states).every((state) => defectStates.has(state))) return null;
	if (change !== null && typeof change !== "number") return null;
	return { states: states as DefectVerdict["states"], change: change ?? Infinity };
}

function isText(value: unknown) {
	return typeof value === "string";
}

function isCount(value: unknown): value is number {
	return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Instructions are counted in halves. */
function isWork(value: unknown): value is number {
	return typeof value === "number" && isCount(2 * value);
}

// ONNX element types; the structure that the ONNX reader finds in a file, without the weights themselves; and edits of it.
import type { DType } from "../../../generated/golden.ts";

/**
 * `TensorProto.DataType` of onnx.proto in ONNX 1.23: bits of one element, which may be packed below a byte, and the dtype of a
 * tensor file. Without bits: no fixed size, or a packing that is not settled (6 bits).
 */
const types = [
	["undefined"],
	["float", 32, "float32"],
	["uint8", 8, "uint8"],
	["int8", 8, "int8"],
	["uint16", 16, "uint16"],
	["int16", 16, "int16"],
	["int32", 32, "int32"],
	["int64", 64, "int64"],
	["string"],
	["bool", 8, "bool"],
	["float16", 16, "float16"],
	["double", 64, "float64"],
	["uint32", 32, "uint32"],
	["uint64", 64, "uint64"],
	["complex64", 64],
	["complex128", 128],
	["bfloat16", 16, "bfloat16"],
	["float8e4m3fn", 8, "float8e4m3fn"],
	["float8e4m3fnuz", 8],
	["float8e5m2", 8, "float8e5m2"],
	["float8e5m2fnuz", 8],
	["uint4", 4, "uint4"],
	["int4", 4, "int4"],
	["float4e2m1", 4, "float4e2m1"],
	["float8e8m0", 8],
	["uint2", 2],
	["int2", 2],
	["float6e2m3"],
	["float6e3m2"],
] as const satisfies readonly (readonly [name: string, bits?: number, dtype?: DType])[];

export type OnnxDType = (typeof types)[number][0] | "unknown";

const byName = new Map<OnnxDType, readonly [name: string, bits?: number, dtype?: DType]>(
	types.map((type) => [type[0], type]),
);

export function elementTypeOfCode(code: number): OnnxDType {
	return types[code]?.[0] ?? "unknown";
}

export function codeOfElementType(dtype: OnnxDType): number {
	return Math.max(
		0,
		types.findIndex(([name]) => name === dtype),
	);
}

export function elementBits(dtype: OnnxDType): number | null {
	return byName.get(dtype)?.[1] ?? null;
}

export function tensorBytes(dtype: OnnxDType, elements: number): number | null {
	const elementSize = elementBits(dtype);
	return elementSize === null ? null : Math.ceil((elements * elementSize) / 8);
}

export function fromDType(dtype: DType): OnnxDType {
	return types.find((type) => type[2] === dtype)?.[0] ?? "unknown";
}

/** null: strings, complex numbers, and rare small numbers. */
export function toDType(dtype: OnnxDType): DType | null {
	return byName.get(dtype)?.[2] ?? null;
}

/** A size, a symbol, or null if the file gives none (some exporters write a negative size). */
export type OnnxDim = number | string | null;

export interface OnnxValue {
	name: string;
	kind: "tensor" | "sparse-tensor" | "sequence" | "map" | "optional" | "unknown";
	dtype: OnnxDType;
	dims: readonly OnnxDim[] | null;
}

export interface OnnxNode {
	name: string;
	domain: string;
	op: string;
	inputs: readonly string[];
	outputs: readonly string[];
	attributes: readonly OnnxAttribute[];
}

export interface OnnxAttribute {
	name: string;
	/** Scalars and short lists; null for long ones, and if `tensor` or `reference` is set. Graphs are in `subgraphs`. */
	value: number | string | readonly number[] | readonly string[] | null;
	tensor?: OnnxInitializer;
	reference?: string;
}

export interface OnnxInitializer {
	name: string;
	dtype: OnnxDType;
	dims: readonly number[];
	bytes: number;
	storage: "raw" | "typed" | "external" | "none";
	sparse?: true;
	/** At most 64 numbers; integers beyond 2^53 are rounded. */
	values?: readonly number[];
	external?: { location: string; offset: number; length: number | null };
}

export interface ExternalFile {
	location: string;
	path: string | null;
	neededBytes: number;
	problem: null | "missing" | "short" | "outside" | "absolute" | "lfs-pointer";
}

export interface OnnxSubgraph {
	nodeIndex: number;
	attribute: string;
	graph: OnnxGraph;
}

export interface OnnxGraph {
	name: string;
	inputs: readonly OnnxValue[];
	outputs: readonly OnnxValue[];
	nodes: readonly OnnxNode[];
	initializers: readonly OnnxInitializer[];
	/** Intermediate values; their shapes are not read, because tools leave stale ones behind. */
	valueInfo: readonly OnnxValue[];
	subgraphs: readonly OnnxSubgraph[];
}

export interface OnnxFunction {
	domain: string;
	name: string;
	inputs: readonly string[];
	outputs: readonly string[];
	opsets: Readonly<Record<string, number>>;
	nodes: readonly OnnxNode[];
	subgraphs: readonly OnnxSubgraph[];
}

export interface OnnxModel {
	bytes: number;
	irVersion: number;
	producer: string;
	producerVersion: string;
	/** Domain to version; "" is the standard domain. Without a prototype: domains come from the file. */
	opsets: Readonly<Record<string, number>>;
	graph: OnnxGraph;
	functions: readonly OnnxFunction[];
}

export interface InspectedModel {
	path: string;
	onnx: OnnxModel;
	sha256: string;
	external: readonly ExternalFile[];
}

/** The graph inputs that a caller must feed: inputs less initialisers (IR < 4 lists both). */
export function feeds(graph: OnnxGraph): OnnxValue[] {
	const weights = new Set(graph.initializers.map((weight) => weight.name));
	return graph.inputs.filter((input) => !weights.has(input.name));
}

const quantisedOperators = /^((De|Dynamic)?[Qq]uantize|QLinear|QGemm|QAttention)|Integer/;

/** Quantised operators anywhere in it: runtimes fuse them differently, so that they round at other places. */
export function isQuantised(graph: OnnxGraph): boolean {
	return (
		graph.nodes.some(({ op }) => quantisedOperators.test(op)) ||
		graph.subgraphs.some((inner) => isQuantised(inner.graph))
	);
}

export function notTensorText({ kind }: OnnxValue): string {
	return `${kind === "optional" ? "an" : "a"} ${kind}, not a tensor: it can be neither fed nor compared`;
}

/** scikit-learn's exports end in a ZipMap unless told otherwise. */
export function notTensorFix({ nodes }: OnnxGraph): string {
	const hint = nodes.some(({ op }) => op === "ZipMap")
		? "; skl2onnx and onnxmltools do so with the option zipmap=False"
		: "";
	return `Export the model with tensors as inputs and outputs${hint}.`;
}

export function isTensor({ kind }: OnnxValue): boolean {
	return kind === "tensor" || kind === "unknown";
}

export interface ConstantValue {
	dtype: "float" | "int64";
	dims: readonly number[];
	values: readonly number[];
}

export interface NewNode {
	name?: string | undefined;
	op: string;
	inputs: readonly string[];
	outputs: readonly string[];
	attributes?: Readonly<Record<string, number | ConstantValue>>;
}

export interface KeptNode {
	kept: number;
	inputs?: readonly string[];
	outputs?: readonly string[];
	bodies?: ReadonlyMap<string, GraphEdit>;
}

export interface AddedOutput {
	name: string;
	dtype: OnnxDType;
	/** null: unknown. Absent: even their number is. */
	dims?: readonly (number | null)[];
}

export interface GraphEdit {
	nodes: readonly (KeptNode | NewNode)[];
	addedOutputs?: readonly AddedOutput[];
	/** Facts about other tensors are dropped, and so are the graph's own outputs. Absent: all stay. */
	keptTensors?: ReadonlySet<string>;
}

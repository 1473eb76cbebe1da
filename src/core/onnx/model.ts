// What the ONNX reader finds in a file: structure only, never the weights themselves.

/** ONNX `TensorProto.DataType`, by the names of onnx.proto in lower case; `unknown` for codes of the future. */
export type OnnxDType =
	| "undefined"
	| "float"
	| "uint8"
	| "int8"
	| "uint16"
	| "int16"
	| "int32"
	| "int64"
	| "string"
	| "bool"
	| "float16"
	| "double"
	| "uint32"
	| "uint64"
	| "complex64"
	| "complex128"
	| "bfloat16"
	| "float8e4m3fn"
	| "float8e4m3fnuz"
	| "float8e5m2"
	| "float8e5m2fnuz"
	| "uint4"
	| "int4"
	| "float4e2m1"
	| "float8e8m0"
	| "uint2"
	| "int2"
	| "unknown";

/** A size, the name of a symbolic dimension, or null where the file says nothing. */
export type OnnxDim = number | string | null;

export interface OnnxValue {
	name: string;
	/** Tensor, or the kind of what is not one: sequence, map, optional. */
	kind: "tensor" | "sparse-tensor" | "sequence" | "map" | "optional" | "unknown";
	dtype: OnnxDType;
	/** null: the file gives no shape at all. */
	dims: readonly OnnxDim[] | null;
}

export interface OnnxNode {
	name: string;
	/** "" is the standard domain (ai.onnx). */
	domain: string;
	op: string;
	inputs: readonly string[];
	outputs: readonly string[];
	attributes: readonly OnnxAttribute[];
}

export interface OnnxAttribute {
	name: string;
	/** Scalars and short lists; tensors and graphs are described elsewhere. */
	value: number | string | readonly number[] | readonly string[] | null;
}

export interface OnnxInitializer {
	name: string;
	dtype: OnnxDType;
	dims: readonly number[];
	/** Payload bytes in the file, or declared in the external data. */
	bytes: number;
	/** Values of small integer and float initialisers (up to 64 elements); absent otherwise. */
	values?: readonly number[];
	external?: OnnxExternalData;
}

export interface OnnxExternalData {
	location: string;
	offset: number;
	/** null: to the end of the file. */
	length: number | null;
}

/** A file of external data as it lies on disk beside the model. */
export interface ExternalFile {
	location: string;
	/** Absolute path; null where the location may not be followed. */
	path: string | null;
	/** Bytes that the model asks for, to the furthest end of its tensors. */
	neededBytes: number;
	problem: null | "missing" | "short" | "outside" | "absolute" | "lfs-pointer";
}

export interface OnnxGraph {
	name: string;
	inputs: readonly OnnxValue[];
	outputs: readonly OnnxValue[];
	nodes: readonly OnnxNode[];
	initializers: readonly OnnxInitializer[];
	/** Intermediate values with a stated type. */
	valueInfo: readonly OnnxValue[];
	/** Graphs inside the attributes of If, Loop, Scan: with the node that holds them. */
	subgraphs: readonly { node: string; attribute: string; graph: OnnxGraph }[];
}

export interface OnnxFunction {
	domain: string;
	name: string;
	nodes: readonly OnnxNode[];
}

export interface OnnxModel {
	bytes: number;
	irVersion: number;
	producer: string;
	producerVersion: string;
	/** Domain to version; "" is the standard domain. */
	opsets: Readonly<Record<string, number>>;
	graph: OnnxGraph;
	functions: readonly OnnxFunction[];
}

/** The graph inputs that a caller must feed: inputs less initialisers (IR < 4 lists both). */
export function feeds(graph: OnnxGraph): OnnxValue[] {
	const weights = new Set(graph.initializers.map((weight) => weight.name));
	return graph.inputs.filter((input) => !weights.has(input.name));
}

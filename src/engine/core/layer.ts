// The layers of an engine, as its builder reports them, with the bytes that each moves and the operations that it computes.

import { groupBy } from "../../core/group.ts";

export interface LayerTensor {
	name: string;
	dims: readonly number[];
	dtype: string | null;
	format: string;
}

/**
 * compute: works on data. reformat: only changes layout or type. quantize: a Q or DQ node of the model.
 * shape: works on sizes or control flow, a few bytes. noop: takes no time.
 */
export type LayerKind = "compute" | "reformat" | "quantize" | "shape" | "noop";

export interface EngineLayer {
	name: string;
	kind: LayerKind;
	/** `CaskConvolution`, `kgen`, …; null if the engine was built with names only. */
	type: string | null;
	inputs: readonly LayerTensor[];
	outputs: readonly LayerTensor[];
	/** Of its weights, else its first number-carrying input, else its output; `tf32` by its tactic. */
	precision: string | null;
	tactic: string | null;
	weights: { dtype: string | null; elements: number } | null;
	onnxNodes: readonly string[];
	/** A region whose name states only these; the nodes between are in the ONNX graph. */
	foreign: readonly [from: string, to: string] | null;
	servedLayer: string | null;
	region: number | null;
	parameters: Readonly<Record<string, string | number | readonly number[]>>;
}

export function takesTime({ kind }: EngineLayer): boolean {
	return kind !== "noop" && kind !== "shape";
}

export function isReformat({ kind, servedLayer }: EngineLayer): boolean {
	return kind === "reformat" || servedLayer !== null;
}

export interface EngineIo {
	name: string;
	mode: "input" | "output" | null;
	dtype: string | null;
}

export interface EngineLayers {
	detail: "detailed" | "names";
	layers: readonly EngineLayer[];
	io: readonly EngineIo[];
}

export interface LayerTime {
	name: string;
	averageMs: number;
	share: number;
}

export interface LayerProfile {
	iterations: number;
	layers: readonly LayerTime[];
}

export const typesOf = (tensors: readonly LayerTensor[]): string =>
	[...groupBy(tensors, ({ dtype }) => dtype ?? "?")]
		.map(([type, { length }]) => (length === 1 ? type : `${length} × ${type}`))
		.join(" and ");

const bitsOf: Readonly<Record<string, number>> = {
	...{ int64: 64, fp32: 32, tf32: 32, int32: 32, fp16: 16, bf16: 16 },
	...{ fp8: 8, int8: 8, uint8: 8, bool: 8, e8m0: 8, fp4: 4, int4: 4 },
};

const widths: Readonly<Record<string, number>> = { two: 2, four: 4, eight: 8, sixteen: 16, "thirty-two": 32 };

function vectorWidth(format: string) {
	const stated = /channel % (\d{1,3}) == 0/i.exec(format)?.[1];
	if (stated !== undefined) return Math.max(1, Number(stated));
	return widths[/^([a-z-]+) wide channel/i.exec(format)?.[1]?.toLowerCase() ?? ""] ?? 1;
}

function elementsOf({ dims }: Pick<LayerTensor, "dims">) {
	const count = dims.reduce((product, size) => product * size, 1);
	return dims.every((size) => size >= 0) && Number.isSafeInteger(count) ? count : null;
}

export function tensorBytes(tensor: LayerTensor): number | null {
	const bits = tensor.dtype === null ? undefined : bitsOf[tensor.dtype];
	const channelAxis = tensor.dims.length >= 3 ? tensor.dims.length - 3 : -1;
	const width = vectorWidth(tensor.format);
	const dims = tensor.dims.map((size, axis) =>
		axis === channelAxis && size > 0 ? Math.ceil(size / width) * width : size,
	);
	const count = elementsOf({ dims });
	return bits === undefined || count === null ? null : Math.ceil((count * bits) / 8);
}

export function bytesMoved(layer: EngineLayer): number | null {
	if (!takesTime(layer)) return 0;
	const { inputs, outputs, weights } = layer;
	const sizes = [...inputs, ...outputs].map(tensorBytes);
	if (sizes.length === 0 || sizes.includes(null)) return null;
	const weightBytes = ((weights?.elements ?? 0) * (bitsOf[weights?.dtype ?? ""] ?? 32)) / 8;
	return sizes.reduce<number>((sum, size) => sum + (size ?? 0), weightBytes);
}

/** A multiplication and an addition count as two. */
export function operationsOf(layer: EngineLayer): number | null {
	if (layer.kind !== "compute") return 0;
	const output = layer.outputs[0] === undefined ? null : elementsOf(layer.outputs[0]);
	if (output === null) return null;
	const {
		OutMaps: maps,
		WindowSize: window,
		NbOperations: operations,
		ParameterType: kind,
	} = layer.parameters;
	if (kind === "Convolution" && typeof maps === "number" && maps > 0 && layer.weights !== null) {
		const isTransposed = layer.type?.includes("Deconvolution") === true;
		const input = layer.inputs[0];
		if (!isTransposed) return (2 * output * layer.weights.elements) / maps;
		const [pixels, channels] = [input && elementsOf(input), input?.dims.at(-3)];
		return pixels && channels ? (2 * pixels * layer.weights.elements) / channels : null;
	}
	if (Array.isArray(window))
		return output * (window as readonly number[]).reduce((product, size) => product * size, 1);
	if (typeof operations === "number") return output * Math.max(1, operations);
	return isProduct(layer.type) ? productOperations(layer, output) : null;
}

export const isProduct = (type: string | null): boolean =>
	type === "gemm" || type === "fusion" || type === "MatrixMultiply";

/** M×K · K×N, axes in any order, perhaps batched: the three tensors' sizes give K, an axis of the first. */
function productOperations({ inputs }: EngineLayer, output: number) {
	const [a, b] = inputs.filter(({ dims }) => dims.length >= 2);
	const [left, right] = [a && elementsOf(a), b && elementsOf(b)];
	if (!a || !b || !left || !right || output === 0) return null;
	const batch = b.dims.slice(0, -2).reduce((product, size) => product * size, 1);
	const shared = [1, batch]
		.map((times) => Math.sqrt((left * right) / (output * times)))
		.find((size) => a.dims.includes(size));
	return shared === undefined ? null : 2 * output * shared;
}

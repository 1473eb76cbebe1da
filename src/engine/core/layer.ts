// The layers of an engine, as its builder reports them.
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

// The layers of an engine and the time that each takes, as its builder reports them.

export interface LayerTensor {
	name: string;
	/** -1 where the engine leaves the size open. */
	dims: readonly number[];
	/** `fp16`, `int8`, …; null where the text is of an unknown form. */
	dtype: string | null;
	/** Memory layout and type, as TensorRT names them. */
	format: string;
}

export interface LayerWeights {
	dtype: string | null;
	elements: number;
}

export interface EngineLayer {
	/** May repeat; the order distinguishes two of one name. */
	name: string;
	/** `CaskConvolution`, `Reformat`, `kgen`, …; null where the engine was built with names only. */
	type: string | null;
	inputs: readonly LayerTensor[];
	outputs: readonly LayerTensor[];
	/** What the layer computes in: the type of its weights, else of its first number-carrying input, else of its output. */
	precision: string | null;
	tactic: string | null;
	weights: LayerWeights | null;
	/** The ONNX nodes that were fused into it. */
	onnxNodes: readonly string[];
	/** It only changes layout or type. */
	isReformat: boolean;
}

export interface EngineIo {
	name: string;
	mode: "input" | "output" | null;
	dtype: string | null;
}

export interface EngineLayers {
	/** names: the engine was built without details, so only the names are known. */
	detail: "detailed" | "names";
	layers: readonly EngineLayer[];
	io: readonly EngineIo[];
}

export interface LayerTime {
	name: string;
	sumMs: number;
	averageMs: number;
	medianMs: number;
	/** Of the sum over all layers; 0 to 1. */
	share: number;
}

export interface LayerProfile {
	iterations: number;
	layers: readonly LayerTime[];
}

// Describes changes to a graph: its nodes in their new order, each kept, rewired or new.
import type { OnnxDType } from "./model.ts";

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
	size?: number;
}

export interface GraphEdit {
	nodes: readonly (KeptNode | NewNode)[];
	addedOutputs?: readonly AddedOutput[];
}

// Reads ONNX Runtime's profile with instructions in place of times, and makes layers of an engine of it.
import { fieldsOf, isObject, parseJson } from "../../core/found.ts";
import type { OnnxGraph, OnnxNode } from "../../core/onnx/model.ts";
import type { EngineLayer, EngineLayers, LayerProfile } from "../../engine/core/layer.ts";
import { nameOnly } from "../../engine/core/model.ts";

export interface CountedNode {
	/** Name in the optimised graph; a fused node has the name of the first one that went into it. */
	name: string;
	op: string;
	instructions: number;
	inputs: readonly NodeTensor[];
	outputs: readonly NodeTensor[];
	weightBytes: number;
}

interface NodeTensor {
	dtype: string;
	dims: readonly number[];
}

interface NodeEvent extends CountedNode {
	from: number;
	to: number;
	key: string;
}

const kernelEnd = "_kernel_time";

export function parseProfile(text: string): CountedNode[] {
	const runs: NodeEvent[][] = [[]];
	for (const line of text.split("\n")) {
		const event = parseEvent(line);
		if (event === "run") runs.push([]);
		else if (event !== null) runs.at(-1)?.push(event);
	}
	const nodes = new Map<string, CountedNode>();
	for (const { key, from: _, to: __, ...node } of withoutInner(runs.at(-2) ?? [])) {
		const known = nodes.get(key);
		nodes.set(
			key,
			known === undefined ? node : { ...known, instructions: known.instructions + node.instructions },
		);
	}
	return [...nodes.values()];
}

export function byOperator(nodes: readonly CountedNode[]): Map<string, number> {
	const work = new Map<string, number>();
	for (const { op, instructions } of nodes) work.set(op, (work.get(op) ?? 0) + instructions);
	return work;
}

/** run: an inference ended. null: neither that nor the work of a node. */
function parseEvent(line: string) {
	const at = line.indexOf('{"cat"');
	if (at === -1) return null;
	const { cat, name, ts, dur, args } = fieldsOf(parseJson(line.slice(at).replace(/,\s*$/, "")));
	if (cat === "Session") return name === "model_run" ? "run" : null;
	if (cat !== "Node" || typeof name !== "string" || !name.endsWith(kernelEnd) || !isObject(args)) return null;
	if (typeof ts !== "number" || typeof dur !== "number") return null;
	const own = name.slice(0, -kernelEnd.length) || `${args["op_name"]} ${args["node_index"]}`;
	return {
		name: own,
		// Nodes of a graph and of its subgraphs may share index and name.
		key: `${args["node_index"]} ${args["op_name"]} ${own}`,
		op: String(args["op_name"]),
		...{ from: ts, to: ts + dur, instructions: dur / 2 },
		inputs: parseTensors(args["input_type_shape"]),
		outputs: parseTensors(args["output_type_shape"]),
		weightBytes: Number(args["parameter_size"]) || 0,
	};
}

function parseTensors(value: unknown) {
	if (!Array.isArray(value)) return [];
	return value.flatMap((tensor) => {
		const [entry] = isObject(tensor) ? Object.entries(tensor) : [];
		const [dtype, dims] = entry ?? [];
		return dtype === undefined || !Array.isArray(dims) ? [] : [{ dtype, dims: dims.map(Number) }];
	});
}

function withoutInner(events: readonly NodeEvent[]) {
	const open: NodeEvent[] = [];
	return events.map((event) => {
		let instructions = event.instructions;
		for (let inner = open.at(-1); inner !== undefined && inner.from >= event.from; inner = open.at(-1)) {
			instructions -= (inner.to - inner.from) / 2;
			open.pop();
		}
		open.push(event);
		return { ...event, instructions: Math.max(0, instructions) };
	});
}

const dtypes: Readonly<Record<string, string>> = { float: "fp32", float16: "fp16", double: "fp64" };
const bytesOf: Readonly<Record<string, number>> = {
	fp64: 8,
	int64: 8,
	uint64: 8,
	fp16: 2,
	int16: 2,
	uint16: 2,
	int8: 1,
	uint8: 1,
	bool: 1,
};

const shapeOps = new Set(["Shape", "Size", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"]);

export function countedLayers(
	nodes: readonly CountedNode[],
	graph: OnnxGraph,
): { info: EngineLayers; times: LayerProfile } {
	const known = new Map(graph.nodes.map((node) => [node.name, node]));
	const total = nodes.reduce((sum, { instructions }) => sum + instructions, 0) || 1;
	const layers = nodes.map(({ name, instructions }) => ({
		name,
		// Millions of instructions take the place of milliseconds.
		averageMs: instructions / 1e6,
		share: instructions / total,
	}));
	return {
		info: { detail: "detailed", layers: nodes.map((node) => layerOf(node, known.get(node.name))), io: [] },
		times: { iterations: 1, layers },
	};
}

/** For a fused node, the model has only the first of its nodes. */
function layerOf(
	{ name, op, inputs, outputs, weightBytes }: CountedNode,
	node: OnnxNode | undefined,
): EngineLayer {
	const named = (tensors: readonly NodeTensor[], names: readonly string[] = [], way: "in" | "out") =>
		tensors.map(({ dtype, dims }, at) => ({
			name: names[at] || `${name} ${way} ${at}`,
			dims,
			dtype: dtypes[dtype] ?? dtype,
			format: "",
		}));
	const read = named(inputs, node?.inputs, "in");
	const [data, weights] = read;
	const dtype = (weightBytes > 0 ? weights?.dtype : undefined) ?? data?.dtype ?? null;
	return {
		...nameOnly(name),
		kind: shapeOps.has(op) ? "shape" : "compute",
		type: op,
		inputs: read,
		outputs: named(outputs, node?.outputs, "out"),
		precision: dtype,
		weights: weightBytes === 0 ? null : { dtype, elements: weightBytes / (bytesOf[dtype ?? ""] ?? 4) },
		onnxNodes: [name],
	};
}

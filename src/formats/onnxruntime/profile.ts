// Reads ONNX Runtime's profile of an inference whose clock was the instruction counter: what each node executed.
import { isObject } from "../../core/found.ts";

export interface CountedNode {
	/** Name in the optimised graph; a fused node has the name of the first one that went into it. */
	name: string;
	op: string;
	instructions: number;
	inputs: readonly NodeTensor[];
	outputs: readonly NodeTensor[];
	weightBytes: number;
}

export interface NodeTensor {
	/** Type as ONNX Runtime writes it: `float`, `int64`. */
	dtype: string;
	dims: readonly number[];
}

interface NodeEvent extends CountedNode {
	from: number;
	to: number;
	key: string;
}

const kernelEnd = "_kernel_time";

/** The nodes of the last inference, in the order in which they ended; nodes that ran several times, as in a loop, appear once. */
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

/** run: an inference ended. null: neither that nor the work of a node. */
function parseEvent(line: string): NodeEvent | "run" | null {
	const at = line.indexOf('{"cat"');
	if (at === -1) return null;
	const { cat, name, ts, dur, args } = parseObject(line.slice(at).replace(/,\s*$/, ""));
	if (cat === "Session") return name === "model_run" ? "run" : null;
	if (cat !== "Node" || typeof name !== "string" || !name.endsWith(kernelEnd) || !isObject(args)) return null;
	if (typeof ts !== "number" || typeof dur !== "number") return null;
	const own = name.slice(0, -kernelEnd.length) || `${args["op_name"]} ${args["node_index"]}`;
	return {
		name: own,
		key: `${args["node_index"]} ${own}`,
		op: String(args["op_name"]),
		...{ from: ts, to: ts + dur, instructions: dur / 2 },
		inputs: parseTensors(args["input_type_shape"]),
		outputs: parseTensors(args["output_type_shape"]),
		weightBytes: Number(args["parameter_size"]) || 0,
	};
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? value : {};
	} catch {
		return {};
	}
}

function parseTensors(value: unknown): NodeTensor[] {
	if (!Array.isArray(value)) return [];
	return value.flatMap((tensor) => {
		const [entry] = isObject(tensor) ? Object.entries(tensor) : [];
		const [dtype, dims] = entry ?? [];
		return dtype === undefined || !Array.isArray(dims) ? [] : [{ dtype, dims: dims.map(Number) }];
	});
}

function withoutInner(events: readonly NodeEvent[]): NodeEvent[] {
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

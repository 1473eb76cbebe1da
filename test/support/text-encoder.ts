import { readFileSync } from "node:fs";
import {
	attribute,
	type Bytes,
	type Dim,
	floats,
	int64s,
	model,
	node,
	tensor,
	value,
} from "./onnx-writer.ts";

const [float, int64] = [1, 7];
export const oracle = JSON.parse(readFileSync("test/oracles/golden-inputs.json", "utf8"));

export function weight(name: string, ...dims: readonly number[]): Bytes {
	const count = dims.reduce((product, size) => product * size, 1);
	return tensor({
		name,
		dims,
		raw: floats(...Array.from({ length: count }, (_, at) => Math.sin(12.9898 * (at + 1)) * 2)),
	});
}

export const constant = (name: string, dims: readonly number[], ...numbers: readonly number[]): Bytes =>
	tensor({ name, dtype: int64, dims, raw: int64s(...numbers) });

const meanOfRows = (input: string): Bytes =>
	node({
		op: "ReduceMean",
		inputs: [input],
		outputs: ["y"],
		attributes: [attribute.integers("axes", [1]), attribute.integer("keepdims", 0)],
	});

export const encoder = model({
	nodes: [
		node({ op: "Gather", inputs: ["words", "input_ids"], outputs: ["a"] }),
		node({ op: "Gather", inputs: ["kinds", "token_type_ids"], outputs: ["b"] }),
		node({ op: "Add", inputs: ["a", "b"], outputs: ["c"] }),
		node({
			op: "Cast",
			inputs: ["attention_mask"],
			outputs: ["m"],
			attributes: [attribute.integer("to", float)],
		}),
		node({ op: "Unsqueeze", inputs: ["m", "last"], outputs: ["n"] }),
		node({ op: "Mul", inputs: ["c", "n"], outputs: ["d"] }),
		meanOfRows("d"),
	],
	inputs: ["input_ids", "attention_mask", "token_type_ids"].map((name) =>
		value(name, ["batch", "seq"] satisfies Dim[], int64),
	),
	outputs: [value("y", ["batch", 4])],
	initializers: [weight("words", 30, 4), weight("kinds", 2, 4), constant("last", [1], -1)],
});

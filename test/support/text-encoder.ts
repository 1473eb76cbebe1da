import { readFileSync } from "node:fs";
import { type Bytes, floats, int64s, model, tensor, value } from "./onnx-writer.ts";

const int64 = 7;
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

export const encoder = model({
	nodes:
		"a = Gather(words, input_ids); b = Gather(kinds, token_type_ids); c = Add(a, b); m = Cast<to=1>(attention_mask); n = Unsqueeze(m, last); d = Mul(c, n); y = ReduceMean<axes=[1], keepdims=0>(d)",
	inputs: ["input_ids", "attention_mask", "token_type_ids"].map((name) =>
		value(name, ["batch", "seq"], int64),
	),
	outputs: [value("y", ["batch", 4])],
	initializers: [weight("words", 30, 4), weight("kinds", 2, 4), constant("last", [1], -1)],
});

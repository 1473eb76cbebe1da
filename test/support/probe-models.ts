import { attribute, type Bytes, floats, int64s, model, node, tensor, value } from "./onnx-writer.ts";

const features = 8;

function weights(rows: number, columns: number): Bytes {
	return floats(...Array.from({ length: rows * columns }, (_, index) => Math.sin(1 + index)));
}

const matrix = tensor({ name: "w", dims: [features, 4], raw: weights(features, 4) });
const product = node({ op: "MatMul", inputs: ["h", "w"], outputs: ["y"] });
const plain = { inputs: [value("x", ["batch", features])], outputs: [value("y", ["batch", 4])] };

interface Rows {
	/** Makes `h` of `x`. */
	nodes: readonly Bytes[];
	initializers?: readonly Bytes[];
}

function rowModel({ nodes, initializers = [] }: Rows): Bytes {
	return model({
		...plain,
		nodes: [...nodes, product],
		initializers: [matrix, ...initializers],
		opsets: { "": 17 },
	});
}

export const steady = rowModel({ nodes: [node({ op: "Tanh", inputs: ["x"], outputs: ["h"] })] });

export const batchMean = rowModel({
	nodes: [
		node({
			op: "ReduceMean",
			inputs: ["x"],
			outputs: ["mean"],
			attributes: [attribute.integers("axes", [0]), attribute.integer("keepdims", 1)],
		}),
		node({ op: "Sub", inputs: ["x", "mean"], outputs: ["h"] }),
	],
});

const zero = tensor({ name: "axis", dtype: 7, dims: [], raw: int64s(0) });

export const runningSum = rowModel({
	nodes: [node({ op: "CumSum", inputs: ["x", "axis"], outputs: ["h"] })],
	initializers: [zero],
});

export const random = rowModel({
	nodes: [
		node({ op: "RandomNormalLike", inputs: ["x"], outputs: ["noise"] }),
		node({ op: "Add", inputs: ["x", "noise"], outputs: ["h"] }),
	],
});

export const countsRows = rowModel({
	nodes: [
		node({ op: "Shape", inputs: ["x"], outputs: ["shape"], attributes: [attribute.integer("end", 1)] }),
		node({ op: "Cast", inputs: ["shape"], outputs: ["rows"], attributes: [attribute.integer("to", 1)] }),
		node({ op: "Add", inputs: ["x", "rows"], outputs: ["h"] }),
	],
});

export const slopedRows = rowModel({
	nodes: [
		node({ op: "Mul", inputs: ["x", "none"], outputs: ["zeros"] }),
		node({ op: "Add", inputs: ["zeros", "one"], outputs: ["ones"] }),
		node({ op: "CumSum", inputs: ["ones", "axis"], outputs: ["slope"] }),
		node({ op: "Add", inputs: ["x", "slope"], outputs: ["h"] }),
	],
	initializers: [
		zero,
		tensor({ name: "none", dims: [], raw: floats(0) }),
		tensor({ name: "one", dims: [], raw: floats(1) }),
	],
});

export const pairsOnly = rowModel({
	nodes: [
		node({ op: "Reshape", inputs: ["x", "pairs"], outputs: ["paired"] }),
		node({ op: "Reshape", inputs: ["paired", "single"], outputs: ["h"] }),
	],
	initializers: [
		tensor({ name: "pairs", dtype: 7, dims: [3], raw: int64s(-1, 2, features) }),
		tensor({ name: "single", dtype: 7, dims: [2], raw: int64s(-1, features) }),
	],
});

const tokens = 16;
const width = 4;
const table = tensor({ name: "table", dims: [tokens, width], raw: weights(tokens, width) });

interface Pooling {
	/** Makes `pooled` [batch, width] of `embedded` [batch, seq, width] and `weight` [batch, seq, 1]. */
	nodes: readonly Bytes[];
}

function pooled({ nodes }: Pooling): Bytes {
	return model({
		inputs: [value("input_ids", ["batch", "seq"], 7), value("attention_mask", ["batch", "seq"], 7)],
		outputs: [value("pooled", ["batch", width]), value("hidden", ["batch", "seq", width])],
		initializers: [table, tensor({ name: "last", dtype: 7, dims: [1], raw: int64s(2) })],
		nodes: [
			node({ op: "Gather", inputs: ["table", "input_ids"], outputs: ["embedded"] }),
			node({ op: "Tanh", inputs: ["embedded"], outputs: ["hidden"] }),
			node({
				op: "Cast",
				inputs: ["attention_mask"],
				outputs: ["counts"],
				attributes: [attribute.integer("to", 1)],
			}),
			node({ op: "Unsqueeze", inputs: ["counts", "last"], outputs: ["weight"] }),
			...nodes,
		],
		opsets: { "": 17 },
	});
}

const overPositions = [attribute.integers("axes", [1]), attribute.integer("keepdims", 0)];
const positionAxis = node({
	op: "Constant",
	inputs: [],
	outputs: ["positions"],
	attributes: [attribute.tensor("value", tensor({ dtype: 7, dims: [1], raw: int64s(1) }))],
});

const sum = (from: string, to: string): Bytes =>
	node({
		op: "ReduceSum",
		inputs: [from, "positions"],
		outputs: [to],
		attributes: [attribute.integer("keepdims", 0)],
	});

export const maskedMean = pooled({
	nodes: [
		positionAxis,
		node({ op: "Mul", inputs: ["embedded", "weight"], outputs: ["masked"] }),
		sum("masked", "total"),
		sum("weight", "count"),
		node({ op: "Div", inputs: ["total", "count"], outputs: ["pooled"] }),
	],
});

export const ignoresMask = pooled({
	nodes: [
		positionAxis,
		sum("embedded", "total"),
		sum("weight", "count"),
		node({ op: "Div", inputs: ["total", "count"], outputs: ["pooled"] }),
	],
});

/** Divides by the padding too: only another length shows it. */
export const countsPadding = pooled({
	nodes: [
		node({ op: "Mul", inputs: ["embedded", "weight"], outputs: ["masked"] }),
		node({ op: "ReduceMean", inputs: ["masked"], outputs: ["pooled"], attributes: overPositions }),
	],
});

const side = 4;

export const fixedBatch = model({
	inputs: [value("image", [3, 1, side, side])],
	outputs: [value("y", [3, 1, side, side])],
	nodes: [node({ op: "Tanh", inputs: ["image"], outputs: ["y"] })],
	opsets: { "": 17 },
});

export const single = model({
	inputs: [value("x", [1, features])],
	outputs: [value("y", [1, 4])],
	nodes: [node({ op: "Tanh", inputs: ["x"], outputs: ["h"] }), product],
	initializers: [matrix],
	opsets: { "": 17 },
});

export const notFinite = rowModel({
	nodes: [
		node({ op: "Abs", inputs: ["x"], outputs: ["size"] }),
		node({ op: "Neg", inputs: ["size"], outputs: ["negative"] }),
		node({ op: "Log", inputs: ["negative"], outputs: ["h"] }),
	],
});

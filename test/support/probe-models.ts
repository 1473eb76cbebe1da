import { type Bytes, floats, int64s, ints, model, nodes, tensor, value } from "./onnx-writer.ts";

const features = 8;

function weights(rows: number, columns: number): Bytes {
	return floats(...Array.from({ length: rows * columns }, (_, index) => Math.sin(1 + index)));
}

const matrix = tensor({ name: "w", dims: [features, 4], raw: weights(features, 4) });
const product = "y = MatMul(h, w)";

/** @param body makes `h` of `x`. */
function rowModel(body: string, ...initializers: readonly Bytes[]): Bytes {
	return model({
		inputs: [value("x", ["batch", features])],
		// As exporters that name each dimension anew.
		outputs: [value("y", ["rows", 4])],
		nodes: `${body}; ${product}`,
		initializers: [matrix, ...initializers],
	});
}

export const steady = rowModel("h = Tanh(x)");

export const batchMean = rowModel("mean = ReduceMean<axes=[0], keepdims=1>(x); h = Sub(x, mean)");

const zero = tensor({ name: "axis", dtype: 7, raw: int64s(0) });

export const runningSum = rowModel("h = CumSum(x, axis)", zero);

export const random = rowModel("noise = RandomNormalLike(x); h = Add(x, noise)");

export const countsRows = rowModel("shape = Shape<end=1>(x); rows = Cast<to=1>(shape); h = Add(x, rows)");

export const slopedRows = rowModel(
	"zeros = Mul(x, none); ones = Add(zeros, one); slope = CumSum(ones, axis); h = Add(x, slope)",
	zero,
	tensor({ name: "none", raw: floats(0) }),
	tensor({ name: "one", raw: floats(1) }),
);

export const pairsOnly = rowModel(
	"paired = Reshape(x, pairs); h = Reshape(paired, single)",
	ints("pairs", -1, 2, features),
	ints("single", -1, features),
);

const tokens = 16;
const width = 4;
const table = tensor({ name: "table", dims: [tokens, width], raw: weights(tokens, width) });

/** @param pooling makes `pooled` [batch, width] of `embedded` [batch, seq, width] and `weight` [batch, seq, 1]. */
function pooled(pooling: string): Bytes {
	const embedding =
		"embedded = Gather(table, input_ids); hidden = Tanh(embedded); counts = Cast<to=1>(attention_mask); weight = Unsqueeze(counts, last)";
	return model({
		inputs: [value("input_ids", ["batch", "seq"], 7), value("attention_mask", ["batch", "seq"], 7)],
		outputs: [value("pooled", ["batch", width]), value("hidden", ["batch", "seq", width])],
		initializers: [table, ints("last", 2)],
		nodes: nodes(`${embedding}; ${pooling}`, tensor({ dtype: 7, dims: [1], raw: int64s(1) })),
	});
}

const positions = "positions = Constant<value=#0>()";
const sum = (from: string, to: string): string => `${to} = ReduceSum<keepdims=0>(${from}, positions)`;

export const maskedMean = pooled(
	`${positions}; masked = Mul(embedded, weight); ${sum("masked", "total")}; ${sum("weight", "count")}; pooled = Div(total, count)`,
);

export const ignoresMask = pooled(
	`${positions}; ${sum("embedded", "total")}; ${sum("weight", "count")}; pooled = Div(total, count)`,
);

/** Divides by the padding too: only another length shows it. */
export const countsPadding = pooled(
	"masked = Mul(embedded, weight); pooled = ReduceMean<axes=[1], keepdims=0>(masked)",
);

const side = 4;

export const fixedBatch = model({
	inputs: [value("image", [3, 1, side, side])],
	outputs: [value("y", [3, 1, side, side])],
	nodes: "y = Tanh(image)",
});

export const single = model({
	inputs: [value("x", [1, features])],
	outputs: [value("y", [1, 4])],
	nodes: `h = Tanh(x); ${product}`,
	initializers: [matrix],
});

export const notFinite = rowModel("size = Abs(x); negative = Neg(size); h = Log(negative)");

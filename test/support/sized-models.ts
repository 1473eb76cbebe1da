import { attribute, type Dim, floats, model, node, tensor, value } from "./onnx-writer.ts";

export function weights(name: string, dims: readonly number[]) {
	const count = dims.reduce((product, size) => product * size, 1);
	const values = Array.from(
		{ length: count },
		(_, index) => Math.sin(index * 12.9898 + dims.length) / Math.sqrt(count / (dims[0] ?? 1)),
	);
	return tensor({ name, dims, raw: floats(...values) });
}

export function lineReader(dims: readonly Dim[]) {
	const conv = [attribute.integers("strides", [2, 1]), attribute.integers("pads", [1, 1, 1, 1])];
	return model({
		inputs: [value("x:0", dims)],
		outputs: [value("scores", [null, 2])],
		nodes: [
			node({ op: "Conv", inputs: ["x:0", "kernel"], outputs: ["a"], attributes: conv }),
			node({ op: "Relu", inputs: ["a"], outputs: ["b"] }),
			node({ op: "GlobalAveragePool", inputs: ["b"], outputs: ["c"] }),
			node({ op: "Flatten", inputs: ["c"], outputs: ["d"] }),
			node({ op: "Gemm", inputs: ["d", "last"], outputs: ["scores"] }),
		],
		initializers: [weights("kernel", [8, 3, 3, 3]), weights("last", [8, 2])],
	});
}

export function digitReader() {
	return model({
		inputs: [value("image", ["batch", 1, "height", "width"])],
		outputs: [value("scores", ["batch", 10])],
		nodes: [
			node({ op: "Flatten", inputs: ["image"], outputs: ["flat"] }),
			node({ op: "Gemm", inputs: ["flat", "layer"], outputs: ["scores"] }),
		],
		initializers: [weights("layer", [28 * 28, 10])],
	});
}

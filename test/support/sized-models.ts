import { type Dim, floats, model, tensor, value } from "./onnx-writer.ts";

export function weights(name: string, dims: readonly number[]) {
	const count = dims.reduce((product, size) => product * size, 1);
	const values = Array.from(
		{ length: count },
		(_, index) => Math.sin(index * 12.9898 + dims.length) / Math.sqrt(count / (dims[0] ?? 1)),
	);
	return tensor({ name, dims, raw: floats(...values) });
}

export function lineReader(dims: readonly Dim[]) {
	return model({
		inputs: [value("x:0", dims)],
		outputs: [value("scores", [null, 2])],
		nodes:
			"a = Conv<strides=[2, 1], pads=[1, 1, 1, 1]>(x:0, kernel); b = Relu(a); c = GlobalAveragePool(b); d = Flatten(c); scores = Gemm(d, last)",
		initializers: [weights("kernel", [8, 3, 3, 3]), weights("last", [8, 2])],
	});
}

export function digitReader() {
	return model({
		inputs: [value("image", ["batch", 1, "height", "width"])],
		outputs: [value("scores", ["batch", 10])],
		nodes: "flat = Flatten(image); scores = Gemm(flat, layer)",
		initializers: [weights("layer", [28 * 28, 10])],
	});
}

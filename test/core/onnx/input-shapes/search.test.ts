import { expect, it } from "vitest";
import { bindShapes, fillShapes } from "../../../../src/core/onnx/input-shapes/bind.ts";
import { searchSizes } from "../../../../src/core/onnx/input-shapes/search.ts";
import type { OnnxModel } from "../../../../src/core/onnx/model.ts";
import { type Bytes, type Dim, floats, modelOf, tensor, value } from "../../../support/onnx-writer.ts";

interface Net {
	/** Such as `x N 3 _, ids:7 b`: `_` is a dimension without a name, 7 an element type. */
	inputs: string;
	outputs?: readonly Dim[];
	nodes?: readonly Bytes[] | string;
	weights?: Readonly<Record<string, readonly number[]>>;
}

function net({ inputs, outputs = [null, null, null], nodes = "y = Relu(x)", weights = {} }: Net) {
	return modelOf({
		inputs: inputs.split(", ").map((each) => {
			const [start = "", ...dims] = each.split(" ");
			const [name = "", dtype = "1"] = start.split(":");
			return value(name, dims.map(dimOf), Number(dtype));
		}),
		outputs: [value("y", outputs)],
		nodes,
		initializers: Object.entries(weights).map(([name, dims]) =>
			tensor({ name, dims, raw: floats(...Array(dims.reduce((a, b) => a * b, 1)).fill(1)) }),
		),
	});
}

const dimOf = (word: string): Dim => (word === "_" ? null : /^\d+$/.test(word) ? Number(word) : word);
const shown = (shapes: Readonly<Record<string, number[]>> = {}) =>
	Object.entries(shapes)
		.map(([name, shape]) => [name, ...shape].join(" "))
		.join(", ");

function searched(onnx: OnnxModel) {
	const bound = bindShapes(onnx, { dims: {}, inputs: {} });
	const search = searchSizes(onnx, bound);
	const next = (count = 1) =>
		search.next(count).map((sizes) => ({ sizes, shapes: { ...fillShapes(bound, sizes) } }));
	return { search, next };
}

const firstShapes = (onnx: OnnxModel) => searched(onnx).next()[0]?.shapes;

it.each<[inputs: string, shapes: string, more?: Partial<Net>]>([
	// Pictures, the second with channels last.
	["x N 3 H W", "x 1 3 320 320"],
	["x _ _ _ 3", "x 1 224 224 3", { outputs: [null, 10] }],
	// Audio.
	["x N samples", "x 1 16000", { outputs: ["time", 1, null, 32] }],
	// Lines of text, the second with windows that move further down than across.
	["x 1 1 64 image_width", "x 1 1 64 320"],
	["x _ 3 ? ?", "x 1 3 48 320", { nodes: "y = Conv<strides=[2, 1]>(x, w)", weights: { w: [4, 3, 3, 3] } }],
	["ids:7 b seq, mask:7 b seq", "ids 1 128, mask 1 128"],
	// A signal, with a state.
	["input _ _, state 2 _ 128, sr:7", "input 1 512, state 2 1 128, sr"],
	["mel batch_size 3 frames 160", "mel 1 3 128 160"],
])("the first choice for %s is %s", (inputs, shapes, more) => {
	expect(shown(firstShapes(net({ inputs, ...more })))).toBe(shapes);
});

it("a mask over a cache and the new steps is as long as both", () => {
	const onnx = net({
		inputs: "new b seq 8, past b past 8, mask b total 8",
		nodes: "all = Concat<axis=1>(past, new); y = Add(all, mask)",
	});
	expect(firstShapes(onnx)).toEqual({ new: [1, 128, 8], past: [1, 16, 8], mask: [1, 144, 8] });
});

const skip = `
	down = Conv<strides=[7, 7], kernel_shape=[1, 1]>(x, w);
	up = ConvTranspose<strides=[7, 7], kernel_shape=[7, 7]>(down, v);
	y = Add(x, up)
`;

it("static shapes leave out what cannot run: a network with patches of 7 needs multiples of 7", () => {
	const weights = { w: [3, 3, 1, 1], v: [3, 3, 7, 7] };
	const { search, next } = searched(net({ inputs: "x 1 3 H 70", nodes: skip, weights }));
	expect(next()[0]?.shapes).toEqual({ x: [1, 3, 322, 70] });
	expect(search.attempts[0]).toMatchObject({ by: "static shapes", why: expect.stringContaining("Add") });
});

it("a shape that cannot run leads to the sizes that its message names", () => {
	const nodes = "flat = Flatten(x); y = Gemm(flat, w)";
	const onnx = net({ inputs: "x N 2 H W", nodes, weights: { w: [2 * 37 * 37, 5] } });
	expect(firstShapes(onnx)).toEqual({ x: [1, 2, 37, 37] });
	const square = net({ inputs: "x N 1 H W", nodes, weights: { w: [40 * 40, 5] } });
	expect(firstShapes(square)).toEqual({ x: [1, 1, 40, 40] });
});

it.each([
	[
		"a size that ONNX Runtime expects of an input",
		'Input "x" has size 320 in dimension 2, expected 48.',
		{ x: [1, 3, 48, 320] },
	],
	[
		"a ratio",
		'Reshape "r": cannot be reshaped, {1,256,20,20} to {1,256,10,10}: 400 and 100',
		{ x: [1, 3, 160, 160] },
	],
	["no number", "Something is wrong.", { x: [1, 3, 320, 640] }],
])("after a failed run, the search tries what follows from %s", (_, why, shapes) => {
	const { search, next } = searched(net({ inputs: "x 1 3 H W" }));
	const [first] = next();
	search.failed(first?.sizes ?? new Map(), why);
	expect(next()[0]?.shapes).toEqual(shapes);
	expect(search.attempts).toHaveLength(1);
});

it("hostile numbers of axes and hints cost a bounded number of checks", () => {
	const axes = " _".repeat(16);
	const { search, next } = searched(net({ inputs: `x${axes}, y${axes}` }));
	for (let round = 0; round < 100; round++)
		for (const { sizes } of next(4)) search.failed(sizes, "12 and 34, 56 and 78");
	expect(next(4)).toEqual([]);
});

// Shapes of inputs from the config and the ONNX file.
import { expect, it } from "vitest";
import { ConfigError } from "../../../../src/core/errors.ts";
import { overConfig, type ShapeSource } from "../../../../src/core/onnx/input-shapes/bind.ts";
import { labelAxes, openAxes } from "../../../../src/core/onnx/input-shapes/open-axes.ts";
import { resolveShapes } from "../../../../src/core/onnx/input-shapes/resolve.ts";
import { feeds, type OnnxModel } from "../../../../src/core/onnx/model.ts";
import { memorySource } from "../../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	joinBytes as join,
	textField as text,
} from "../../../../src/formats/onnx/write.ts";
import { type Dim, floats, model, node, tensor, tensorType, value } from "../../../support/onnx-writer.ts";

function withInputs(inputs: Readonly<Record<string, readonly Dim[] | null>>): OnnxModel {
	const messages = Object.entries(inputs).map(([name, dims]) => value(name, dims));
	return readOnnx(memorySource(model({ inputs: messages })), "m.onnx");
}

function options(
	dims: ShapeSource["dims"] = {},
	shapes: Record<string, (number | string)[]> = {},
): ShapeSource {
	const inputs = Object.fromEntries(
		Object.entries(shapes).map(([name, shape]) => [name, { shape, fill: "normal" as const }]),
	);
	return { dims, inputs, pointer: "/models/m" };
}

/** What a command's own options give. */
function given(dims: ShapeSource["dims"] = {}, shapes: Record<string, number[]> = {}): ShapeSource {
	return {
		dims,
		inputs: Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { shape }])),
	};
}

function resolved(onnx: OnnxModel, given: ShapeSource): Record<string, number[]> {
	return { ...resolveShapes(onnx, given) };
}

it.each<[string, Record<string, readonly Dim[] | null>, ShapeSource, Record<string, number[]>]>([
	["fixed shapes as they are, scalars too", { x: [1, 3], s: [] }, options(), { x: [1, 3], s: [] }],
	[
		"one size for a symbol everywhere",
		{ x: ["b", 3], y: ["b", "n"] },
		options({ b: 8, n: 2 }),
		{ x: [8, 3], y: [8, 2] },
	],
	[
		"a shape of the user's for unnamed dimensions",
		{ x: [null, 3] },
		options({}, { x: [4, 3] }),
		{ x: [4, 3] },
	],
	["a shape of the user's where the file has none", { x: null }, options({}, { x: [4, 3] }), { x: [4, 3] }],
	[
		"a symbol of the user's own in a shape",
		{ x: [null, 3] },
		options({ batch: 16 }, { x: ["batch", 3] }),
		{ x: [16, 3] },
	],
	[
		"a symbol bound by the shape of another input",
		{ x: ["b", 3], y: ["b"] },
		options({}, { x: [5, 3] }),
		{ x: [5, 3], y: [5] },
	],
	[
		"two axes of one name, each by its own size",
		{ x: [null, 3, "?", "?"] },
		options({}, { x: [1, 3, 48, 192] }),
		{ x: [1, 3, 48, 192] },
	],
	[
		"a name that two inputs use for two sizes",
		{ x: ["b"], y: ["b"] },
		options({}, { x: [1], y: [2] }),
		{ x: [1], y: [2] },
	],
	[
		"a placeholder that stands for one axis, by its name",
		{ x: [1, 3, "?", 320] },
		options({ "?": 48 }),
		{ x: [1, 3, 48, 320] },
	],
	[
		"names with colons, dots and digits",
		{ "in:0": ["b", 2], "on.nx::x": [null], 537: ["b"] },
		options({ b: 1 }, { "on.nx::x": [7] }),
		{ "in:0": [1, 2], "on.nx::x": [7], 537: [1] },
	],
	["an empty dimension", { past: ["b", "p", 8] }, options({ b: 1, p: 0 }), { past: [1, 0, 8] }],
])("shape resolution gives every input its shape: %s", (...[, inputs, given, expected]) => {
	expect(resolved(withInputs(inputs), given)).toEqual(expected);
});

it("shape resolution gives every input its shape: no shape for initialisers that old files list as inputs", () => {
	const file = model({
		inputs: [value("x", [2]), value("w", ["n"])],
		initializers: [tensor({ name: "w", dims: [1], raw: floats(1) })],
	});
	expect(resolved(readOnnx(memorySource(file), "m.onnx"), options())).toEqual({ x: [2] });
});

it("shape resolution gives every input its shape: inputs with the names of an object's own parts", () => {
	const onnx = withInputs(Object.fromEntries([["__proto__", ["constructor"]]]) as Record<string, Dim[]>);
	const shapes = resolveShapes(onnx, options({ constructor: 3 } as unknown as Record<string, number>));
	expect(Object.entries(shapes)).toEqual([["__proto__", [3]]]);
});

it.each<[string, Record<string, readonly Dim[] | null>, ShapeSource, RegExp, RegExp]>([
	[
		"a symbol without a size",
		{ x: ["batch", 3] },
		options(),
		/Sizes are missing: "batch" \(axis 0 of "x"\)\. The model's inputs: "x" \[batch, 3\]/,
		/dims: \{ batch: 1 \}$/,
	],
	[
		"everything that is missing at once",
		{ x: ["batch", 3, "?", "?"], y: ["batch", "len"], z: [4] },
		options(),
		/missing: "batch" \(axis 0 of "x", axis 0 of "y"\), "len" \(axis 1 of "y"\), axes 2 and 3 of "x"/,
		/inputs: \{ x: \{ shape: \[1, 3, 224, 224\] \}, "y": \{ shape: \[1, 512\] \} \}$/,
	],
	[
		"everything that is missing, as options",
		{ "x:0": [null, 3, "?", "?"], s: ["batch"] },
		given(),
		/Sizes are missing/,
		/: --shape x:0=1,3,224,224 --shape s=1$/,
	],
	[
		"names that a shell would read",
		{ x: ["a b", "?"] },
		given(),
		/Sizes are missing/,
		/: --dims 'a b=1,\?=512'$/,
	],
	[
		"dims for an axis without a name",
		{ input: [null, null] },
		given({ "?": 1 }),
		/--dims \? binds nothing: axes 0 and 1 of "input" have no name/,
		/--shape input=1,512$/,
	],
	[
		"dims for a placeholder on two axes",
		{ x: [1, 3, "?", "?"] },
		options({ "?": 48 }),
		/dims\.\? binds nothing: axes 2 and 3 of "x" have no name/,
		/inputs: \{ x: \{ shape: \[1, 3, 224, 224\] \} \}$/,
	],
	[
		"an input without shape",
		{ x: null },
		options(),
		/gives no shape for its input "x" \(tensor\)/,
		/inputs: \{ x: /,
	],
	[
		"a size that binds nothing",
		{ x: ["batch"] },
		options({ batch: 1, bacth: 2 }),
		/dims\.bacth binds nothing: .*"batch"/,
		/Did you mean "batch"/,
	],
	[
		"a size for a fixed model",
		{ x: [1, 3] },
		options({ batch: 2 }),
		/dims\.batch binds nothing: the model's inputs have fixed shapes/,
		/Remove "batch"/,
	],
	[
		"an input that is not there",
		{ image: [1] },
		options({}, { images: [1] }),
		/no input "images"; its inputs are "image"/,
		/Did you mean "image"/,
	],
	[
		"a wrong rank",
		{ x: [null, 3] },
		options({}, { x: [3] }),
		/has 1 dimensions, the model's input has 2: \[\?, 3\]/,
		/one size for each/,
	],
	[
		"a wrong fixed size",
		{ x: [null, 3] },
		options({}, { x: [1, 4] }),
		/contradicts the model at axis 1: .*\[\?, 3\]/,
		/Give 3 there/,
	],
	[
		"a shape against dims",
		{ x: ["b"] },
		options({ b: 1 }, { x: [2] }),
		/1 from dims\.b and 2 from inputs\.x\.shape/,
		/the same size/,
	],
	[
		"two symbols of one size",
		{ x: ["b"] },
		options({ b: 1, other: 2 }, { x: ["other"] }),
		/"b" gets two sizes: 1 from dims\.b and 2 from inputs\.x\.shape/,
		/the same size/,
	],
	[
		"an unbound symbol in a shape",
		{ x: [null] },
		options({}, { x: ["n"] }),
		/Sizes are missing: "n" \(axis 0 of "x"\)/,
		/dims: \{ "n": 1 \}$/,
	],
	["a broken size", { x: ["b"] }, options({ b: 1.5 }), /The size of "b" is 1\.5/, /whole number/],
])("shape resolution refuses %s", (...[, inputs, source, message, fix]) => {
	const attempt = (): unknown => resolveShapes(withInputs(inputs), source);
	expect(attempt).toThrow(message);
	try {
		attempt();
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		expect(error.code).toBe("config-dims");
		// What the commands' own options give has no place in a file.
		expect(error.pointer === undefined).toBe(source.pointer === undefined);
		expect(error.fix).toMatch(fix);
	}
});

it.each([
	["unknown dims", options({ b: 1, c: 1 }), "/models/m/dims/c"],
	["missing dims", options(), "/models/m/dims"],
	["an unknown input", options({ b: 1 }, { y: [1] }), "/models/m/inputs/y"],
	["a wrong rank", options({ b: 1 }, { x: [1] }), "/models/m/inputs/x"],
])("shape resolution points to %s", (_, source, pointer) => {
	expect(() => resolveShapes(withInputs({ x: ["b", 3] }), source)).toThrow(
		expect.objectContaining({ pointer }),
	);
});

it("shape resolution gives each nameless axis a name of its own, and one name to axes that share it", () => {
	const inputs = feeds(withInputs({ x: ["b", 3, "?", "?"], x_2: ["x_2", null], z: null }).graph);
	const labels = labelAxes(inputs);
	expect(
		openAxes(inputs, labels).map(({ name, isNamed, uses }) => [
			name,
			isNamed,
			uses.map(({ input, axis }) => `${input}/${axis}`).join(),
		]),
	).toEqual([
		["b", true, "x/0"],
		["x_2_axis", false, "x/2"],
		["x_3", false, "x/3"],
		["x_2", true, "x_2/0"],
		["x_2_1", false, "x_2/1"],
	]);
	expect(labels[2]).toBeNull();
});

it("shape resolution lets a shape from the command line replace what the configuration says of that input", () => {
	const onnx = withInputs({ x: ["b", null], y: ["b", "n"] });
	const source = overConfig(
		onnx,
		options({ b: 8, rows: 4, n: 2 }, { x: ["b", "rows"] }),
		given({ n: 3 }, { x: [1, 5] }),
	);
	expect(resolved(onnx, source)).toEqual({ x: [1, 5], y: [1, 3] });
});

it("a shape that an option pins replaces what the config says of that input alone", () => {
	const onnx = withInputs({ x: ["n", null], y: ["m", "n"], z: ["k"] });
	const source = {
		dims: { n: 4, m: 2, width: 7, k: 5 },
		inputs: { x: { shape: ["n", "width"], pinned: [1, 9] } },
	};
	expect(resolved(onnx, source)).toEqual({ x: [1, 9], y: [2, 1], z: [5] });
});

it("an input that is no tensor is refused as such, with what its exporter takes", () => {
	const list = join(text(1, "x"), bytes(2, bytes(4, bytes(1, tensorType(1, [])))));
	const onnx = readOnnx(
		memorySource(model({ inputs: [list], nodes: [node({ op: "ZipMap", domain: "ai.onnx.ml" })] })),
		"m.onnx",
	);
	const refused = expect.objectContaining({
		message: expect.stringContaining('Input "x" is a sequence, not a tensor'),
		fix: expect.stringContaining("zipmap=False"),
	});
	expect(() => resolveShapes(onnx, options())).toThrow(refused);
});

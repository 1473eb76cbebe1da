import { expect, it } from "vitest";
import { overConfig, type ShapeSource } from "../../../../src/core/onnx/input-shapes/bind.ts";
import { labelAxes, openAxes } from "../../../../src/core/onnx/input-shapes/open-axes.ts";
import { resolveShapes } from "../../../../src/core/onnx/input-shapes/search.ts";
import { feeds, type OnnxModel } from "../../../../src/core/onnx/model.ts";
import {
	bytesField as bytes,
	joinBytes as join,
	textField as text,
} from "../../../../src/formats/onnx/write.ts";
import { type Dim, floats, modelOf, tensor, tensorType, value } from "../../../support/onnx-writer.ts";

type Inputs = Readonly<Record<string, readonly Dim[] | null>>;
type Dims = ShapeSource["dims"];
type Shapes = Readonly<Record<string, (number | string)[]>>;

const withInputs = (inputs: Inputs) =>
	modelOf({ inputs: Object.entries(inputs).map(([name, dims]) => value(name, dims)) });

function options(dims: Dims = {}, shapes: Shapes = {}): ShapeSource {
	const inputs = Object.entries(shapes).map(([name, shape]) => [name, { shape }]);
	return { dims, inputs: Object.fromEntries(inputs) };
}

const config = (dims?: Dims, shapes?: Shapes): ShapeSource => ({
	...options(dims, shapes),
	pointer: "/models/m",
});

const resolved = (onnx: OnnxModel, source: ShapeSource) => ({ ...resolveShapes(onnx, source) });

it.each<[string, Inputs, ShapeSource, Record<string, number[]>]>([
	["fixed shapes, scalars too", { x: [1, 3], s: [] }, config(), { x: [1, 3], s: [] }],
	["a shared symbol", { x: ["b", 3], y: ["b", "n"] }, config({ b: 8, n: 2 }), { x: [8, 3], y: [8, 2] }],
	["a whole shape for unnamed dimensions", { x: [null, 3] }, config({}, { x: [4, 3] }), { x: [4, 3] }],
	["a whole shape where the file has none", { x: null }, config({}, { x: [4, 3] }), { x: [4, 3] }],
	["a new symbol in a shape", { x: [null, 3] }, config({ rows: 16 }, { x: ["rows", 3] }), { x: [16, 3] }],
	["a symbol of another shape", { x: ["b", 3], y: ["b"] }, config({}, { x: [5, 3] }), { x: [5, 3], y: [5] }],
	["one placeholder", { x: [null, 3, "?", "?"] }, config({}, { x: [1, 3, 48, 192] }), { x: [1, 3, 48, 192] }],
	["a name of two sizes", { x: ["b"], y: ["b"] }, config({}, { x: [1], y: [2] }), { x: [1], y: [2] }],
	["a placeholder of one axis", { x: [1, 3, "?", 320] }, config({ "?": 48 }), { x: [1, 3, 48, 320] }],
	[
		"names with colons, dots and digits",
		{ "in:0": ["b", 2], "on.nx::x": [null], 537: ["b"] },
		config({ b: 1 }, { "on.nx::x": [7] }),
		{ "in:0": [1, 2], "on.nx::x": [7], 537: [1] },
	],
	["an empty dimension", { past: ["b", "p", 8] }, config({ b: 1, p: 0 }), { past: [1, 0, 8] }],
])("every input gets its shape: %s", (_, inputs, source, expected) => {
	expect(resolved(withInputs(inputs), source)).toEqual(expected);
});

it("initialisers that old files list as inputs get no shape", () => {
	const onnx = modelOf({
		inputs: [value("x", [2]), value("w", ["n"])],
		initializers: [tensor({ name: "w", dims: [1], raw: floats(1) })],
	});
	expect(resolved(onnx, config())).toEqual({ x: [2] });
});

it("inputs may be named like the properties of every object", () => {
	const onnx = withInputs(Object.fromEntries([["__proto__", ["constructor"]]]) as Record<string, Dim[]>);
	const shapes = resolveShapes(onnx, config({ constructor: 3 } as unknown as Dims));
	expect(Object.entries(shapes)).toEqual([["__proto__", [3]]]);
});

it.each<[string, Inputs, ShapeSource, RegExp, RegExp]>([
	[
		"a symbol without a size",
		{ x: ["batch", 3] },
		config(),
		/Sizes are missing: "batch" \(axis 0 of "x"\)\. The model's inputs: "x" \[batch, 3\]/,
		/dims: \{ batch: 1 \}$/,
	],
	[
		"all that is missing at once",
		{ x: ["batch", 3, "?", "?"], y: ["batch", "len"], z: [4] },
		config(),
		/missing: "batch" \(axis 0 of "x", axis 0 of "y"\), "len" \(axis 1 of "y"\), axes 2 and 3 of "x"/,
		/inputs: \{ x: \{ shape: \[1, 3, 224, 224\] \}, "y": \{ shape: \[1, 512\] \} \}$/,
	],
	[
		"all that is missing, as options",
		{ "x:0": [null, 3, "?", "?"], s: ["batch"] },
		options(),
		/Sizes are missing/,
		/: --shape x:0=1,3,224,224 --shape s=1$/,
	],
	["names to be quoted", { x: ["a b", "?"] }, options(), /Sizes are missing/, /: --dims 'a b=1,\?=512'$/],
	[
		"--dims for an axis without a name",
		{ input: [null, null] },
		options({ "?": 1 }),
		/--dims \? binds nothing: axes 0 and 1 of "input" have no name/,
		/whole shape with --shape/,
	],
	[
		"dims for a placeholder on two axes",
		{ x: [1, 3, "?", "?"] },
		config({ "?": 48 }),
		/dims\.\? binds nothing: axes 2 and 3 of "x" have no name/,
		/whole shape under `inputs`/,
	],
	["an input without shape", { x: null }, config(), /gives no shape for its input "x"/, /inputs: \{ x: /],
	[
		"a size that binds nothing",
		{ x: ["batch"] },
		config({ batch: 1, bacth: 2 }),
		/dims\.bacth binds nothing: .*"batch"/,
		/Did you mean "batch"/,
	],
	["a size for a fixed model", { x: [1, 3] }, config({ batch: 2 }), /fixed shapes/, /Remove "batch"/],
	[
		"an input that is not there",
		{ image: [1] },
		config({}, { images: [1] }),
		/no input "images"; its inputs are "image"/,
		/Did you mean "image"/,
	],
	[
		"a wrong rank",
		{ x: [null, 3] },
		config({}, { x: [3] }),
		/has 1 dimensions, the model's input has 2: \[\?, 3\]/,
		/one size for each/,
	],
	[
		"a wrong fixed size",
		{ x: [null, 3] },
		config({}, { x: [1, 4] }),
		/contradicts the model at axis 1: .*\[\?, 3\]/,
		/Give 3 there/,
	],
	[
		"a shape against dims",
		{ x: ["b"] },
		config({ b: 1, other: 2 }, { x: ["other"] }),
		/"b" gets two sizes: 1 from dims\.b and 2 from inputs\.x\.shape/,
		/the same size/,
	],
	[
		"an unbound symbol in a shape",
		{ x: [null] },
		config({}, { x: ["n"] }),
		/Sizes are missing: "n" \(axis 0 of "x"\)/,
		/dims: \{ "n": 1 \}$/,
	],
])("sizes are refused: %s", (_, inputs, source, message, fix) => {
	const says = { message: expect.stringMatching(message), fix: expect.stringMatching(fix) };
	const refusal = expect.objectContaining({ code: "config-dims", ...says });
	expect(() => resolveShapes(withInputs(inputs), source)).toThrow(refusal);
});

it.each([
	["unknown dims", config({ b: 1, c: 1 }), "/models/m/dims/c"],
	["missing dims", config(), "/models/m/dims"],
	["an unknown input", config({ b: 1 }, { y: [1] }), "/models/m/inputs/y"],
	["a wrong rank", config({ b: 1 }, { x: [1] }), "/models/m/inputs/x"],
	["options, which have no place in a file", options(), undefined],
])("a refusal points to %s", (_, source, pointer) => {
	const refused = () => resolveShapes(withInputs({ x: ["b", 3] }), source);
	expect(refused).toThrow(expect.objectContaining({ pointer }));
});

it("each nameless axis gets a name of its own, and axes that share a name one size", () => {
	const inputs = feeds(withInputs({ x: ["b", 3, "?", "?"], x_2: ["x_2", null], z: null }).graph);
	const labels = labelAxes(inputs);
	const open = openAxes(inputs, labels).map(
		({ name, isNamed, uses }) => `${name} ${isNamed} ${uses.map(({ input, axis }) => `${input}/${axis}`)}`,
	);
	expect(open.join(", ")).toBe(
		"b true x/0, x_2_axis false x/2, x_3 false x/3, x_2 true x_2/0, x_2_1 false x_2/1",
	);
	expect(labels[2]).toBeNull();
});

it("a shape from the command line replaces that of the configuration", () => {
	const onnx = withInputs({ x: ["b", null], y: ["b", "n"] });
	const configured = config({ b: 8, rows: 4, n: 2 }, { x: ["b", "rows"] });
	const source = overConfig(onnx, configured, options({ n: 3 }, { x: [1, 5] }));
	expect(resolved(onnx, source)).toEqual({ x: [1, 5], y: [1, 3] });
});

it("a shape from an option replaces the configured sizes of that input only", () => {
	const onnx = withInputs({ x: ["n", null], y: ["m", "n"], z: ["k"] });
	const inputs = { x: { shape: ["n", "width"], pinned: [1, 9] } };
	expect(resolved(onnx, { dims: { n: 4, m: 2, width: 7, k: 5 }, inputs })).toEqual({
		x: [1, 9],
		y: [2, 1],
		z: [5],
	});
});

it("an input that is not a tensor is refused, with the exporter's option against it", () => {
	const list = join(text(1, "x"), bytes(2, bytes(4, bytes(1, tensorType(1, [])))));
	const onnx = modelOf({ inputs: [list], nodes: "y = ai.onnx.ml.ZipMap(x)" });
	const refusal = {
		message: expect.stringContaining('Input "x" is a sequence, not a tensor'),
		fix: expect.stringContaining("zipmap=False"),
	};
	expect(() => resolveShapes(onnx, config())).toThrow(expect.objectContaining(refusal));
});

// Shapes of inputs from the config and the ONNX file.
import { describe, expect, it } from "vitest";
import { ConfigError } from "../../../src/core/errors.ts";
import type { OnnxModel } from "../../../src/core/onnx/model.ts";
import { resolveShapes, type ShapeOptions, symbolicDims } from "../../../src/core/onnx/shapes.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import { type Dim, floats, model, tensor, value } from "../../support/onnx-writer.ts";

function withInputs(inputs: Readonly<Record<string, readonly Dim[] | null>>): OnnxModel {
	const messages = Object.entries(inputs).map(([name, dims]) => value(name, dims));
	return readOnnx(memorySource(model({ inputs: messages })), "m.onnx");
}

function options(dims: ShapeOptions["dims"] = {}, shapes: Record<string, (number | string)[]> = {}): ShapeOptions {
	const inputs = Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { shape, fill: "normal" as const }]));
	return { dims, inputs, pointer: "/models/m/dims" };
}

function resolved(onnx: OnnxModel, given: ShapeOptions): Record<string, number[]> {
	return { ...resolveShapes(onnx, given) };
}

describe("gives every input its shape", () => {
	it.each<[string, Record<string, readonly Dim[] | null>, ShapeOptions, Record<string, number[]>]>([
		["fixed shapes as they are, scalars too", { x: [1, 3], s: [] }, options(), { x: [1, 3], s: [] }],
		["one size for a symbol everywhere", { x: ["b", 3], y: ["b", "n"] }, options({ b: 8, n: 2 }), { x: [8, 3], y: [8, 2] }],
		["a shape of the user's for unnamed dimensions", { x: [null, 3] }, options({}, { x: [4, 3] }), { x: [4, 3] }],
		["a shape of the user's where the file has none", { x: null }, options({}, { x: [4, 3] }), { x: [4, 3] }],
		["a symbol of the user's own in a shape", { x: [null, 3] }, options({ batch: 16 }, { x: ["batch", 3] }), { x: [16, 3] }],
		["a symbol bound by the shape of another input", { x: ["b", 3], y: ["b"] }, options({}, { x: [5, 3] }), { x: [5, 3], y: [5] }],
		["an empty dimension", { past: ["b", "p", 8] }, options({ b: 1, p: 0 }), { past: [1, 0, 8] }],
	])("%s", (...[, inputs, given, expected]) => {
		expect(resolved(withInputs(inputs), given)).toEqual(expected);
	});

	it("no shape for initialisers that old files list as inputs", () => {
		const file = model({ inputs: [value("x", [2]), value("w", ["n"])], initializers: [tensor({ name: "w", dims: [1], raw: floats(1) })] });
		expect(resolved(readOnnx(memorySource(file), "m.onnx"), options())).toEqual({ x: [2] });
	});

	it("inputs with the names of an object's own parts", () => {
		const onnx = withInputs(Object.fromEntries([["__proto__", ["constructor"]]]) as Record<string, Dim[]>);
		const shapes = resolveShapes(onnx, options({ constructor: 3 } as unknown as Record<string, number>));
		expect(Object.entries(shapes)).toEqual([["__proto__", [3]]]);
	});
});

describe("refuses sizes that do not fit, and says what to write", () => {
	it.each<[string, Record<string, readonly Dim[] | null>, ShapeOptions, RegExp, RegExp]>([
		[
			"a symbol without a size",
			{ x: ["batch", 3] },
			options(),
			/Dimension "batch" of input "x" has no size: \[batch, 3\]/,
			/dims: \{ batch: 1 \}/,
		],
		[
			"a nameless dimension",
			{ x: [null, 3] },
			options(),
			/Axis 0 of input "x" is dynamic and has no name/,
			/inputs: \{ x: \{ shape: \[1, 3\] \} \}/,
		],
		["an input without shape", { x: null }, options(), /gives no shape for its input "x" \(tensor\)/, /inputs: \{ x: /],
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
			/one entry for each/,
		],
		["a wrong fixed size", { x: [null, 3] }, options({}, { x: [1, 4] }), /contradicts the model at axis 1: .*\[\?, 3\]/, /Give 3 there/],
		[
			"two sizes for a symbol",
			{ x: ["b"], y: ["b"] },
			options({}, { x: [1], y: [2] }),
			/"b" gets two sizes: 1 from inputs\.x\.shape and 2 from inputs\.y\.shape/,
			/one size/,
		],
		["a shape against dims", { x: ["b"] }, options({ b: 1 }, { x: [2] }), /1 from dims\.b and 2 from inputs\.x\.shape/, /one size/],
		[
			"two symbols of one size",
			{ x: ["b"] },
			options({ b: 1, other: 2 }, { x: ["other"] }),
			/contradicts the model at axis 0/,
			/Give 1 there/,
		],
		[
			"an unbound symbol in a shape",
			{ x: [null] },
			options({}, { x: ["n"] }),
			/Dimension "n" of input "x" has no size/,
			/dims: \{ n: 1 \}/,
		],
		["a broken size", { x: ["b"] }, options({ b: 1.5 }), /The size of "b" is 1\.5/, /whole number/],
	])("%s", (...[, inputs, given, message, fix]) => {
		const attempt = (): unknown => resolveShapes(withInputs(inputs), given);
		expect(attempt).toThrow(message);
		try {
			attempt();
		} catch (error) {
			if (!(error instanceof ConfigError)) throw error;
			expect([error.code, error.details.pointer]).toEqual(["config-dims", "/models/m/dims"]);
			expect(error.details.fix).toMatch(fix);
		}
	});
});

it("lists the symbolic dimensions with where they stand", () => {
	expect(symbolicDims(withInputs({ x: ["b", 3, "n"], y: ["n", null], z: null }))).toEqual([
		{ name: "b", uses: [{ input: "x", axis: 0 }] },
		{
			name: "n",
			uses: [
				{ input: "x", axis: 2 },
				{ input: "y", axis: 0 },
			],
		},
	]);
});

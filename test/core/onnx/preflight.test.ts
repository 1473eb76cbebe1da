// Each finding of the preflight, on the smallest model that has it.
import { expect, it } from "vitest";
import type { PreflightContext } from "../../../src/core/onnx/findings/subject.ts";
import { type FindingCode, findingKinds } from "../../../src/core/onnx/findings/subject.ts";
import type { ExternalFile, InspectedModel } from "../../../src/core/onnx/model.ts";
import { preflight } from "../../../src/core/onnx/preflight.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	integerField as integer,
	joinBytes as join,
	textField as text,
} from "../../../src/formats/onnx/write.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import {
	attribute,
	type Bytes,
	externalTensor,
	floats,
	graph,
	int64s,
	type ModelInit,
	model,
	node,
	opset,
	tensor,
	tensorType,
	value,
} from "../../support/onnx-writer.ts";

function inspected(file: Bytes, external: readonly ExternalFile[] = []): InspectedModel {
	return { path: "m.onnx", onnx: readOnnx(memorySource(file), "m.onnx"), sha256: "0".repeat(64), external };
}

/** `severity code`, by backend. */
function codes(init: ModelInit, backend: PreflightContext["backend"]): string[] {
	return preflight(inspected(model(init)), { backend }).map(({ severity, code }) => `${severity} ${code}`);
}

const weight = (name: string, dims: readonly number[]): Bytes =>
	tensor({ name, dims, raw: new Uint8Array(dims.reduce((a, b) => a * b, 4)) });
const relu = node({ op: "Relu" });
const quantised = (scale: number, zero: { dtype: number; value: number }): ModelInit => ({
	nodes: [
		node({ op: "QuantizeLinear", inputs: ["x", "s", "z"], outputs: ["q"] }),
		node({ op: "DequantizeLinear", inputs: ["q", "s", "z"] }),
	],
	initializers: [
		tensor({ name: "s", raw: floats(scale) }),
		tensor({ name: "z", dtype: zero.dtype, raw: Uint8Array.of(zero.value) }),
	],
});
const sequence = join(text(1, "x"), bytes(2, bytes(4, bytes(1, tensorType(1, [])))));

interface Row {
	what: string;
	code: FindingCode;
	init: ModelInit;
	/** Severity by backend; null: not found there. */
	ort: "error" | "warning" | "note" | null;
	trt: "error" | "warning" | "note" | null;
}

const rows: readonly Row[] = [
	{
		what: "a tensor that nobody gives",
		code: "tensor-undefined",
		init: { nodes: [node({ op: "Add", inputs: ["x", "ghost"] })] },
		ort: "error",
		trt: "error",
	},
	{
		what: "an output that nobody gives",
		code: "output-undefined",
		init: { outputs: [value("nothing")] },
		ort: "error",
		trt: "error",
	},
	{
		what: "a tensor with two producers",
		code: "tensor-duplicate",
		init: { nodes: [relu, node({ op: "Exp" })] },
		ort: "error",
		trt: "error",
	},
	{
		what: "an input listed twice",
		code: "tensor-duplicate",
		init: { inputs: [value("x"), value("x")] },
		ort: "error",
		trt: "error",
	},
	{
		what: "an initialiser listed twice",
		code: "tensor-duplicate",
		init: {
			nodes: [node({ op: "Add", inputs: ["x", "w"] })],
			initializers: [weight("w", [1]), weight("w", [1])],
		},
		ort: "warning",
		trt: "warning",
	},
	{
		what: "two nodes of one name",
		code: "node-name-duplicate",
		init: { nodes: [node({ op: "Relu", name: "n" }), node({ op: "Exp", name: "n", outputs: ["z"] })] },
		ort: "error",
		trt: "warning",
	},
	{
		what: "a Constant of another node's name",
		code: "node-name-duplicate",
		init: {
			nodes: [
				node({
					op: "Constant",
					name: "n",
					inputs: [],
					outputs: ["c"],
					attributes: [attribute.tensor("value", weight("", [1]))],
				}),
				node({ op: "Add", name: "n", inputs: ["x", "c"] }),
			],
		},
		ort: "warning",
		trt: "warning",
	},
	{
		what: "a cycle",
		code: "graph-cycle",
		init: {
			nodes: [
				node({ op: "Add", inputs: ["x", "b"], outputs: ["a"] }),
				node({ op: "Relu", inputs: ["a"], outputs: ["b"] }),
				node({ op: "Relu", inputs: ["b"] }),
			],
		},
		ort: "error",
		trt: "error",
	},
	{
		what: "a cycle through a subgraph",
		code: "graph-cycle",
		init: {
			nodes: [
				node({
					op: "If",
					inputs: ["x"],
					outputs: ["a"],
					attributes: [
						attribute.graph(
							"then_branch",
							graph({
								inputs: [],
								nodes: [node({ op: "Relu", inputs: ["y"], outputs: ["r"] })],
								outputs: [value("r")],
							}),
						),
					],
				}),
				node({ op: "Relu", inputs: ["a"] }),
			],
		},
		ort: "error",
		trt: "error",
	},
	{
		what: "an attribute that the operator does not have",
		code: "operator-signature",
		init: { nodes: [node({ op: "Relu", attributes: [attribute.integer("slope", 1)] })] },
		ort: "error",
		trt: null,
	},
	{
		what: "an attribute that the operator does not have, behind a node of the same operator that is right",
		code: "operator-signature",
		init: {
			nodes: [
				node({ op: "Relu", outputs: ["r"] }),
				node({ op: "Relu", inputs: ["r"], attributes: [attribute.integer("slope", 1)] }),
			],
		},
		ort: "error",
		trt: null,
	},
	{
		what: "an attribute that must be there",
		code: "operator-signature",
		init: { nodes: [node({ op: "Concat", inputs: ["x", "x"] })] },
		ort: "error",
		trt: null,
	},
	{
		what: "an input too many",
		code: "operator-signature",
		init: { nodes: [node({ op: "Relu", inputs: ["x", "x"] })] },
		ort: "error",
		trt: null,
	},
	{
		what: "an operator without a kernel in its opset",
		code: "operator-kernel",
		init: { nodes: [node({ op: "GlobalLpPool" })], opsets: { "": 22 } },
		ort: "error",
		trt: null,
	},
	{
		what: "a type without a kernel",
		code: "operator-kernel",
		init: {
			inputs: [value("x", [4], 5)],
			nodes: [node({ op: "Max", inputs: ["x", "x"] })],
			outputs: [value("y", [4], 5)],
		},
		ort: "error",
		trt: null,
	},
	{
		what: "a recurrent operator with the batch first",
		code: "operator-refused",
		init: {
			inputs: [value("x", [1, 2, 3])],
			nodes: [node({ op: "LSTM", inputs: ["x", "w", "r"], attributes: [attribute.integer("layout", 1)] })],
			initializers: [weight("w", [1, 8, 3]), weight("r", [1, 8, 2])],
		},
		ort: "error",
		trt: null,
	},
	{
		what: "random numbers",
		code: "operator-random",
		init: { nodes: [node({ op: "RandomNormalLike" })] },
		ort: "warning",
		trt: "warning",
	},
	{
		what: "a double among floats",
		code: "type-mismatch",
		init: {
			nodes: [
				node({ op: "Cast", outputs: ["d"], attributes: [attribute.integer("to", 11)] }),
				node({ op: "Concat", inputs: ["x", "d"], attributes: [attribute.integer("axis", 0)] }),
			],
		},
		ort: "error",
		trt: "warning",
	},
	{
		what: "a graph without outputs",
		code: "graph-no-outputs",
		init: { outputs: [] },
		ort: "error",
		trt: "error",
	},
	{ what: "no operator set at all", code: "opset-missing", init: { opsets: {} }, ort: "error", trt: "error" },
	{
		what: "an unnamed operator set",
		code: "opset-missing",
		init: { opsets: { "com.microsoft": 1 } },
		ort: "warning",
		trt: "warning",
	},
	{
		what: "an opset of the future",
		code: "opset-too-new",
		init: { opsets: { "": 27 } },
		ort: "error",
		trt: "warning",
	},
	{
		what: "the newest opset of ONNX Runtime",
		code: "opset-too-new",
		init: { opsets: { "": 26 } },
		ort: null,
		trt: "warning",
	},
	{
		what: "an ai.onnx.ml of the future",
		code: "opset-too-new",
		init: { opsets: { "": 17, "ai.onnx.ml": 6 } },
		ort: "error",
		trt: null,
	},
	{ what: "an old opset", code: "opset-too-old", init: { opsets: { "": 8 } }, ort: null, trt: "warning" },
	{
		what: "a very old opset",
		code: "opset-too-old",
		init: { opsets: { "": 6 } },
		ort: "warning",
		trt: "warning",
	},
	{ what: "a new IR", code: "ir-too-new", init: { irVersion: 14 }, ort: "error", trt: "note" },
	{
		what: "an unknown operator",
		code: "operator-unknown",
		init: { nodes: [node({ op: "SwishFusion" })] },
		ort: "error",
		trt: "warning",
	},
	{
		what: "a plugin that TensorRT brings",
		code: "operator-plugin",
		init: { nodes: [node({ op: "EfficientNMS_TRT" })] },
		ort: null,
		trt: "note",
	},
	{
		what: "a plugin that TensorRT brought",
		code: "plugin-absent",
		init: { nodes: [node({ op: "BatchedNMS_TRT" })] },
		ort: null,
		trt: "warning",
	},
	{
		what: "an operator that TensorRT does not import",
		code: "operator-unsupported",
		init: { nodes: [node({ op: "Det" })] },
		ort: "note",
		trt: "warning",
	},
	{
		what: "an attribute that TensorRT does not take",
		code: "operator-restricted",
		init: { nodes: [node({ op: "MaxPool", attributes: [attribute.integers("dilations", [2, 2])] })] },
		ort: null,
		trt: "warning",
	},
	{
		what: "a dimension without size",
		code: "dims-unbound",
		init: { inputs: [value("x", ["batch", 3])] },
		ort: null,
		trt: "note",
	},
	{
		what: "weights of a type that TensorRT has not",
		code: "dtype-unsupported",
		init: { initializers: [tensor({ name: "w", dims: [1], dtype: 4, raw: new Uint8Array(2) })] },
		ort: null,
		trt: "warning",
	},
	{
		what: "a double at the border",
		code: "dtype-double",
		init: { inputs: [value("x", [1], 11)] },
		ort: null,
		trt: "warning",
	},
	{
		what: "an input of a type that TensorRT has not",
		code: "io-dtype",
		init: { inputs: [value("x", [1], 4)] },
		ort: null,
		trt: "error",
	},
	{
		what: "an opset that ONNX cannot have",
		code: "opset-too-new",
		init: { opsets: { "": 37 } },
		ort: "error",
		trt: "error",
	},
	{
		what: "a contributed operator",
		code: "operator-domain",
		init: { nodes: [node({ op: "Gelu", domain: "com.microsoft" })], opsets: { "": 17, "com.microsoft": 1 } },
		ort: null,
		trt: "warning",
	},
	{
		what: "an operator of TensorRT's parser",
		code: "operator-unknown",
		init: { nodes: [node({ op: "TRT_FP8QuantizeLinear" })] },
		ort: "error",
		trt: null,
	},
	{
		what: "an operator newer than the opset",
		code: "operator-too-new",
		init: { nodes: [node({ op: "Gelu" })] },
		ort: "error",
		trt: null,
	},
	{
		what: "an operator that ONNX Runtime has early",
		code: "operator-too-new",
		init: { nodes: [node({ op: "LayerNormalization" })], opsets: { "": 13 } },
		ort: null,
		trt: null,
	},
	{
		what: "a withdrawn operator",
		code: "operator-withdrawn",
		init: { nodes: [node({ op: "Upsample" })] },
		ort: "error",
		trt: null,
	},
	{
		what: "an operator before it was withdrawn",
		code: "operator-withdrawn",
		init: { nodes: [node({ op: "Upsample" })], opsets: { "": 9 } },
		ort: null,
		trt: null,
	},
	{
		what: "a sequence input",
		code: "io-not-tensor",
		init: { inputs: [sequence] },
		ort: "error",
		trt: "error",
	},
	{
		what: "a bfloat16 input",
		code: "io-dtype",
		init: { inputs: [value("x", [1], 16)] },
		ort: "error",
		trt: null,
	},
	{
		what: "an fp8 output",
		code: "io-dtype",
		init: { outputs: [value("y", [1], 17)] },
		ort: "error",
		trt: null,
	},
	{
		what: "a string input",
		code: "io-dtype",
		init: { inputs: [value("x", [1], 8)] },
		ort: "error",
		trt: "error",
	},
	{
		what: "an input without type",
		code: "io-dtype",
		init: { inputs: [text(1, "x")] },
		ort: "error",
		trt: "error",
	},
	{
		what: "a float16 input",
		code: "io-dtype",
		init: { inputs: [value("x", [1], 10)] },
		ort: null,
		trt: null,
	},
	{
		what: "a nameless dimension",
		code: "io-dynamic",
		init: { inputs: [value("x", [null, 3])] },
		ort: "note",
		trt: "note",
	},
	{
		what: "a short integer input",
		code: "io-shape-tensor",
		init: { inputs: [value("x", [4], 7)] },
		ort: null,
		trt: "note",
	},
	{
		what: "weights that are too short",
		code: "weights-size",
		init: {
			nodes: [node({ op: "Add", inputs: ["x", "w"] })],
			initializers: [tensor({ name: "w", dims: [4], raw: floats(1) })],
		},
		ort: "error",
		trt: "error",
	},
	{
		what: "weights without payload",
		code: "weights-size",
		init: {
			nodes: [node({ op: "Add", inputs: ["x", "w"] })],
			initializers: [tensor({ name: "w", dims: [4] })],
		},
		ort: "error",
		trt: "error",
	},
	{
		what: "short weights that nobody reads",
		code: "weights-size",
		init: { initializers: [tensor({ name: "w", dims: [4], raw: floats(1) })] },
		ort: "warning",
		trt: "warning",
	},
	{
		what: "weights that nobody reads",
		code: "weights-unused",
		init: { initializers: [weight("w", [4])] },
		ort: "note",
		trt: "note",
	},
	{
		what: "weights of 64-bit integers",
		code: "dtype-int64",
		init: { initializers: [tensor({ name: "w", dims: [1], dtype: 7, raw: int64s(3) })] },
		ort: null,
		trt: "note",
	},
	{
		what: "weights of doubles",
		code: "dtype-double",
		init: { initializers: [tensor({ name: "w", dims: [1], dtype: 11, raw: new Uint8Array(8) })] },
		ort: "note",
		trt: "note",
	},
	{
		what: "explicit quantisation",
		code: "quantised",
		init: quantised(0.1, { dtype: 3, value: 0 }),
		ort: "note",
		trt: "note",
	},
	{
		what: "a shifted zero point",
		code: "zero-point-nonzero",
		init: quantised(0.1, { dtype: 3, value: 5 }),
		ort: null,
		trt: "warning",
	},
	{
		what: "an unsigned zero point",
		code: "zero-point-unsigned",
		init: quantised(0.1, { dtype: 2, value: 0 }),
		ort: null,
		trt: "warning",
	},
	{
		what: "a negative scale",
		code: "scale-not-positive",
		init: quantised(-1, { dtype: 3, value: 0 }),
		ort: "warning",
		trt: "error",
	},
	{
		what: "a scale that is no number",
		code: "scale-not-positive",
		init: quantised(Number.NaN, { dtype: 3, value: 0 }),
		ort: "warning",
		trt: "error",
	},
	{
		what: "K beyond TensorRT's limit",
		code: "topk-limit",
		init: {
			nodes: [node({ op: "TopK", inputs: ["x", "k"], outputs: ["y", "i"] })],
			initializers: [tensor({ name: "k", dims: [1], dtype: 7, raw: int64s(3841) })],
		},
		ort: null,
		trt: "error",
	},
	{
		what: "K at TensorRT's limit",
		code: "topk-limit",
		init: {
			nodes: [node({ op: "TopK", inputs: ["x", "k"], outputs: ["y", "i"] })],
			initializers: [tensor({ name: "k", dims: [1], dtype: 7, raw: int64s(3840) })],
		},
		ort: null,
		trt: null,
	},
	{
		what: "K from a Constant node",
		code: "topk-limit",
		init: {
			nodes: [
				node({
					op: "Constant",
					inputs: [],
					outputs: ["k"],
					attributes: [attribute.integers("value_ints", [5000])],
				}),
				node({ op: "TopK", inputs: ["x", "k"], outputs: ["y", "i"] }),
			],
		},
		ort: null,
		trt: "error",
	},
	{
		what: "a tensor that no device holds",
		code: "tensor-too-big",
		init: {
			nodes: [node({ op: "Expand", inputs: ["x", "e"] })],
			initializers: [tensor({ name: "e", dims: [2], dtype: 7, raw: int64s(300_000, 300_000) })],
			inputs: [value("x", [1, 1])],
		},
		ort: "warning",
		trt: "error",
	},
	{
		what: "weights that do not fit",
		code: "shape-mismatch",
		init: { nodes: [node({ op: "MatMul", inputs: ["x", "w"] })], initializers: [weight("w", [5, 7])] },
		ort: "error",
		trt: "error",
	},
];

it.each(rows)("preflight finds $what ($code)", ({ code, init, ort, trt }) => {
	const found = (backend: PreflightContext["backend"]): string[] =>
		codes(init, backend).filter((each) => each.endsWith(` ${code}`));
	expect(found("onnxruntime")).toEqual(
		ort === null ? [] : Array.from(found("onnxruntime"), () => `${ort} ${code}`),
	);
	expect(found("onnxruntime").length > 0).toBe(ort !== null);
	expect(found("tensorrt").every((each) => each === `${trt} ${code}`)).toBe(true);
	expect(found("tensorrt").length > 0).toBe(trt !== null);
});

it.each<[NonNullable<ExternalFile["problem"]>, FindingCode]>([
	["missing", "external-data-missing"],
	["short", "external-data-short"],
	["outside", "external-data-outside"],
	["absolute", "external-data-outside"],
	["lfs-pointer", "external-data-lfs-pointer"],
])("preflight finds external data that is %s", (problem, code) => {
	const file = model({ initializers: [externalTensor("w", [4], { location: "w.bin", length: "16" })] });
	const findings = preflight(inspected(file, [{ location: "w.bin", path: null, neededBytes: 16, problem }]), {
		backend: "tensorrt",
	});
	expect(findings[0]).toMatchObject({ code, severity: "error" });
	expect(findings[0]?.message).toContain('"w.bin"');
});

it("preflight finds a file that protobuf cannot hold", () => {
	const small = inspected(model());
	const large = { ...small, onnx: { ...small.onnx, bytes: 2 ** 31 } };
	expect(preflight(large, { backend: "tensorrt" })).toMatchObject([
		{ code: "protobuf-too-big", severity: "error" },
	]);
	expect(
		preflight({ ...small, onnx: { ...small.onnx, bytes: 2 ** 31 - 1 } }, { backend: "tensorrt" }),
	).toEqual([]);
});

it("preflight finds every code at least once in these tables", () => {
	const elsewhere = [
		"dims-conflict",
		"external-data-missing",
		"external-data-short",
		"external-data-outside",
		"external-data-lfs-pointer",
		"protobuf-too-big",
		// In tensorrt/hardware.test.ts.
		"precision-hardware",
		"weights-too-big",
		// In recorded-faults.test.ts.
		"precision-typed",
		"precision-uncalibrated",
	];
	expect([...new Set([...rows.map((row) => row.code), ...elsewhere])].sort()).toEqual(
		Object.keys(findingKinds).sort(),
	);
});

it.each<[string, ModelInit]>([
	["a plain model", {}],
	[
		"nodes in any order",
		{ nodes: [node({ op: "Relu", inputs: ["a"] }), node({ op: "Exp", outputs: ["a"] })] },
	],
	[
		"optional inputs and outputs left out",
		{
			nodes: [node({ op: "Clip", inputs: ["x", "", "w"], outputs: ["y", ""] })],
			initializers: [weight("w", [])],
		},
	],
	[
		"old files that list weights as inputs",
		{
			irVersion: 3,
			inputs: [value("x"), value("w")],
			nodes: [node({ op: "Add", inputs: ["x", "w"] })],
			initializers: [weight("w", [1, 4])],
		},
	],
	[
		"subgraphs that read the tensors around them",
		{
			inputs: [value("x"), value("c", [], 9)],
			nodes: [
				node({
					op: "If",
					inputs: ["c"],
					attributes: ["then_branch", "else_branch"].map((branch) =>
						attribute.graph(
							branch,
							graph({
								inputs: [],
								nodes: [node({ op: "Add", inputs: ["x", "w"], outputs: ["r"] })],
								outputs: [value("r")],
							}),
						),
					),
				}),
			],
			initializers: [weight("w", [1, 4])],
		},
	],
	[
		"operators that the file itself defines",
		{
			nodes: [node({ op: "Twice", domain: "com.acme" })],
			opsets: { "": 17, "com.acme": 1 },
			modelMore: bytes(
				25,
				join(
					text(1, "Twice"),
					text(4, "a"),
					text(5, "b"),
					bytes(7, node({ op: "Add", inputs: ["a", "a"], outputs: ["b"] })),
					bytes(9, opset("", 17)),
					text(10, "com.acme"),
				),
			),
		},
	],
])("preflight finds nothing in %s", (_, init) => {
	expect([...codes(init, "onnxruntime"), ...codes(init, "tensorrt")]).toEqual([]);
});

it("preflight reports errors first, with node and fix", () => {
	const init = {
		nodes: [node({ op: "Add", inputs: ["x", "ghost"], name: "join" })],
		initializers: [weight("w", [4])],
	};
	expect(preflight(inspected(model(init)), { backend: "tensorrt" })).toEqual([
		{
			code: "tensor-undefined",
			severity: "error",
			message: 'Add "join" reads tensor "ghost", which no input, initialiser or node defines.',
			fix: expect.stringContaining("Export the model again"),
			node: "join",
		},
		expect.objectContaining({ code: "weights-unused", severity: "note" }),
	]);
});

it("preflight reports where in the model a fault lies", () => {
	const branch = graph({
		inputs: [],
		nodes: [node({ op: "Relu", inputs: ["ghost"], outputs: ["r"] })],
		outputs: [value("r")],
	});
	const init = {
		nodes: [
			node({ op: "If", inputs: ["x"], name: "gate", attributes: [attribute.graph("then_branch", branch)] }),
		],
	};
	expect(preflight(inspected(model(init)), { backend: "tensorrt" })[0]?.message).toContain(
		'Relu (unnamed, output "r") in subgraph "then_branch" of If "gate" reads tensor "ghost"',
	);
});

it("preflight reports the first twenty of a kind and how many more there are", () => {
	const nodes = Array.from({ length: 50 }, (_, index) =>
		node({ op: "Relu", inputs: [`ghost${index}`], outputs: [index === 0 ? "y" : `y${index}`] }),
	);
	const found = preflight(inspected(model({ nodes })), { backend: "tensorrt" });
	expect(found).toHaveLength(21);
	expect(found[20]).toEqual({
		code: "tensor-undefined",
		severity: "error",
		message: "30 more findings of this kind.",
	});
});

it("preflight reports names from the file only with their harm taken", () => {
	const init = {
		nodes: [node({ op: "Relu", name: `a\u001b[31m\u202e\n${"n".repeat(500)}`, inputs: ["g\u0000"] })],
	};
	const [found] = preflight(inspected(model(init)), { backend: "tensorrt" });
	for (const said of [found?.message ?? "", found?.node ?? ""]) {
		expect(said).not.toMatch(/[\p{Cc}\p{Cf}]/u);
		expect(said).toContain("a\\u001b[31m\\u202e\\u000ann");
		expect(said.length).toBeLessThan(300);
	}
});

it("preflight reports nothing of INT64 to a TensorRT that knows the type", () => {
	const init = {
		nodes: [node({ op: "Gather", inputs: ["x", "w"] })],
		initializers: [tensor({ name: "w", dims: [1], dtype: 7, raw: int64s(0) })],
	};
	const found = (tensorrt: string): string[] =>
		preflight(inspected(model(init)), { backend: "tensorrt", tensorrt }).map(({ code }) => code);
	expect(found("8.6.1")).toEqual(["dtype-int64"]);
	expect(found("10.15.1")).toEqual([]);
});

it("preflight stays linear in the number of nodes", () => {
	const nodes = Array.from({ length: 20_000 }, (_, index) =>
		node({
			op: "Relu",
			inputs: [index === 0 ? "x" : `t${index}`],
			outputs: [index === 19_999 ? "y" : `t${index + 1}`],
		}),
	);
	const large = inspected(model({ nodes, more: integer(99, 1) }));
	const start = cpuMs();
	expect(preflight(large, { backend: "onnxruntime" })).toEqual([]);
	expect(cpuMs() - start).toBeLessThan(2000);
});

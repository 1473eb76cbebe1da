// Each finding of the preflight, on the smallest model that has it.
import { expect, it } from "vitest";
import type { PreflightContext } from "../../../src/core/onnx/findings/subject.ts";
import { type FindingCode, findingKinds } from "../../../src/core/onnx/findings/subject.ts";
import type { ExternalFile } from "../../../src/core/onnx/model.ts";
import { preflight } from "../../../src/core/onnx/preflight.ts";
import {
	bytesField as bytes,
	integerField as integer,
	joinBytes as join,
	textField as text,
} from "../../../src/formats/onnx/write.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import {
	type Bytes,
	definition,
	externalTensor,
	floats,
	graph,
	inspectedOf,
	ints,
	type ModelInit,
	modelOf,
	node,
	nodes,
	tensor,
	tensorType,
	value,
} from "../../support/onnx-writer.ts";

const inspected = (init: ModelInit = {}, external: readonly ExternalFile[] = []) =>
	inspectedOf(modelOf(init), external);

/** `severity code`, by backend. */
function codes(init: ModelInit, backend: PreflightContext["backend"]): string[] {
	return preflight(inspected(init), { backend }).map(({ severity, code }) => `${severity} ${code}`);
}

const weight = (name: string, dims: readonly number[]): Bytes =>
	tensor({ name, dims, raw: new Uint8Array(dims.reduce((a, b) => a * b, 4)) });
/** A subgraph of one node, which gives `r`. */
const branch = (text: string): Bytes => graph({ inputs: [], nodes: text, outputs: [value("r")] });
const quantised = (scale: number, zero: Uint8Array, dtype = 3): ModelInit => ({
	nodes: "q = QuantizeLinear(x, s, z); y = DequantizeLinear(q, s, z)",
	initializers: [tensor({ name: "s", raw: floats(scale) }), tensor({ name: "z", dtype, raw: zero })],
});
const short = tensor({ name: "w", dims: [4], raw: floats(1) });
const sequence = join(text(1, "x"), bytes(2, bytes(4, bytes(1, tensorType(1, [])))));

type Severity = "error" | "warning" | "note" | "-";

/** Code, then severity on ONNX Runtime and on TensorRT. */
const rows: readonly (readonly [string, `${FindingCode} ${Severity} ${Severity}`, ModelInit | string])[] = [
	["a tensor that nobody gives", "tensor-undefined error error", "y = Add(x, ghost)"],
	["an output that nobody gives", "output-undefined error error", { outputs: [value("nothing")] }],
	["a tensor with two producers", "tensor-duplicate error error", { nodes: "y = Relu(x); y = Exp(x)" }],
	["an input listed twice", "tensor-duplicate error error", { inputs: [value("x"), value("x")] }],
	["two nodes of one name", "node-name-duplicate error warning", "[n] y = Relu(x); [n] z = Exp(x)"],
	[
		"a Constant of another node's name",
		"node-name-duplicate - warning",
		{ nodes: nodes("[n] c = Constant<value=#0>(); [n] y = Add(x, c)", weight("", [1])) },
	],
	["a cycle", "graph-cycle error error", "a = Add(x, b); b = Relu(a); y = Relu(b)"],
	[
		"a cycle through a subgraph",
		"graph-cycle error error",
		{ nodes: nodes("a = If<then_branch=$0>(x); y = Relu(a)", branch("r = Relu(y)")) },
	],
	["an attribute that the operator does not have", "operator-signature error -", "y = Relu<slope=1>(x)"],
	[
		"an attribute that the operator does not have, behind a node of the same operator that is right",
		"operator-signature error -",
		"r = Relu(x); y = Relu<slope=1>(r)",
	],
	["an attribute that must be there", "operator-signature error -", "y = Concat(x, x)"],
	["an input too many", "operator-signature error -", "y = Relu(x, x)"],
	[
		"an operator without a kernel in its opset",
		"operator-kernel error -",
		{ nodes: "y = GlobalLpPool(x)", opsets: { "": 22 } },
	],
	[
		"a type without a kernel",
		"operator-kernel error -",
		{ inputs: [value("x", [4], 5)], nodes: "y = Max(x, x)", outputs: [value("y", [4], 5)] },
	],
	[
		"a recurrent operator with the batch first",
		"operator-refused error -",
		{
			inputs: [value("x", [1, 2, 3])],
			nodes: "y = LSTM<layout=1>(x, w, r)",
			initializers: [weight("w", [1, 8, 3]), weight("r", [1, 8, 2])],
		},
	],
	["random numbers", "operator-random warning warning", "y = RandomNormalLike(x)"],
	["a double among floats", "type-mismatch error warning", "d = Cast<to=11>(x); y = Concat<axis=0>(x, d)"],
	["a graph without outputs", "graph-no-outputs error error", { outputs: [] }],
	["no operator set at all", "opset-missing error error", { opsets: {} }],
	["an unnamed operator set", "opset-missing warning warning", { opsets: { "com.microsoft": 1 } }],
	["an opset of the future", "opset-too-new error warning", { opsets: { "": 27 } }],
	["the newest opset of ONNX Runtime", "opset-too-new - warning", { opsets: { "": 26 } }],
	["an ai.onnx.ml of the future", "opset-too-new error -", { opsets: { "": 17, "ai.onnx.ml": 6 } }],
	["a new IR", "ir-too-new error note", { irVersion: 14 }],
	["an unknown operator", "operator-unknown error warning", "y = SwishFusion(x)"],
	["a plugin that TensorRT brought", "plugin-absent - warning", "y = BatchedNMS_TRT(x)"],
	["an operator that TensorRT does not import", "operator-unsupported - warning", "y = Det(x)"],
	[
		"an attribute that TensorRT does not take",
		"operator-restricted - warning",
		"y = MaxPool<dilations=[2, 2]>(x)",
	],
	[
		"weights of a type that TensorRT has not",
		"dtype-unsupported - warning",
		{ initializers: [tensor({ name: "w", dims: [1], dtype: 4, raw: new Uint8Array(2) })] },
	],
	["a double at the border", "dtype-double - warning", { inputs: [value("x", [1], 11)] }],
	["an input of a type that TensorRT has not", "io-dtype - error", { inputs: [value("x", [1], 4)] }],
	["an opset that ONNX cannot have", "opset-too-new error error", { opsets: { "": 37 } }],
	[
		"a contributed operator",
		"operator-domain - warning",
		{ nodes: "y = com.microsoft.Gelu(x)", opsets: { "": 17, "com.microsoft": 1 } },
	],
	["an operator of TensorRT's parser", "operator-unknown error -", "y = TRT_FP8QuantizeLinear(x)"],
	["an operator newer than the opset", "operator-too-new error -", "y = Gelu(x)"],
	[
		"an operator that ONNX Runtime has early",
		"operator-too-new - -",
		{ nodes: "y = LayerNormalization(x)", opsets: { "": 13 } },
	],
	["a withdrawn operator", "operator-withdrawn error -", "y = Upsample(x)"],
	["a sequence input", "io-not-tensor error error", { inputs: [sequence] }],
	["a bfloat16 input", "io-dtype error -", { inputs: [value("x", [1], 16)] }],
	["an fp8 output", "io-dtype error -", { outputs: [value("y", [1], 17)] }],
	["a string input", "io-dtype error error", { inputs: [value("x", [1], 8)] }],
	["an input without type", "io-dtype error error", { inputs: [text(1, "x")] }],
	[
		"weights that are too short",
		"weights-size error error",
		{ nodes: "y = Add(x, w)", initializers: [short] },
	],
	[
		"weights without payload",
		"weights-size error error",
		{ nodes: "y = Add(x, w)", initializers: [tensor({ name: "w", dims: [4] })] },
	],
	["short weights that nobody reads", "weights-size warning warning", { initializers: [short] }],
	["a shifted zero point", "zero-point-nonzero - warning", quantised(0.1, Uint8Array.of(5))],
	["an unsigned zero point", "zero-point-unsigned - warning", quantised(0.1, Uint8Array.of(0), 2)],
	["a negative scale", "scale-not-positive warning error", quantised(-1, Uint8Array.of(0))],
	["a scale that is no number", "scale-not-positive warning error", quantised(Number.NaN, Uint8Array.of(0))],
	[
		"K beyond TensorRT's limit",
		"topk-limit - error",
		{ nodes: "y, i = TopK(x, k)", initializers: [ints("k", 3841)] },
	],
	["K from a Constant node", "topk-limit - error", "k = Constant<value_ints=[5000]>(); y, i = TopK(x, k)"],
	[
		"a tensor that no device holds",
		"tensor-too-big warning error",
		{ nodes: "y = Expand(x, e)", initializers: [ints("e", 3e5, 3e5)], inputs: [value("x", [1, 1])] },
	],
	[
		"weights that do not fit",
		"shape-mismatch error error",
		{ nodes: "y = MatMul(x, w)", initializers: [weight("w", [5, 7])] },
	],
];

it.each(rows)("preflight finds %s (%s)", (_, expected, init) => {
	const [code, ort, trt] = expected.split(" ");
	for (const [backend, severity] of [
		["onnxruntime", ort],
		["tensorrt", trt],
	] as const) {
		const found = codes(typeof init === "string" ? { nodes: init } : init, backend);
		const own = found.filter((each) => each.endsWith(` ${code}`));
		expect([...new Set(own)]).toEqual(severity === "-" ? [] : [`${severity} ${code}`]);
	}
});

it.each<[NonNullable<ExternalFile["problem"]>, FindingCode]>([
	["missing", "external-data-missing"],
	["short", "external-data-short"],
	["outside", "external-data-outside"],
	["absolute", "external-data-outside"],
	["lfs-pointer", "external-data-lfs-pointer"],
])("finds external data that is %s", (problem, code) => {
	const file = { initializers: [externalTensor("w", [4], { location: "w.bin", length: "16" })] };
	const findings = preflight(inspected(file, [{ location: "w.bin", path: null, neededBytes: 16, problem }]), {
		backend: "tensorrt",
	});
	expect(findings[0]).toMatchObject({ code, severity: "error" });
	expect(findings[0]?.message).toContain('"w.bin"');
});

it("finds a file that protobuf cannot hold", () => {
	const of = (bytes: number) =>
		preflight(inspectedOf({ ...modelOf(), bytes }), { backend: "tensorrt" }).map(({ code }) => code);
	expect([of(2 ** 31 - 1), of(2 ** 31)]).toEqual([[], ["protobuf-too-big"]]);
});

it("finds every code at least once in these tables", () => {
	// In this folder's other tests.
	const elsewhere =
		"dims-conflict dims-unbound external-data-missing external-data-short external-data-outside external-data-lfs-pointer " +
		"protobuf-too-big precision-hardware weights-too-big precision-typed precision-uncalibrated";
	expect(
		[...new Set([...rows.map(([, expected]) => expected.split(" ")[0]), ...elsewhere.split(" ")])].sort(),
	).toEqual(Object.keys(findingKinds).sort());
});

it.each<[string, ModelInit]>([
	["a plain model", {}],
	["nodes in any order", { nodes: "y = Relu(a); a = Exp(x)" }],
	["optional inputs and outputs left out", { nodes: "y, = Clip(x, , w)", initializers: [weight("w", [])] }],
	[
		"old files that list weights as inputs",
		{
			irVersion: 3,
			inputs: [value("x"), value("w")],
			nodes: "y = Add(x, w)",
			initializers: [weight("w", [1, 4])],
		},
	],
	[
		"subgraphs that read the tensors around them",
		{
			inputs: [value("x"), value("c", [], 9)],
			nodes: nodes("y = If<then_branch=$0, else_branch=$0>(c)", branch("r = Add(x, w)")),
			initializers: [weight("w", [1, 4])],
		},
	],
	[
		"operators that the file itself defines",
		{
			nodes: "y = acme.Twice(x)",
			opsets: { "": 17, acme: 1 },
			modelMore: definition("b = acme.Twice(a)", "b = Add(a, a)"),
		},
	],
])("finds nothing in %s", (_, init) => {
	expect([...codes(init, "onnxruntime"), ...codes(init, "tensorrt")]).toEqual([]);
});

it("reports errors first, with node and fix", () => {
	const init = { nodes: "[join] y = Add(x, ghost)", irVersion: 14 };
	expect(preflight(inspected(init), { backend: "tensorrt" })).toEqual([
		{
			code: "tensor-undefined",
			severity: "error",
			message: 'Add "join" reads tensor "ghost", which no input, initialiser or node defines.',
			fix: expect.stringContaining("Export the model again"),
			node: "join",
		},
		expect.objectContaining({ code: "ir-too-new", severity: "note" }),
	]);
});

it("reports where in the model a fault lies", () => {
	const init = { nodes: nodes("[gate] y = If<then_branch=$0>(x)", branch("r = Relu(ghost)")) };
	expect(preflight(inspected(init), { backend: "tensorrt" })[0]?.message).toContain(
		'Relu (unnamed, output "r") in subgraph "then_branch" of If "gate" reads tensor "ghost"',
	);
});

it("reports the first twenty of a kind and how many more there are", () => {
	const nodes = Array.from({ length: 50 }, (_, at) => `y${at || ""} = Relu(ghost${at})`).join(";");
	const found = preflight(inspected({ nodes }), { backend: "tensorrt" });
	expect(found).toHaveLength(21);
	expect(found[20]).toEqual({
		code: "tensor-undefined",
		severity: "error",
		message: "30 more findings of this kind.",
	});
});

it("reports names from the file only with their harm taken", () => {
	const init = {
		nodes: [node({ op: "Relu", name: `a\u001b[31m\u202e\n${"n".repeat(500)}`, inputs: ["g\u0000"] })],
	};
	const [found] = preflight(inspected(init), { backend: "tensorrt" });
	for (const said of [found?.message ?? "", found?.node ?? ""]) {
		expect(said).not.toMatch(/[\p{Cc}\p{Cf}]/u);
		expect(said).toContain("a\\u001b[31m\\u202e\\u000ann");
		expect(said.length).toBeLessThan(300);
	}
});

it("stays linear in the number of nodes", () => {
	const nodes = Array.from({ length: 20_000 }, (_, at) => `t${at + 1} = Relu(t${at})`).join(";");
	const large = inspected({ nodes, inputs: [value("t0")], outputs: [value("t20000")], more: integer(99, 1) });
	const start = cpuMs();
	expect(preflight(large, { backend: "onnxruntime" })).toEqual([]);
	expect(cpuMs() - start).toBeLessThan(2000);
});

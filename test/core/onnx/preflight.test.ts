import { expect, it } from "vitest";
import {
	type FindingCode,
	findingKinds,
	type PreflightContext,
} from "../../../src/core/onnx/findings/subject.ts";
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

const onTensorRt = (init: ModelInit, external?: readonly ExternalFile[]) =>
	preflight(inspectedOf(modelOf(init), external), { backend: "tensorrt" });

function codes(init: ModelInit, backend: PreflightContext["backend"]) {
	const found = preflight(inspectedOf(modelOf(init)), { backend });
	return found.map(({ severity, code }) => `${severity} ${code}`);
}

const weight = (name: string, dims: readonly number[]) =>
	tensor({ name, dims, raw: new Uint8Array(dims.reduce((a, b) => a * b, 4)) });
const branch = (text: string) => graph({ inputs: [], nodes: text, outputs: [value("r")] });
const quantised = (scale: number, zero: Uint8Array, dtype = 3): ModelInit => ({
	nodes: "q = QuantizeLinear(x, s, z); y = DequantizeLinear(q, s, z)",
	initializers: [tensor({ name: "s", raw: floats(scale) }), tensor({ name: "z", dtype, raw: zero })],
});
/** A convolution of dequantised values, to which `r` is added. */
const residual = (
	other: string,
	end = "o = QuantizeLinear(b, s, z); y = DequantizeLinear(o, s, z)",
): ModelInit => ({
	inputs: [value("x", [1, 1, 2, 2])],
	nodes: `q = QuantizeLinear(x, s, z); d = DequantizeLinear(q, s, z); c = Conv(d, w); ${other}; a = Add(c, r); b = Relu(a); ${end}`,
	initializers: [...(quantised(1, Uint8Array.of(0)).initializers ?? []), weight("w", [1, 1, 1, 1])],
});
const dequantised = "r = DequantizeLinear(q, s, z)";
const summed = (data: string) =>
	`v = QuantizeLinear(w, s, z); u = DequantizeLinear(v, s, z); y = Conv(${data}, u)`;
const short = tensor({ name: "w", dims: [4], raw: floats(1) });
const sequence = join(text(1, "x"), bytes(2, bytes(4, bytes(1, tensorType(1, [])))));

type Severity = "error" | "warning" | "note" | "-";

/** Code, severity on ONNX Runtime and on TensorRT; nodes, or a name and a model. */
const rows: [`${FindingCode} ${Severity} ${Severity}`, string, ModelInit?][] = [
	["tensor-undefined error error", "y = Add(x, ghost)"],
	["output-undefined error error", "an output that nobody gives", { outputs: [value("nothing")] }],
	["tensor-duplicate error error", "a tensor with two producers", { nodes: "y = Relu(x); y = Exp(x)" }],
	["tensor-duplicate error error", "an input listed twice", { inputs: [value("x"), value("x")] }],
	["node-name-duplicate error warning", "[n] y = Relu(x); [n] z = Exp(x)"],
	[
		"node-name-duplicate - warning",
		"a Constant of another node's name",
		{ nodes: nodes("[n] c = Constant<value=#0>(); [n] y = Add(x, c)", weight("", [1])) },
	],
	["graph-cycle error error", "a = Add(x, b); b = Relu(a); y = Relu(b)"],
	[
		"graph-cycle error error",
		"a cycle through a subgraph",
		{ nodes: nodes("a = If<then_branch=$0>(x); y = Relu(a)", branch("r = Relu(y)")) },
	],
	["operator-signature error -", "y = Relu<slope=1>(x)"],
	["operator-signature error -", "y = Concat(x, x)"],
	["operator-signature error -", "y = Relu(x, x)"],
	["operator-signature error -", "c = Constant(); y = Add(x, c)"],
	[
		"operator-signature error -",
		"a number in an old Constant of a subgraph",
		{ nodes: nodes("y = If<then_branch=$0>(x)", branch("r = Constant<value_int=1>()")), opsets: { "": 11 } },
	],
	[
		"operator-kernel error -",
		"an operator without a kernel in its opset",
		{ nodes: "y = GlobalLpPool(x)", opsets: { "": 22 } },
	],
	[
		"operator-kernel error -",
		"a type without a kernel",
		{ inputs: [value("x", [4], 5)], nodes: "y = Max(x, x)", outputs: [value("y", [4], 5)] },
	],
	[
		"operator-refused error -",
		"a recurrent operator with the batch first",
		{
			inputs: [value("x", [1, 2, 3])],
			nodes: "y = LSTM<layout=1>(x, w, r)",
			initializers: [weight("w", [1, 8, 3]), weight("r", [1, 8, 2])],
		},
	],
	["operator-random warning warning", "y = RandomNormalLike(x)"],
	["type-mismatch error warning", "d = Cast<to=11>(x); y = Concat<axis=0>(x, d)"],
	["graph-no-outputs error error", "a graph without outputs", { outputs: [] }],
	["opset-missing error error", "no operator set at all", { opsets: {} }],
	["opset-missing warning warning", "an unnamed operator set", { opsets: { "com.microsoft": 1 } }],
	["opset-too-new error warning", "an opset of the future", { opsets: { "": 27 } }],
	["opset-too-new - warning", "the newest opset of ONNX Runtime", { opsets: { "": 26 } }],
	["opset-too-new error -", "an ai.onnx.ml of the future", { opsets: { "": 17, "ai.onnx.ml": 6 } }],
	["ir-too-new error note", "a new IR", { irVersion: 14 }],
	["operator-unknown error warning", "y = SwishFusion(x)"],
	["plugin-absent - warning", "y = BatchedNMS_TRT(x)"],
	["operator-unsupported - warning", "y = Det(x)"],
	["operator-restricted - warning", "y = MaxPool<dilations=[2, 2]>(x)"],
	[
		"dtype-unsupported - warning",
		"weights of a type that TensorRT has not",
		{ initializers: [tensor({ name: "w", dims: [1], dtype: 4, raw: new Uint8Array(2) })] },
	],
	["dtype-double - warning", "a double at the border", { inputs: [value("x", [1], 11)] }],
	["io-dtype - error", "an input of a type that TensorRT has not", { inputs: [value("x", [1], 4)] }],
	["opset-too-new error error", "an opset that ONNX cannot have", { opsets: { "": 37 } }],
	[
		"operator-domain - warning",
		"a contributed operator",
		{ nodes: "y = com.microsoft.Gelu(x)", opsets: { "": 17, "com.microsoft": 1 } },
	],
	["operator-unknown error -", "y = TRT_FP8QuantizeLinear(x)"],
	["operator-too-new error -", "y = Gelu(x)"],
	[
		"operator-too-new - -",
		"an operator that ONNX Runtime has early",
		{ nodes: "y = LayerNormalization(x)", opsets: { "": 13 } },
	],
	["operator-withdrawn error -", "y = Upsample(x)"],
	["io-not-tensor error error", "a sequence input", { inputs: [sequence] }],
	["io-dtype error -", "a bfloat16 input", { inputs: [value("x", [1], 16)] }],
	[
		"io-rank - error",
		"an input of nine dimensions",
		{ inputs: [value("x", [1, 1, 1, 1, 1, 1, 1, 1, 2], 1)] },
	],
	["io-dtype error -", "an fp8 output", { outputs: [value("y", [1], 17)] }],
	["io-dtype error error", "a string input", { inputs: [value("x", [1], 8)] }],
	["io-dtype error error", "an input without type", { inputs: [text(1, "x")] }],
	["weights-size error error", "weights too short", { nodes: "y = Add(x, w)", initializers: [short] }],
	[
		"weights-size error error",
		"weights without payload",
		{ nodes: "y = Add(x, w)", initializers: [tensor({ name: "w", dims: [4] })] },
	],
	["weights-size warning warning", "short weights that nobody reads", { initializers: [short] }],
	["zero-point-nonzero - warning", "a shifted zero point", quantised(0.1, Uint8Array.of(5))],
	["zero-point-unsigned - warning", "an unsigned zero point", quantised(0.1, Uint8Array.of(0), 2)],
	["scale-not-positive warning error", "a negative scale", quantised(-1, Uint8Array.of(0))],
	["scale-not-positive warning error", "a scale that is no number", quantised(Number.NaN, Uint8Array.of(0))],
	["topk-limit - error", "too large a K", { nodes: "y, i = TopK(x, k)", initializers: [ints("k", 3841)] }],
	["qdq-placement - warning", "a residual branch that is not quantised", residual("r = Relu(x)")],
	["qdq-placement - warning", "two INT8 branches", residual("r = Conv(d, w)")],
	["qdq-placement - -", "a quantised residual branch", residual("r = DequantizeLinear(q, s, z)")],
	["qdq-placement - -", "a constant, as of a bias", residual("r = Constant<value_float=1>()")],
	["qdq-placement - -", "an Add that nothing quantises", residual("r = Relu(x)", "y = Relu(b)")],
	["qdq-placement - warning", "an INT8 weight on a float sum", residual(dequantised, summed("b"))],
	["qdq-placement - -", "a float weight on a float sum", residual(dequantised, "y = Conv(b, w)")],
	["qdq-placement - -", "an INT8 weight on a sum without Q/DQ", residual("r = Relu(x)", summed("b"))],
	[
		"qdq-placement - -",
		"an INT8 weight on a quantised sum",
		residual(dequantised, `o = QuantizeLinear(b, s, z); p = DequantizeLinear(o, s, z); ${summed("p")}`),
	],
	["topk-limit - error", "k = Constant<value_ints=[5000]>(); y, i = TopK(x, k)"],
	[
		"tensor-too-big warning error",
		"a tensor that no device holds",
		{ nodes: "y = Expand(x, e)", initializers: [ints("e", 3e5, 3e5)], inputs: [value("x", [1, 1])] },
	],
	[
		"shape-mismatch error error",
		"weights that do not fit",
		{ nodes: "y = MatMul(x, w)", initializers: [weight("w", [5, 7])] },
	],
];

it.each(rows)("preflight finds %s in %s", (...[expected, nodes, init = { nodes }]) => {
	const [code, ort, trt] = expected.split(" ");
	for (const [backend, severity] of [
		["onnxruntime", ort],
		["tensorrt", trt],
	] as const) {
		const found = codes(init, backend);
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
	const message = expect.stringContaining('"w.bin"');
	const [first] = onTensorRt(file, [{ location: "w.bin", path: null, neededBytes: 16, problem }]);
	expect(first).toMatchObject({ code, severity: "error", message });
});

it("advises no Cast for strings, which have none", () => {
	const fixes = [8, 16].map((dtype) => {
		const [first] = preflight(
			inspectedOf(modelOf({ nodes: "y = Identity(x)", inputs: [value("x", [1], dtype)] })),
			{
				backend: "onnxruntime",
			},
		);
		return first?.fix?.includes("Cast");
	});
	expect(fixes).toEqual([false, true]);
});

it("finds a file that protobuf cannot hold", () => {
	const of = (bytes: number) =>
		preflight(inspectedOf({ ...modelOf(), bytes }), { backend: "tensorrt" }).map(({ code }) => code);
	expect([of(2 ** 31 - 1), of(2 ** 31)]).toEqual([[], ["protobuf-too-big"]]);
});

it("finds every code at least once in these tables", () => {
	const elsewhere =
		"dims-conflict dims-unbound external-data-missing external-data-short external-data-outside external-data-lfs-pointer " +
		"protobuf-too-big precision-hardware sparsity-share sparsity-lost weights-too-big precision-typed precision-uncalibrated calibration-unusable " +
		"setting-removed dla-unsupported plugin-deprecated";
	const tested = [...rows.map(([expected]) => expected.split(" ")[0]), ...elsewhere.split(" ")];
	expect(new Set(tested)).toEqual(new Set(Object.keys(findingKinds)));
});

it.each<[string, ModelInit]>([
	["a plain model", {}],
	["nodes in any order", { nodes: "y = Relu(a); a = Exp(x)" }],
	[
		"a number in an old Constant",
		{ nodes: "c = Constant<value_int=1>(); y = Add(x, x)", opsets: { "": 11 } },
	],
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
	expect(onTensorRt(init)).toEqual([
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
	expect(onTensorRt(init)[0]?.message).toContain(
		'Relu (unnamed, output "r") in subgraph "then_branch" of If "gate" reads tensor "ghost"',
	);
});

it("reports the first twenty of a kind and how many more there are", () => {
	const nodes = Array.from({ length: 50 }, (_, at) => `y${at || ""} = Relu(ghost${at})`).join(";");
	const found = onTensorRt({ nodes });
	expect(found).toHaveLength(21);
	const message = "30 more findings of this kind.";
	expect(found[20]).toEqual({ code: "tensor-undefined", severity: "error", message });
});

it("names from the file are harmless, and short", () => {
	const name = `a\u001b[31m\u202e\n${"n".repeat(500)}`;
	const init = { nodes: [node({ op: "Relu", name, inputs: ["g\u0000"] })] };
	const [found] = onTensorRt(init);
	for (const said of [found?.message ?? "", found?.node ?? ""]) {
		expect(said).not.toMatch(/[\p{Cc}\p{Cf}]/u);
		expect(said).toContain("a\\u001b[31m\\u202e\\u000ann");
		expect(said.length).toBeLessThan(300);
	}
});

it("stays linear in the number of nodes", () => {
	const nodes = Array.from({ length: 20_000 }, (_, at) => `t${at + 1} = Relu(t${at})`).join(";");
	const large = modelOf({ nodes, inputs: [value("t0")], outputs: [value("t20000")], more: integer(99, 1) });
	const start = cpuMs();
	expect(preflight(inspectedOf(large), { backend: "onnxruntime" })).toEqual([]);
	expect(cpuMs() - start).toBeLessThan(2000);
});

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { parseProfile } from "../../../src/formats/trtexec/layer-profile.ts";
import { parseLayerDtype, parseLayerInfo, readLayerName } from "../../../src/formats/trtexec/layers.ts";

const fixture = (name: string) =>
	readFileSync(new URL(`../../fixtures/trtexec-exports/${name}`, import.meta.url), "utf8");

it("parseLayerInfo reads the layers of a convolution net in fp16", () => {
	const { detail, layers, io } = parseLayerInfo(fixture("layers-classifier-fp16.json"));
	expect(detail).toBe("detailed");
	expect(layers[0]).toMatchObject({ type: "Reformat", kind: "reformat", servedLayer: "stem + stem.relu" });
	expect(layers[1]).toMatchObject({
		...{ name: "stem + stem.relu", type: "CaskConvolution", precision: "fp16", kind: "compute" },
		weights: { dtype: "fp16", elements: 432 },
	});
	const format = "Channel major FP16 format where channel % 4 == 0";
	expect(layers[1]?.inputs[0]).toMatchObject({ dims: [8, 3, 32, 32], dtype: "fp16", format });
	expect(io.map((tensor) => tensor.name)).toEqual(["images", "probabilities"]);
});

it("parseLayerInfo reads the fused nodes of a transformer", () => {
	const { layers } = parseLayerInfo(fixture("layers-encoder-fp16.json"));
	expect(layers.find((layer) => layer.name.startsWith("layer0_v_matmul+"))).toMatchObject({
		...{ type: "gemm", precision: "fp16", tactic: expect.stringContaining("xmma_gemm") },
		onnxNodes: ["v", "k", "q"].flatMap((head) => [`layer0.${head}.matmul`, `layer0.${head}.add`]),
	});
});

it("parseLayerInfo knows a quantisation from a reformat", () => {
	const info = parseLayerInfo(fixture("layers-quantised.json"));
	expect(info.layers.map((layer) => [layer.name, layer.kind, layer.precision])).toEqual([
		["QuantizeLinear_1", "quantize", "fp32"],
		["w + QuantizeLinear_3 + q_conv", "compute", "int8"],
	]);
});

it("parseLayerInfo reads names only, and raw separators that JSON forbids, if the engine has no details", () => {
	const names = '"conv1", "Reformatting CopyNode for Output Tensor 0 to fc", "a\u001fb"';
	expect(parseLayerInfo(`{"Layers": [${names}],"Bindings": ["x","y"]}`)).toMatchObject({
		detail: "names",
		layers: [
			{ name: "conv1", type: null, kind: "compute" },
			{ kind: "reformat", servedLayer: "fc" },
			{ name: "a\u001fb" },
		],
	});
});

it("parseLayerInfo reads the form of TensorRT 11", () => {
	const tensor = { Name: "x", Dimensions: [1, 8], DataType: "FP16" };
	const layer = { Name: "c", LayerType: "gemm", Inputs: [{ ...tensor, Format: "Linear" }], Outputs: [] };
	const io = [{ ...tensor, IOMode: "Input" }];
	expect(parseLayerInfo(JSON.stringify({ Layers: [layer], "I/O Tensors": io }))).toMatchObject({
		layers: [{ precision: "fp16", inputs: [{ dtype: "fp16", format: "Linear" }] }],
		io: [{ name: "x", mode: "input", dtype: "fp16" }],
	});
});

it("parseLayerDtype reads a type in the words of any version", () => {
	const known = { Half: "fp16", Float: "fp32", Int8: "int8", Int64: "int64", Bool: "bool", BFloat16: "bf16" };
	const others = {
		FP8: "fp8",
		"Row major linear FP32": "fp32",
		Float8E4M3: "fp8",
		UInt8: "uint8",
		odd: null,
	};
	for (const [text, dtype] of Object.entries({ ...known, ...others }))
		expect(parseLayerDtype(text), text).toBe(dtype);
});

it("parseLayerInfo refuses anything that is not layer info", () => {
	for (const text of ["", "[]", "{}", '{"Layers": "x"}', '{"Layers": ['])
		expect(() => parseLayerInfo(text)).toThrow(ToolError);
});

it("parseProfile reads every layer of a recorded profile", () => {
	for (const name of ["profile-classifier-fp16.json", "profile-encoder-fp16.json"]) {
		const [head, ...entries] = JSON.parse(fixture(name)) as Record<string, number | string>[];
		const profile = parseProfile(fixture(name));
		expect(profile.iterations).toBe(head?.["count"]);
		expect(profile.layers.map((layer) => [layer.name, layer.averageMs])).toEqual(
			entries.map((entry) => [entry["name"], entry["averageMs"]]),
		);
		for (const [index, layer] of profile.layers.entries())
			expect(layer.share * 100).toBeCloseTo(Number(entries[index]?.["percentage"]), 3);
	}
});

it("parseProfile reads names with quotes and control characters, which trtexec does not escape", () => {
	const text =
		'[\n  { "count" : 2 }\n, { "name" : "a"b\u001fc", "timeMs" : 0, "averageMs" : 0, "medianMs" : 0, "percentage" : -nan }\n]\n';
	expect(parseProfile(text.replace("-nan", "nan")).layers).toEqual([
		{ name: 'a"b\u001fc', averageMs: 0, share: 0 },
	]);
});

it("parseProfile refuses a profile that is cut off or has no numbers", () => {
	const whole = fixture("profile-classifier-fp16.json");
	for (const text of ["", "[]", whole.slice(0, 500), whole.replace("86.225", "nan")])
		expect(() => parseProfile(text)).toThrow(ToolError);
});

it("parseProfile takes names that begin over and over and never end, which once took minutes", () => {
	const text = `[\n  { "count" : 3 }\n, ${'"name" : "'.repeat(200_000)} }\n]\n`;
	expect(parseProfile(text)).toEqual({ iterations: 3, layers: [] });
});

it.each([
	["stem + stem.relu", ["stem", "stem.relu"]],
	["PWN(PWN(p2o.Sigmoid.0), PWN(p2o.Mul.174))", ["p2o.Sigmoid.0", "p2o.Mul.174"]],
	["Conv_1 + PWN(PWN(Sigmoid_2), Mul_3)", ["Conv_1", "Sigmoid_2", "Mul_3"]],
	[
		"PWN(PWN(c.1 + ONNXTRT_Broadcast_5, PWN(PWN(Clip.0))), Mul.2 + ONNXTRT_Broadcast)",
		["c.1", "Clip.0", "Mul.2"],
	],
	["Conv_1 || Conv_2", ["Conv_1", "Conv_2"]],
	["head + (Unnamed Layer* 21) [ElementWise]", ["head"]],
	["/model.0/act(x, y)/Mul + b", ["/model.0/act(x, y)/Mul", "b"]],
	["a,b + MYPWN(c)", ["a,b", "MYPWN(c)"]],
	["Conv_1 + Relu_2 [profile 1]", ["Conv_1", "Relu_2"]],
	["__myl_MaxSubExpSumDiv_myl7_2", []],
	["head_myl7_1", []],
	["", []],
])("readLayerName of %s", (name, nodes) => {
	expect(readLayerName(name).nodes).toEqual(nodes);
});

it("readLayerName reads the ends of a region, and the region of a Myelin kernel", () => {
	expect(readLayerName("{ForeignNode[a.const + ONNXTRT_Broadcast_4...Softmax_9]}").foreign).toEqual([
		"a.const",
		"Softmax_9",
	]);
	expect(readLayerName("layer0_down_matmul_myl3_12").region).toBe(3);
});

it("readLayerName reads the layer that a reformat serves", () => {
	for (const [place, served] of [
		["Input Tensor 0", "PWN(residual)"],
		["Output Tensor 12", "{ForeignNode[a...b]}"],
	])
		expect(readLayerName(`Reformatting CopyNode for ${place} to ${served}`).servedLayer).toBe(served);
});

it("readLayerName reads names of ten million characters without delay", () => {
	for (const name of [
		"PWN(".repeat(2_500_000),
		" + a".repeat(2_500_000),
		"(".repeat(10_000_000),
		"{ForeignNode[".repeat(800_000),
	])
		expect(readLayerName(name).nodes.length).toBeLessThan(3);
});

// Layer info and layer profiles of recorded engines, and of the other forms that versions write.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { parseProfile } from "../../../src/formats/trtexec/layer-profile.ts";
import { parseLayerDtype, parseLayerInfo } from "../../../src/formats/trtexec/layers.ts";

const fixture = (name: string): string =>
	readFileSync(new URL(`../../fixtures/trtexec-exports/${name}`, import.meta.url), "utf8");

it("parseLayerInfo reads the layers of a convolution net in fp16", () => {
	const info = parseLayerInfo(fixture("layers-classifier-fp16.json"));
	expect(info.detail).toBe("detailed");
	expect(info.layers[0]).toMatchObject({
		name: "Reformatting CopyNode for Input Tensor 0 to stem + stem.relu",
		type: "Reformat",
		kind: "reformat",
	});
	expect(info.layers[1]).toMatchObject({
		name: "stem + stem.relu",
		type: "CaskConvolution",
		precision: "fp16",
		kind: "compute",
		weights: { dtype: "fp16", elements: 432 },
	});
	expect(info.layers[1]?.inputs[0]).toMatchObject({
		dims: [8, 3, 32, 32],
		dtype: "fp16",
		format: "Channel major FP16 format where channel % 4 == 0",
	});
	expect(info.io.map((tensor) => tensor.name)).toEqual(["images", "probabilities"]);
});

it("parseLayerInfo reads the fused nodes of a transformer", () => {
	const info = parseLayerInfo(fixture("layers-encoder-fp16.json"));
	const gemm = info.layers.find((layer) => layer.name.startsWith("layer0_v_matmul+"));
	expect(gemm?.onnxNodes).toEqual([
		"layer0.v.matmul",
		"layer0.v.add",
		"layer0.k.matmul",
		"layer0.k.add",
		"layer0.q.matmul",
		"layer0.q.add",
	]);
	expect(gemm).toMatchObject({ type: "gemm", precision: "fp16" });
	expect(gemm?.tactic).toContain("xmma_gemm");
});

it("parseLayerInfo knows a quantisation from a reformat", () => {
	const info = parseLayerInfo(fixture("layers-quantised.json"));
	expect(info.layers.map((layer) => [layer.name, layer.kind, layer.precision])).toEqual([
		["QuantizeLinear_1", "quantize", "fp32"],
		["w + QuantizeLinear_3 + q_conv", "compute", "int8"],
	]);
});

it("parseLayerInfo reads names only, if the engine has no details", () => {
	const info = parseLayerInfo(
		'{"Layers": ["conv1", "Reformatting CopyNode for Output Tensor 0 to fc"],"Bindings": ["x","y"]}',
	);
	expect(info).toMatchObject({
		detail: "names",
		layers: [
			{ name: "conv1", type: null, kind: "compute" },
			{ kind: "reformat", servedLayer: "fc" },
		],
	});
});

it("parseLayerInfo reads the form of TensorRT 11", () => {
	const info = parseLayerInfo(
		JSON.stringify({
			Layers: [
				{
					Name: "c",
					LayerType: "gemm",
					Inputs: [{ Name: "x", Dimensions: [1, 8], Format: "Linear", DataType: "FP16" }],
					Outputs: [],
				},
			],
			"I/O Tensors": [{ Name: "x", IOMode: "Input", DataType: "FP16", Dimensions: [1, 8] }],
			ProfilingVerbosity: "detailed",
		}),
	);
	expect(info.layers[0]).toMatchObject({ precision: "fp16", inputs: [{ dtype: "fp16", format: "Linear" }] });
	expect(info.io).toEqual([{ name: "x", mode: "input", dtype: "fp16" }]);
});

it("parseLayerInfo reads raw separators that JSON forbids", () => {
	expect(parseLayerInfo('{"Layers": ["a\u001fb"]}').layers[0]?.name).toBe("a\u001fb");
});

it("parseLayerInfo knows every way to write a type", () => {
	expect(
		[
			"Half",
			"Float",
			"Int8",
			"Int64",
			"Bool",
			"BFloat16",
			"FP8",
			"Row major linear FP32",
			"Float8E4M3",
			"UInt8",
			"odd",
		].map(parseLayerDtype),
	).toEqual(["fp16", "fp32", "int8", "int64", "bool", "bf16", "fp8", "fp32", "fp8", "uint8", null]);
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

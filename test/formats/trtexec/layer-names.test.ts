import { expect, it } from "vitest";
import { readLayerName } from "../../../src/formats/trtexec/layer-names.ts";

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

import { expect, it } from "vitest";
import { costsOf } from "../../../src/core/onnx/cost/cost.ts";
import type { OnnxModel } from "../../../src/core/onnx/model.ts";
import { nodeTypes, precisionCoverage, timeShare } from "../../../src/engine/core/coverage.ts";
import { engineModel } from "../../../src/engine/core/model.ts";
import { parseLayerInfo } from "../../../src/formats/trtexec/layers.ts";
import { buildLayers } from "../../support/build-layers.ts";
import { floats, modelOf, readFixture, tensor, value } from "../../support/onnx-writer.ts";
import { recordedEngine } from "../../support/recorded-engines.ts";

const coverageOf = (
	info: ReturnType<typeof parseLayerInfo>,
	precision: string,
	{
		onnx,
		warning,
		isCalibrated = false,
		shapes = {},
	}: {
		onnx?: OnnxModel;
		warning?: string;
		isCalibrated?: boolean;
		shapes?: Readonly<Record<string, readonly number[]>>;
	},
) =>
	precisionCoverage({
		engine: engineModel({ info, profiles: [], graph: onnx?.graph ?? null }),
		costs: onnx === undefined ? null : costsOf(onnx)({ shapes }),
		warnings: warning === undefined ? [] : [{ class: warning, count: 1, example: "" }],
		precision,
		isCalibrated,
	});

const fixture = (name: string) => readFixture(`models/${name}.onnx`);

it.each([
	["classifier-int8-no-calibration", "int8", 1, 0],
	["classifier-int8-no-calibration", "fp16", 1, 0],
	["classifier-fp16", "fp16", 1, 0],
	["classifier-fp16", "int8", 0, 4],
	["classifier-fp32", "int8", 0, 4],
	// Built with --fp16, and every layer is fp32.
	["classifier-level0", "fp16", 0, 4],
] as const)("%s, declared %s, runs so for %d of its multiply-adds", (name, precision, share, count) => {
	const onnx = fixture("classifier");
	const shapes = { [onnx.graph.inputs[0]!.name]: [8, 3, 32, 32] };
	const found = coverageOf(recordedEngine(name).info, precision, { onnx, shapes })!;
	expect(found).toMatchObject({ precision, multiplyAdds: share, outsideCount: count });
	expect(found.known).toBeCloseTo(1, 9);
});

it("the segmenter's two convolutions in fp32 are named, the heavier one first", () => {
	const found = coverageOf(recordedEngine("segmenter-fp16").info, "fp16", { onnx: fixture("segmenter") })!;
	expect(found.multiplyAdds).toBeCloseTo(0.8276, 4);
	expect(found.outside.map(({ layer, precision, cause }) => [layer, precision, cause])).toEqual([
		["enc1 + enc1.relu", "fp32", "kernel"],
		["logits", "fp32", "kernel"],
	]);
});

it("nodes that left or entered the precision since the base are named, the heaviest first", () => {
	const onnx = fixture("classifier");
	const costs = costsOf(onnx)({ shapes: { [onnx.graph.inputs[0]!.name]: [8, 3, 32, 32] } });
	const partsOf = (name: string) => ({
		engine: engineModel({ info: recordedEngine(name).info, profiles: [], graph: onnx.graph }),
		costs,
	});
	const changed = (base: string, head: string) =>
		precisionCoverage({
			...{ ...partsOf(head), precision: "fp16", warnings: [], isCalibrated: false },
			before: nodeTypes(partsOf(base)),
		})?.changed;
	// Both were built with --fp16; the second one has only fp32 layers.
	const lost = changed("classifier-fp16", "classifier-level0")!;
	expect([lost.lostCount, lost.gainedCount, lost.gained]).toEqual([4, 0, []]);
	const types = ["fp32", "fp32", "fp32", "tf32"];
	expect(lost.lost.map(({ precision, cause }) => [precision, cause])).toEqual(
		types.map((type) => [type, "kernel"]),
	);
	expect(lost.lost.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
	const names = lost.lost.map(({ layer }) => layer);
	const counted = costs.nodes
		.filter(({ multiplyAdds }) => multiplyAdds)
		.sort((a, b) => b.multiplyAdds! - a.multiplyAdds!);
	expect(names).toEqual(counted.map(({ node }) => node.name));
	expect(changed("classifier-level0", "classifier-fp16")).toEqual({
		...{ lostCount: 0, lost: [], gainedCount: 4, gained: names },
	});
	expect(changed("classifier-fp16", "classifier-fp16")).toBeUndefined();
});

it("a node without a name is followed into the file whose conversion named it", () => {
	const partsOf = (name: string, tactic: string) => {
		const weight = tensor({ name: "w", dims: [4, 4], raw: floats(...Array.from({ length: 16 }, () => 1)) });
		const [inputs, outputs] = [[value("x", [1, 4])], [value("y", [1, 4])]];
		const nodes = `${name === "" ? "" : `[${name}] `}y = MatMul(x, w)`;
		const onnx = modelOf({ inputs, outputs, initializers: [weight], nodes });
		const Metadata = `[ONNX Layer: ${name || "node_of_y"}]`;
		const Layers = [{ Name: "product", LayerType: "gemm", TacticName: tactic, Metadata }];
		const info = parseLayerInfo(JSON.stringify({ Layers }));
		return {
			engine: engineModel({ info, profiles: [], graph: onnx.graph }),
			costs: costsOf(onnx)({ shapes: {} }),
		};
	};
	const half = partsOf("", "sm80_xmma_gemm_f16f16_f16f16_f16_tn_n");
	const float = partsOf("MatMul_5", "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n");
	const facts = { precision: "fp16", warnings: [], isCalibrated: false };
	expect(precisionCoverage({ ...float, ...facts, before: nodeTypes(half) })?.changed).toMatchObject({
		...{ lostCount: 1, lost: [{ layer: "MatMul_5", precision: "fp32", cause: "kernel" }] },
	});
	expect(precisionCoverage({ ...half, ...facts, before: nodeTypes(half) })).toMatchObject({ known: 1 });
});

it("without an ONNX file the layers' own sizes tell; fp32 and layers that are only named have no coverage", () => {
	const { info } = recordedEngine("det-fp16");
	const { multiplyAdds, known } = coverageOf(info, "fp16", {})!;
	expect([multiplyAdds, known]).toEqual([expect.closeTo(0.6519, 4), undefined]);
	expect(coverageOf(info, "fp32", {})).toBeNull();
	expect(coverageOf(parseLayerInfo('{"Layers": ["product"]}'), "fp16", {})).toBeNull();
});

const half = tensor({ name: "h", dtype: 10, raw: new Uint8Array(2) });

/** One product that runs in fp32, under these nodes. */
function causeIn(nodes: string, precision: string, more: { warning?: string; isCalibrated?: boolean } = {}) {
	const weight = (name: string, ...dims: number[]) =>
		tensor({ name, dims, raw: floats(...Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => 1)) });
	const onnx = modelOf({
		inputs: [value("x", [1, 4])],
		outputs: [value("y", [1, 4])],
		initializers: [weight("w", 4, 4), weight("s"), ...(nodes.includes(" h)") ? [half] : [])],
		nodes,
	});
	const info = parseLayerInfo(
		JSON.stringify({
			Layers: [{ Name: "product", LayerType: "gemm", TacticName: "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n" }],
		}),
	);
	return coverageOf(info, precision, { onnx, ...more })!;
}

const quantised = (from: string, to: string) =>
	`${to}_q = QuantizeLinear(${from}, s); ${to} = DequantizeLinear(${to}_q, s); `;

it.each<[what: string, nodes: string, precision: string, cause: string, at?: string]>([
	["no Q/DQ at all", "[product] y = MatMul(x, w)", "int8", "no-qdq"],
	["an input without", `${quantised("w", "wd")}[product] y = MatMul(x, wd)`, "int8", "no-qdq", "x"],
	["a weight without", `${quantised("x", "xd")}[product] y = MatMul(xd, w)`, "fp8", "no-qdq", "w"],
	[
		"Q/DQ on both",
		`${quantised("x", "xd")}${quantised("w", "wd")}[product] y = MatMul(xd, wd)`,
		"int8",
		"kernel",
	],
	[
		"Q/DQ before the Add",
		`${quantised("x", "a")}${quantised("w", "wd")}[sum] b = Add(a, x); c = Relu(b); [product] y = MatMul(c, wd)`,
		"int8",
		"qdq-before-add",
		"sum",
	],
	["a Cast before it", "[up] a = Cast<to=1>(x); [product] y = MatMul(a, w)", "fp16", "cast", "up"],
	["a Cast behind it", "[product] a = MatMul(x, w); [down] y = Cast<to=10>(a)", "fp16", "cast", "down"],
	[
		"a float weight, left by AutoCast",
		"[product] a = MatMul(x, w); y = Mul(a, h)",
		"fp16",
		"float-weight",
		"w",
	],
	["neither", "[product] y = MatMul(x, w)", "bf16", "kernel"],
])("a product with %s: the cause is found", (_, nodes, precision, cause, at) => {
	const { outside, multiplyAdds } = causeIn(nodes, precision);
	expect(multiplyAdds).toBe(0);
	expect(outside).toEqual([{ layer: "product", precision: "fp32", share: 1, cause, ...(at && { at }) }]);
});

it("the builder's warnings and a calibration explain what the file does not", () => {
	const cause = (precision: string, more: Parameters<typeof causeIn>[2]) =>
		causeIn("[product] y = MatMul(x, w)", precision, more).outside[0]?.cause;
	expect(cause("int8", { warning: "int8-uncalibrated" })).toBe("no-qdq");
	expect(cause("int8", { warning: "int8-uncalibrated", isCalibrated: true })).toBe("range");
	expect(cause("fp16", { warning: "fp16-overflow" })).toBe("range");
	expect(cause("int8", { isCalibrated: true })).toBe("kernel");
});

it("time counts all layers; reformats are never in the type", () => {
	const layers = buildLayers(
		{ a: 3, b: 1, c: 4 },
		{ a: { precision: "int8" }, b: { precision: "int8", reformat: true }, c: { precision: "fp16" } },
	);
	expect(timeShare(layers, "int8")).toBeCloseTo(3 / 8, 9);
	expect(timeShare({ ...layers, totalMs: 0, layers: [] }, "int8")).toBeNull();
});

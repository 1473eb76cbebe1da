import { expect, it } from "vitest";
import { defaultGates, defaultMeasure } from "../../../src/core/config/config.ts";
import { formatSource } from "../../../src/core/config/source.ts";
import { engineOf, loaded, refusalOf, refused, withModel } from "./load.ts";

const batch = "dims: { batch: { min: 1, opt: 8, max: 32 } }";

it("defaults fill in all that the least file leaves out", () => {
	const config = loaded(withModel(""));
	expect(config.measure).toEqual(defaultMeasure);
	expect(config.gates).toEqual({ ...defaultGates, pointers: {} });
	expect(config).toMatchObject({
		backend: "auto",
		onnxruntime: "auto",
		baseline: { from: "base-ref" },
		preflight: { strict: false },
	});
	const workloads = [{ name: "default", streams: 1, dims: {} }];
	const engine = { name: "fp32", precision: "fp32", onnx: "net.onnx", workloads };
	expect(config.models[0]?.engines).toMatchObject([engine]);
});

it.each([
	["{ batch: 8, streams: 2 }", "batch 8 · 2 streams", { batch: 8, width: 4 }, 2],
	["{}", "default", { batch: 8, width: 4 }, 1],
	["{ streams: 3 }", "3 streams", { batch: 8, width: 4 }, 3],
	["{ batch: 1, width: 2 }", "batch 1 · width 2", { batch: 1, width: 2 }, 1],
	["{ batch: 1, every: 33ms }", "batch 1 · every 33 ms", { batch: 1, width: 4 }, 1],
	["{ name: small, batch: 1 }", "small", { batch: 1, width: 4 }, 1],
	["{ dims: { batch: 2 } }", "batch 2", { batch: 2, width: 4 }, 1],
])("workloads are read: %s", (text, name, dims, streams) => {
	const width = "width: { min: 1, opt: 4, max: 4 }";
	const { workloads } = engineOf(`${batch.replace(/ }$/, "")}, ${width} }, workloads: [${text}]`);
	expect(workloads).toMatchObject([{ name, dims, streams }]);
});

it("a pace is whole milliseconds, because trtexec counts in them", () => {
	expect(engineOf(`${batch}, workloads: [{ every: 2s }]`).workloads[0]?.everyMs).toBe(2000);
	for (const every of ["0.5ms", "33.3ms", "11s"])
		expect(refusalOf(`${batch}, workloads: [{ every: ${every} }]`).message).toContain("whole milliseconds");
});

it("measured load is off until the file asks for it, then nightly", () => {
	const read = (load: string) => loaded(withModel("", `\nmeasure: { load: ${load} }`)).measure.load;
	expect(read("{}")).toEqual({ ...defaultMeasure.load, when: "nightly" });
	const text = "{ when: always, arrivals: ./in/a.txt, at: 50%, max-batch: 4, max-delay: 2ms, duration: 5s }";
	const sizes = { maxBatch: 4, maxDelayMs: 2, durationMs: 5000 };
	expect(read(text)).toEqual({ when: "always", arrivals: "in/a.txt", at: 0.5, ...sizes });
	expect(() => read("{ at: 100% }")).toThrow(/up to 99%/);
	expect(() => read("{ arrivals: ../a.txt }")).toThrow(/outside|leads out/);
});

it.each([
	["[net, net/fp32], [net/fp23, net]", "measure.load.together[1][0]", "Write net/fp32."],
	["[net, other/int8]", "measure.load.together[0][1]", "Name a model, or an engine as model/engine."],
])("engines that run together are the file's: %s", (pairs, place, fix) => {
	const measure = `\nmeasure: { load: { together: [${pairs}] } }`;
	const [error] = refused(withModel("", measure));
	expect(error).toMatchObject({ code: "config-value", fix, location: { line: expect.any(Number) } });
	expect(error!.message).toContain(place);
	expect(error!.message).toContain("a model or model/engine; there are");
	expect(
		loaded(withModel("", "\nmeasure: { load: { together: [[net, net/fp32]] } }")).measure.load.together,
	).toEqual(["net + net/fp32"]);
});

const profiles =
	"profiles: [{ seq: { min: 1, opt: 64, max: 256 }, past: { min: 0, opt: 1, max: 1 } }, { seq: 1, past: { min: 1, opt: 512, max: 1024 } }]";
const decoder = `dims: { batch: { min: 1, opt: 4, max: 8 } }, ${profiles}`;

it.each([
	["{ prefill: 128 }", "first token · prefill 128", { batch: 4, seq: 128, past: 0 }],
	["{ decode: 600, batch: 1 }", "per token · decode 600 · batch 1", { batch: 1, seq: 1, past: 600 }],
	["{ decode: 600, name: next, streams: 2 }", "next", { batch: 4, seq: 1, past: 600 }],
])("workloads of a decoder are sizes of its tokens and its cache: %s", (text, name, dims) => {
	expect(engineOf(`${decoder}, workloads: [${text}]`).workloads).toMatchObject([{ name, dims }]);
});

it("workloads of a decoder give the dimension of all positions their sum", () => {
	const sizes =
		"dims: { s: { min: 1, opt: 1, max: 99 }, p: { min: 0, opt: 9, max: 99 }, both: { min: 1, opt: 9, max: 199 } }";
	const named = "decoder: { seq: s, past: p, total: both }";
	const workloads = "workloads: [{ prefill: 30 }, { decode: 30 }]";
	expect(engineOf(`${sizes}, ${named}, ${workloads}`).workloads).toMatchObject([
		{ dims: { s: 30, p: 0, both: 30 } },
		{ dims: { s: 1, p: 30, both: 31 } },
	]);
});

it.each([
	["{ prefill: 128, decode: 512 }", "is given together with decode"],
	["{ prefill: 128, seq: 64 }", 'also gives "seq"'],
	["{ prefill: 257 }", "is 257, outside the range"],
	["{ decode: 1025 }", "is 1025, outside the range"],
])("workloads of a decoder are refused: %s", (text, words) => {
	expect(refusalOf(`${decoder}, workloads: [${text}]`).message).toContain(words);
});

it("workloads of a decoder need dimensions that are named, or named like them", () => {
	const { message, fix } = refusalOf("dims: { a: 1, b: 1 }, workloads: [{ decode: 1 }]");
	expect(message).toContain("needs the dimensions of tokens and cache");
	expect(fix).toContain("decoder: { seq: sequence_length, past: past_sequence_length }");
});

it("workloads need a size inside the range that the engine is built for", () => {
	for (const size of [1, 8, 32]) engineOf(`${batch}, workloads: [{ batch: ${size} }]`);
	const { message } = refusalOf(`${batch}, workloads: [{ batch: 33 }]`);
	expect(message).toContain("expected 1 to 32");
});

it("engines inherit missing settings from their model", () => {
	const int8 = "precision: int8, onnx: q.onnx, golden: q.json, dims: { batch: 4 }, workloads: [{ batch: 4 }]";
	const engines = `engines: { fp16: { precision: fp16 }, int8: { ${int8} } }`;
	const pointer = "/models/net";
	expect(
		loaded(withModel(`${batch}, golden: g.json, workloads: [{ batch: 1 }], ${engines}`)).models[0]?.engines,
	).toMatchObject([
		{
			...{ onnx: "net.onnx", golden: "g.json", pointer: `${pointer}/engines/fp16` },
			workloads: [{ name: "batch 1", pointer: `${pointer}/workloads/0` }],
		},
		{
			...{ onnx: "q.onnx", golden: "q.json", dims: { batch: { min: 4, opt: 4, max: 4 } } },
			workloads: [{ pointer: `${pointer}/engines/int8/workloads/0` }],
		},
	]);
});

const levels = `version: 1
models:
  net:
    onnx: net.onnx
    dims: { batch: { min: 1, opt: 8, max: 32 } }
    gates: { latency: { warn: 3% }, memory: { fail: off } }
    engines:
      fp16: { precision: fp16, gates: { latency: { fail: 20% }, golden: { relative-l2: { fp16: 0.01 } } } }
      fp32: { precision: fp32 }
    workloads: [{ batch: 1 }, { batch: 8, gates: { latency: { warn: 4% }, max-latency: 5ms, inconclusive: fail } }]
gates: { latency: { warn: 1%, fail: 12% }, golden: { relative-l2: 0.02 } }
`;

it("gates merge leaf by leaf: default, file, model, engine, workload", () => {
	const [fp16, fp32] = loaded(levels).models[0]?.engines ?? [];
	for (const engine of [fp16, fp32]) {
		const fail = engine === fp16 ? 0.2 : 0.12;
		const levels = [engine!, ...engine!.workloads].map(({ gates }) => gates.latency);
		expect(levels).toEqual([0.03, 0.03, 0.04].map((warn) => ({ warn, fail })));
	}
	expect(fp32?.gates.memory).toEqual({});
	expect(fp32?.gates.p99).toEqual(defaultGates.p99);
	expect(fp16?.gates.relativeL2).toMatchObject({ fp16: 0.01, fp32: 0.02, int8: 0.02 });
	expect(fp32?.workloads.map(({ gates }) => gates)).toMatchObject([
		{ maxLatencyMs: undefined, inconclusive: "neutral" },
		{ maxLatencyMs: 5, inconclusive: "fail" },
	]);
});

it("gates remember where the file sets them", () => {
	const [fp16] = loaded(levels).models[0]?.engines ?? [];
	expect(fp16?.workloads[1]?.gates.pointers).toMatchObject({
		latency: "/models/net/engines/fp16/gates/latency/fail",
		"latency.warn": "/models/net/workloads/1/gates/latency/warn",
		memory: "/models/net/gates/memory/fail",
		"golden.relative-l2": "/models/net/engines/fp16/gates/golden/relative-l2",
		"max-latency": "/models/net/workloads/1/gates/max-latency",
		inconclusive: "/models/net/workloads/1/gates/inconclusive",
	});
	expect(fp16?.gates.pointers["p99"]).toBeUndefined();
});

it.each([
	["dims: { a: { min: 1, opt: 4, max: 3 } }", "", "config-dims", "/models/net/dims/a"],
	["", "measure: { pairs: [5, 5] }", "config-value", "/measure/pairs"],
	["", "measure: { pairs: [4] }", "config-schema", "/measure/pairs/0"],
	["", "backend: onnxruntime\nbase: { trtexec: /opt/trt/bin/trtexec }", "config-value", "/base"],
	["", "base: { python: python3 }", "config-schema", "/base/trtexec"],
	["", "baseline: { from: pinned, ref: --upload-pack=x }", "config-value", "/baseline/ref"],
	["", "baseline: { from: pinned, ref: a b }", "config-value", "/baseline/ref"],
	["", "baseline: { from: pinned, ref: -x }", "config-value", "/baseline/ref"],
])("rules between values refuse { %s } %s", (model, more, ...wanted) => {
	expect(refused(withModel(model, more)).map((error) => [error.code, error.pointer])).toEqual([wanted]);
});

it("inputs stand over the file's values and are their source", () => {
	const config = loaded(withModel("", "backend: tensorrt\nmeasure: { pairs: [16] }"), {
		backend: "onnxruntime",
		pairs: "5, 8",
		threads: "4",
		strict: "true",
		tensorrt: "10.10",
	});
	expect(config).toMatchObject({
		backend: "onnxruntime",
		measure: { looks: [5, 8], threads: 4 },
		preflight: { strict: true, tensorrt: "10.10" },
	});
	expect(config.sources["/backend"]).toEqual({ kind: "input", name: "backend" });
	expect(formatSource(config, "/measure/pairs")).toBe("input pairs");
});

it("inputs win over every level of the gates", () => {
	const neutral = "gates: { inconclusive: neutral }";
	const text = withModel(`${neutral}, workloads: [{ ${neutral} }]`);
	const { gates, models } = loaded(text, { inconclusive: "fail" });
	const [engine] = models[0]!.engines;
	for (const level of [{ gates }, engine!, engine!.workloads[0]!])
		expect(level.gates.inconclusive).toBe("fail");
});

it.each([
	[
		{ backend: "onnxruntim" },
		"config-schema",
		'input backend is "onnxruntim"; expected one of auto, tensorrt, onnxruntime. Did you mean onnxruntime?',
	],
	[{ pairs: "5,x" }, "config-schema", 'input pairs is "x"; expected a whole number from 5 to 128.'],
	[{ pairs: "8,5" }, "config-value", "input pairs is [8, 5]; expected numbers of pairs that ascend."],
	[{ strict: "maybe" }, "config-schema", 'input strict is "maybe"; expected true or false.'],
])("inputs are refused under their own name: %j", (inputs, code, message) => {
	expect(refused(withModel(""), inputs).map((error) => [error.code, error.message, error.location])).toEqual([
		[code, message, undefined],
	]);
});

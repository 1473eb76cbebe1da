import fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import {
	starterConfig,
	starterModel,
	starterName,
	starterWorkflow,
	withStarterGolden,
} from "../../../src/core/config/init.ts";
import type { OnnxDim, OnnxValue } from "../../../src/core/onnx/model.ts";
import { emptyModel } from "../../support/fakes.ts";
import { loaded } from "./load.ts";

function value(name: string, dims: readonly OnnxDim[] | null): OnnxValue {
	return { name, kind: "tensor", dtype: "float", dims };
}

function model(inputs: readonly OnnxValue[]) {
	return { ...emptyModel, graph: { ...emptyModel.graph, inputs } };
}

const options = { name: "net", onnxPath: "models/net.onnx" };
const schema = "./schema.json";

function starter(...given: Parameters<typeof starterModel>): string {
	return starterConfig([starterModel(...given)], schema);
}

it("starterConfig binds the symbolic dimensions and times two batch sizes", () => {
	const config = loaded(starter(model([value("image", ["batch", 3, "height", "width"])]), options));
	const [engine] = config.models[0]?.engines ?? [];
	expect(Object.keys(engine?.dims ?? {})).toEqual(["batch", "height", "width"]);
	expect(engine?.workloads.map((workload) => workload.name)).toEqual(["batch 1", "batch 8"]);
	expect(engine?.golden).toBeUndefined();
});

it("starterConfig gives an axis that is named as a sum the sum of the ranges", () => {
	const inputs = [
		value("new", ["b", "seq", 8]),
		value("past", ["b", "past", 8]),
		value("mask", ["b", "past + seq + 1", 8]),
	];
	const sizes = new Map(Object.entries({ b: 1, seq: 4, past: 16, "past + seq + 1": 21 }));
	const known = { sizes, given: new Set<string>(), ends: {} };
	const [engine] = loaded(starter(model(inputs), { ...options, known })).models[0]?.engines ?? [];
	expect(engine?.dims).toMatchObject({
		seq: { min: 1, max: 512 },
		past: { min: 1, max: 512 },
		"past + seq + 1": { min: 3, opt: 21, max: 1025 },
	});
});

it("starterConfig times a decoder's first token and each further one, in a profile each", () => {
	const inputs = [
		{ ...value("input_ids", ["b", "seq"]), dtype: "int64" } as const,
		value("past.0", ["b", "past", 8]),
		value("mask", ["b", "past + seq"]),
	];
	const decoder = model(inputs);
	const graph = { ...decoder.graph, outputs: [value("present.0", ["b", "past + seq", 8])] };
	const [engine] = loaded(starter({ ...decoder, graph }, options)).models[0]?.engines ?? [];
	expect(engine?.workloads).toMatchObject([
		{ name: "first token · prefill 128 · b 1", dims: { b: 1, seq: 128, past: 0, "past + seq": 128 } },
		{ name: "per token · decode 512 · b 1", dims: { b: 1, seq: 1, past: 512, "past + seq": 513 } },
	]);
	expect(engine?.profiles).toMatchObject([
		{ seq: { max: 512 }, past: { min: 0, max: 1 }, "past + seq": { min: 1, opt: 129, max: 513 } },
		{ seq: { max: 1 }, past: { min: 1, max: 1024 }, "past + seq": { min: 2, opt: 513, max: 1025 } },
	]);
});

it("starterConfig leaves the limits to the defaults, and its comments state them", () => {
	const text = starter(model([]), options);
	const untouched = loaded("version: 1\nmodels: { a: { onnx: b } }").gates;
	expect(loaded(text).gates).toEqual(untouched);
	const stated = loaded(text.replace("# gates:", "gates:").replaceAll(/^#( {2}.*%.*)/gm, "$1")).gates;
	expect(Object.keys(stated.pointers)).toEqual(expect.arrayContaining(["latency", "memory", "engine-size"]));
	expect({ ...stated, pointers: {} }).toEqual(untouched);
});

it("starterConfig loads whatever names and sizes a model has", () => {
	const text = fc.oneof(
		fc.string({ unit: "binary", maxLength: 12 }),
		fc.string({ unit: "grapheme", maxLength: 12 }),
		fc.constantFrom(
			..."__proto__|streams|name|gates|dims|true|~|8|a: b|# x|- a|a\nb: c|*a|batch|seq len|<<|{}".split("|"),
			...["x".repeat(400), "\u0085", "\ufeff"],
		),
	);
	const dim = fc.oneof(text, fc.constant(null), fc.integer(), fc.double());
	const input = fc.tuple(text, fc.option(fc.array(dim, { maxLength: 18 })));
	fc.assert(
		fc.property(fc.array(input, { maxLength: 8 }), text, (inputs, name) => {
			const text = starter(model(inputs.map(([input, dims]) => value(input, dims))), {
				name: starterName(name, new Set()),
				onnxPath: "a b/net.onnx",
			});
			expect(loaded(text).models).toHaveLength(1);
		}),
		{ numRuns: 100 },
	);
});

it("starterConfig explains its keys once, and names every golden where golden record looks for it", () => {
	const image = model([value("image", ["batch", 3])]);
	const first = starterModel(image, options);
	const second = starterModel(image, { name: "b", onnxPath: "b.onnx", isFirst: false });
	const text = starterConfig([first, second], schema);
	expect(text.split("\n", 1)).toEqual(["# yaml-language-server: $schema=./schema.json"]);
	for (const hint of ["Shapes to time", "Optimization profile", "# fp16:", "--inputs FOLDER"])
		expect(text.split(hint), hint).toHaveLength(2);
	const named = withStarterGolden(text, "golden/b/golden.json") ?? "";
	expect(loaded(named).models.map(({ engines: [engine] }) => engine?.golden)).toEqual([
		undefined,
		"golden/b/golden.json",
	]);
	expect(withStarterGolden(named, "golden/b/golden.json")).toBeNull();
});

it.each([
	["nets/det.onnx", [], "det"],
	["nets/a/model.onnx", ["model"], "a-model"],
	["nets/a/model.onnx", ["model", "a-model"], "nets-a-model"],
	["model.onnx", ["model", "model-2"], "model-3"],
	["nets/Model.ONNX", [], "Model"],
])("starterName calls %s beside %j %s", (path, taken, name) => {
	expect(starterName(path, new Set(taken))).toBe(name);
});

it("starterWorkflow is short, may comment, and is pinned by the commit if it is known", () => {
	const text = starterWorkflow({ version: "1.2.3" });
	expect(text).toContain(
		"git ls-remote https://github.com/trtgate/trtgate 'refs/tags/v1.2.3^{}'\n      - id: gate\n        uses: trtgate/trtgate@v1.2.3\n",
	);
	const commit = "a".repeat(40);
	expect(starterWorkflow({ commit, version: "1.2.3" })).toContain(`trtgate/trtgate@${commit} # v1.2.3\n`);
	expect(starterWorkflow({ commit })).not.toContain("ls-remote");
	expect(text.split("\n").length).toBeLessThanOrEqual(50);
	const workflow = parse(text);
	expect(workflow.permissions).toEqual({});
	const written = { "pull-requests": "write", checks: "write" };
	expect(workflow.jobs.gate.permissions).toEqual({ contents: "read", ...written });
	expect(workflow.jobs.gate.steps.map((step: { uses: string }) => step.uses.split("@")[0])).toEqual([
		"actions/checkout",
		"trtgate/trtgate",
	]);
});

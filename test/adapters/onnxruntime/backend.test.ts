import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tensor } from "../../../src/golden/core/tensor/tensor.ts";
import type { BuiltEngine, InferCase } from "../../../src/ports/backend.ts";
import { float32 } from "../../support/golden-tensors.ts";
import {
	buildJob,
	builtEngine,
	countJob,
	fixture,
	image,
	inferJob,
	inferOne,
	modelAt,
	models,
	net,
	testBackend,
} from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";

const folder = temporaryFolder(afterAll);
const backend = testBackend({ cpuName: "Test CPU" });
let engine: BuiltEngine;
beforeAll(async () => {
	engine = await builtEngine(backend, fixture("net"), join(folder, "net"));
});

it("facts name the runtime and say that it is not TensorRT", async () => {
	const facts = await backend.facts();
	expect(facts).toEqual({
		kind: "onnxruntime",
		name: "ONNX Runtime (WebAssembly)",
		version: "1.30.0",
		device: "Test CPU",
		caveat: "CPU, not TensorRT",
	});
	expect(await backend.fingerprint()).toEqual({
		os: process.platform,
		arch: process.arch,
		cpu: "Test CPU",
		cores: expect.stringMatching(/^\d+$/),
		onnxruntime: "1.30.0 wasm",
		node: process.versions.node.split(".")[0],
		threads: "1",
	});
});

it("build keeps the model with its recipe as the engine", () => {
	const { record } = engine;
	expect(record).toMatchObject({
		state: "built",
		engineKind: "ONNX model with recipe",
		engineSha256: engine.model.sha256,
		warnings: [],
	});
	expect(record.engineBytes).toBe(statSync(net).size);
	expect(readFileSync(engine.path)).toEqual(readFileSync(net));
	expect(record.recipe).toEqual(JSON.parse(readFileSync(join(engine.path, "../recipe.json"), "utf8")));
	expect(record.recipe).toMatchObject({
		runtime: "onnxruntime-web",
		version: "1.30.0",
		flavour: "wasm",
		threads: "1",
	});
});

it("build counts warnings by class", async () => {
	const record = await backend.build(buildJob(fixture("warns"), join(folder, "warns")));
	expect(record.warnings).toMatchObject([{ class: "CleanUnusedInitializersAndNodeArgs", count: 1 }]);
});

it.each([
	["refused-custom-op", "ort-unsupported-op", "com.acme:Swish"],
	["refused-kernel", "ort-unsupported-op", "/mm"],
	["external-missing", "ort-external-data", "lost.bin"],
	["same-bfloat16", "ort-unsupported-dtype", "bfloat16"],
])("build refuses %s with a reason and a fix", async (name, code, word) => {
	const record = await backend.build(buildJob(fixture(name), join(folder, name)));
	expect(record).toMatchObject({ state: "refused", failure: { code } });
	expect(record.failure?.title).toContain(word);
	expect(record.failure?.kind).toBeUndefined();
	expect(JSON.stringify(record.failure)).not.toContain(models);
	expect(record.enginePath).toBeUndefined();
});

it("build copies external data, so that the engine is self-contained", async () => {
	const model = modelAt(join(models, "external.onnx"), [
		{ location: "external.bin", path: join(models, "external.bin"), neededBytes: 64, problem: null },
	]);
	const built = await builtEngine(backend, model, join(folder, "external"));
	const names = ["external.bin", "external.onnx", "recipe.json"];
	expect(readdirSync(join(built.path, "..")).sort()).toEqual(names);
	expect(built.record.engineBytes).toBe(statSync(model.path).size + 64);
	const x = float32([1, 2, 3, 4, 5, 6, 7, 8], [2, 4]);
	const y = float32([2, 4, 6, 8, 10, 12, 14, 16], [2, 4]);
	const result = await inferOne(backend, built, { x }, join(folder, "external"));
	expect(result).toMatchObject({ cases: [{ outputs: { y } }] });
});

const engineOf = (name: string) => {
	const model = fixture(name);
	return { ...engine, path: model.path, model };
};

it("infer gives every case's outputs, the same at every run, and counts", async () => {
	const cases = [0, 0.5, 1].map((value) => ({ id: `grey ${value}`, inputs: { image: image(value) } }));
	const done: number[] = [];
	const job = { ...inferJob(engine, cases, folder), onCase: (count: number) => void done.push(count) };
	const result = await backend.infer(job);
	if (result.state !== "done") throw new Error(result.failure.message);
	expect(result.cases.map((item) => [item.id, item.state])).toEqual(cases.map(({ id }) => [id, "done"]));
	expect(done).toEqual([1, 2, 3]);
	const again = await backend.infer(job);
	expect(again).toEqual({ ...result, wallMs: expect.any(Number) });
	expect(existsSync(join(job.scratchFolder, "tensors"))).toBe(false);
});

it("infer lets only the bad case fail, with ONNX Runtime's own message", async () => {
	const cases: InferCase[] = [
		{ id: "wrong shape", inputs: { image: float32([1, 2], [1, 2]) } },
		{ id: "wrong name", inputs: { images: image(0) } },
		{ id: "good", inputs: { image: image(0) } },
	];
	const result = await backend.infer(inferJob(engine, cases, folder));
	expect(result).toMatchObject({
		cases: [
			...Array(2).fill({ state: "failed", message: expect.stringContaining("image") }),
			{ state: "done" },
		],
	});
});

it("infer carries every type bit by bit", async () => {
	const values = {
		float32: new Float32Array([1.5, -2]),
		float64: new Float64Array([1.5, -2]),
		float16: new Uint16Array([0x3e00, 0xc000]),
		int8: new Int8Array([1, -2]),
		uint8: new Uint8Array([1, 255]),
		int16: new Int16Array([1, -2]),
		uint16: new Uint16Array([1, 65_535]),
		int32: new Int32Array([1, -2]),
		uint32: new Uint32Array([1, 4_294_967_295]),
		int64: new BigInt64Array([9_007_199_254_740_993n, -2n]),
		uint64: new BigUint64Array([1n, 18_446_744_073_709_551_615n]),
		bool: new Uint8Array([1, 0]),
	} as const;
	const inputs = Object.fromEntries(
		Object.entries(values).map(([dtype, two]) => [
			dtype,
			{ dtype: dtype as Tensor["dtype"], shape: [1, 2], data: new Uint8Array(two.buffer) },
		]),
	);
	const result = await inferOne(backend, engineOf("same-all"), inputs, folder);
	const expected = Object.fromEntries(
		Object.entries(inputs).map(([dtype, tensor]) => [`${dtype}-out`, tensor]),
	);
	const [only] = result.state === "done" ? result.cases : [];
	expect(only?.state === "done" && { ...only.outputs }).toEqual(expected);
});

it("infer cannot bring strings out", async () => {
	const x = float32([1, 2], [1, 2]);
	const result = await inferOne(backend, engineOf("same-string"), { x }, folder);
	expect(result).toMatchObject({
		cases: [{ state: "failed", message: "An input is of type float, expected string." }],
	});
});

it("count gives the same number in every process", async () => {
	const job = countJob(engine, folder);
	const [first, again] = await Promise.all([backend.count?.(job), backend.count?.(job)]);
	expect(first).toMatchObject({ state: "counted" });
	expect(again).toEqual(first);
	const { instructions = 0, otherInput = 0 } = first?.state === "counted" ? first : {};
	expect(instructions).toBeGreaterThan(100_000);
	expect(Math.abs(otherInput / instructions - 1)).toBeLessThan(1e-4);
});

it.each([
	["basic", "Conv"],
	["all", "FusedConv"],
] as const)("count splits the work by operator, at level %s", async (level, op) => {
	const job = countJob(engine, folder);
	const [whole, split] = await Promise.all([backend.count?.(job), backend.count?.({ ...job, level })]);
	if (whole?.state !== "counted" || split?.state !== "split") throw new Error("not counted");
	expect(split.operators.get(op)).toBeGreaterThan(0.5 * whole.instructions);
	const sum = [...split.operators.values()].reduce((total, own) => total + own, 0);
	expect(sum / whole.instructions).toBeCloseTo(1, 0);
});

it("count explains why an engine does not run", async () => {
	const inputs = [{ name: "image", dtype: "float32", shape: [1, 3, 32], fill: "ones" }] as const;
	const result = await backend.count?.({ ...countJob(engine, folder), inputs });
	expect(result).toMatchObject({ state: "failed", failure: { code: "tool-output" } });
	const { message = "", excerpt } = result?.state === "failed" ? result.failure : {};
	expect(message).toContain("ONNX Runtime cannot run this engine");
	expect(excerpt?.join()).toMatch(/rank/i);
});

it("profile counts the instructions of each node, which together are those of the inference", async () => {
	const at = (name: string) => join(folder, "layers", name);
	const places = { profilePath: at("p.json"), layersPath: at("l.json"), nodesPath: at("n.onnx") };
	const job = countJob(engine, folder);
	const result = await backend.profile?.({ ...job, ...places });
	const whole = await backend.count?.(job);
	if (result?.state !== "done" || whole?.state !== "counted") throw new Error("neither profiled nor counted");
	expect(result.layers).toMatchObject({ unit: "M instructions", iterations: 1 });
	expect(result.layers?.layers.map(({ name, type }) => [name, type])).toContainEqual(["/conv", "FusedConv"]);
	expect(result.info?.layers.find(({ name }) => name === "/conv")?.weights).toEqual({
		dtype: "fp32",
		elements: 8 * 3 * 3 * 3,
	});
	const share = (result.layers?.totalMs ?? 0) / (whole.instructions / 1e6);
	expect(share).toBeGreaterThan(0.8);
	expect(share).toBeLessThan(1.2);
});

// ONNX Runtime (WebAssembly) as a backend: real models through the real worker.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tensor } from "../../../src/core/golden/tensor/tensor.ts";
import type { BuiltEngine } from "../../../src/ports/backend.ts";
import {
	buildJob,
	builtEngine,
	floats,
	inferJob,
	measureJob,
	modelAt,
	models,
	net,
	temporaryFolder,
	testBackend,
} from "../../support/ort-jobs.ts";

const folder = temporaryFolder();
const backend = testBackend({ cpuName: "Test CPU" });
const fixture = (name: string): string => join(models, `${name}.onnx`);
let engine: BuiltEngine;
beforeAll(async () => {
	engine = await builtEngine(backend, modelAt(net), join(folder, "net"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("facts report what runs the models and that it is not TensorRT", async () => {
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
	expect(record).toMatchObject({ state: "built", engineKind: "ONNX model with recipe", engineSha256: engine.model.sha256, warnings: [] });
	expect(record.engineBytes).toBe(statSync(net).size);
	expect(readFileSync(engine.path)).toEqual(readFileSync(net));
	expect(record.recipe).toEqual(JSON.parse(readFileSync(join(engine.path, "../recipe.json"), "utf8")));
	expect(record.recipe).toMatchObject({ runtime: "onnxruntime-web", version: "1.30.0", flavour: "wasm", threads: "1" });
});

it("build counts warnings by class", async () => {
	const record = await backend.build(buildJob(modelAt(fixture("warns")), join(folder, "warns")));
	expect(record.warnings).toMatchObject([{ class: "CleanUnusedInitializersAndNodeArgs", count: 1 }]);
});

it.each([
	["refused-custom-op", "ort-unsupported-op", "com.acme:Swish"],
	["refused-kernel", "ort-unsupported-op", "/mm"],
	["external-missing", "ort-external-data", "lost.bin"],
	["same-bfloat16", "ort-unsupported-dtype", "bfloat16"],
])("build refuses %s with a reason and a fix", async (name, code, word) => {
	const record = await backend.build(buildJob(modelAt(fixture(name)), join(folder, name)));
	expect(record).toMatchObject({ state: "refused", failure: { code } });
	expect(record.failure?.title).toContain(word);
	expect(record.failure?.kind).toBeUndefined();
	expect(JSON.stringify(record.failure)).not.toContain(models);
	expect(record.enginePath).toBeUndefined();
});

it("build copies external data, so that the engine is self-contained", async () => {
	const model = modelAt(fixture("external"), [
		{ location: "external.bin", path: join(models, "external.bin"), neededBytes: 64, problem: null },
	]);
	const built = await builtEngine(backend, model, join(folder, "external"));
	expect(readdirSync(join(built.path, "..")).sort()).toEqual(["external.bin", "external.onnx", "recipe.json"]);
	expect(built.record.engineBytes).toBe(statSync(fixture("external")).size + 64);
	const result = await backend.infer(
		inferJob(built, [{ id: "a", inputs: { x: floats([1, 2, 3, 4, 5, 6, 7, 8], [2, 4]) } }], join(folder, "external")),
	);
	expect(result).toMatchObject({ cases: [{ outputs: { y: floats([2, 4, 6, 8, 10, 12, 14, 16], [2, 4]) } }] });
});

it("build raises an engine folder that cannot be written", async () => {
	const job = buildJob(modelAt(net), folder, { engineFolder: join(net, "engine") });
	await expect(backend.build(job)).rejects.toMatchObject({ code: "output-unwritable" });
});

describe("infer", () => {
	const image = (value: number): ReturnType<typeof floats> => floats(new Array<number>(3072).fill(value), [1, 3, 32, 32]);

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

	it("infer lets one bad case fail alone, with ONNX Runtime's own message", async () => {
		const cases = [
			{ id: "wrong shape", inputs: { image: floats([1, 2], [1, 2]) } },
			{ id: "wrong name", inputs: { images: image(0) } },
			{ id: "good", inputs: { image: image(0) } },
		];
		const result = await backend.infer(inferJob(engine, cases, folder));
		expect(result).toMatchObject({
			cases: [
				{ state: "failed", message: expect.stringContaining("image") },
				{ state: "failed", message: expect.stringContaining("image") },
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
		const same = { ...engine, path: fixture("same-all"), model: modelAt(fixture("same-all")) };
		const result = await backend.infer(inferJob(same, [{ id: "a", inputs }], folder));
		const expected = Object.fromEntries(Object.entries(inputs).map(([dtype, tensor]) => [`${dtype}-out`, tensor]));
		const [only] = result.state === "done" ? result.cases : [];
		expect(only?.state === "done" && { ...only.outputs }).toEqual(expected);
	});

	it("infer cannot bring strings out", async () => {
		const same = { ...engine, path: fixture("same-string"), model: modelAt(fixture("same-string")) };
		const result = await backend.infer(inferJob(same, [{ id: "a", inputs: { x: floats([1, 2], [1, 2]) } }], folder));
		expect(result).toMatchObject({ cases: [{ state: "failed", message: "An input is of type float, expected string." }] });
	});

	it("infer reports that bfloat16 inputs cannot be fed", async () => {
		const x = { dtype: "bfloat16", shape: [1, 2], data: new Uint8Array(4) } as const;
		const same = { ...engine, path: fixture("same-float32"), model: modelAt(fixture("same-float32")) };
		const result = await backend.infer(inferJob(same, [{ id: "a", inputs: { x } }], folder));
		expect(result).toMatchObject({ cases: [{ state: "failed", message: expect.stringContaining("bfloat16") }] });
	});

	it("infer takes tensors named __proto__ and constructor for what they are: names", async () => {
		const hostile = await builtEngine(backend, modelAt(fixture("hostile-names")), join(folder, "hostile"));
		const inputs = Object.fromEntries([["__proto__", floats([1, 2])]]);
		const result = await backend.infer(inferJob(hostile, [{ id: "__proto__", inputs }], folder));
		const [only] = result.state === "done" ? result.cases : [];
		expect(only?.state === "done" && Object.keys(only.outputs)).toEqual(["constructor"]);
	});
});

it("measure leaves the raw samples on disk and reports the memory", async () => {
	const job = measureJob(engine, folder);
	const result = await backend.measure(job);
	if (result.state !== "ok") throw new Error(result.reason);
	expect(result.samplesMs.length).toBeGreaterThanOrEqual(10);
	expect(Math.min(...result.samplesMs)).toBeGreaterThan(0);
	expect(new Float64Array(new Uint8Array(readFileSync(job.samplesPath)).buffer)).toEqual(result.samplesMs);
	expect(result.peakMemoryBytes).toBeGreaterThan(40e6);
	expect(result.peakMemoryBytes).toBeLessThan(400e6);
});

it("measure reports the same peak memory for a long run, in which V8 optimises ONNX Runtime's largest function, as for a short one", async () => {
	const segmenter = await builtEngine(backend, modelAt("examples/quickstart/base/models/segmenter.onnx"), join(folder, "segmenter"));
	const inputs = [{ name: "image", dtype: "float32", shape: [1, 3, 48, 48], fill: "normal" }] as const;
	const peaks: number[] = [];
	for (const durationMs of [5, 1500]) {
		const result = await backend.measure({ ...measureJob(segmenter, folder), inputs, warmUpMs: 5, durationMs });
		peaks.push(result.state === "ok" ? (result.peakMemoryBytes ?? 0) : 0);
	}
	const [short = 0, long = 0] = peaks;
	expect(long / short).toBeGreaterThan(0.8);
	expect(long / short).toBeLessThan(1.25);
});

it("measure runs once where only caches are to be warmed", async () => {
	const result = await backend.measure({ ...measureJob(engine, folder), warmUpMs: 0, durationMs: 0 });
	expect(result.state === "ok" && result.samplesMs.length).toBe(1);
});

it("measure lets streams take turns and reports it in the log", async () => {
	const job = { ...measureJob(engine, folder), streams: 2, threads: 2 };
	expect((await backend.measure(job)).state).toBe("ok");
	expect(readFileSync(job.logPath, "utf8")).toContain("the streams take turns");
});

it("measure explains why an engine does not run", async () => {
	const result = await backend.measure({
		...measureJob(engine, folder),
		inputs: [{ name: "image", dtype: "float32", shape: [1, 3, 32], fill: "ones" }],
	});
	expect(result).toMatchObject({
		state: "unusable",
		failure: { code: "tool-output" },
		reason: expect.stringContaining("ONNX Runtime cannot run this engine"),
	});
	expect(result.state === "unusable" && result.failure.excerpt?.join()).toMatch(/rank/i);
});

describe("measurePair", () => {
	const limits = { warmUpMs: 5, leastMs: 20, mostMs: 40, turnMs: 2 };
	const jobs = (head = {}) => ({
		base: { ...measureJob(engine, folder), samplesPath: join(folder, "base.f64") },
		head: { ...measureJob(engine, folder), samplesPath: join(folder, "head.f64"), ...head },
	});

	it("measurePair leaves the raw samples of both sides, from turns of processes of their own", async () => {
		const runs = jobs();
		const results = await backend.measurePair?.({ runs, seed: "a", limits, tolerance: 0.02 });
		for (const arm of ["base", "head"] as const) {
			const result = results?.[arm];
			if (result?.state !== "ok") throw new Error(result?.reason);
			expect(result.samplesMs.length).toBeGreaterThanOrEqual(10);
			expect(result.timedMs).toBeGreaterThanOrEqual(limits.leastMs);
			expect(new Float64Array(new Uint8Array(readFileSync(runs[arm].samplesPath)).buffer)).toEqual(result.samplesMs);
			expect(result.peakMemoryBytes).toBeGreaterThan(40e6);
		}
	});

	it("measurePair explains which side does not run, and ends the other", async () => {
		const runs = jobs({ inputs: [{ name: "image", dtype: "float32", shape: [1, 3, 32], fill: "ones" }] });
		const results = await backend.measurePair?.({ runs, seed: "a", limits, tolerance: 0.02 });
		expect(results?.head).toMatchObject({ state: "unusable", reason: expect.stringContaining("cannot run this engine") });
		expect(results?.base).toMatchObject({ state: "unusable", reason: "the other run of its pair was unusable" });
	});
});

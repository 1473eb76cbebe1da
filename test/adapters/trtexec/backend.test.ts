import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenWorker, InferCase } from "../../../src/ports/backend.ts";
import { bed, image, infer, measure, recorded } from "../../support/replay/bed.ts";

it("build builds an engine whose INT8 was never calibrated, and reports it, because its golden judges it", async () => {
	const faults = [recorded("build", "build-classifier-int8-no-calibration")];
	const { backend, job } = bed({ comparison: "slower-head", faults });
	const record = await backend.build(await job({ config: ["precision: fp16", "precision: int8"] }));
	expect(record.state, JSON.stringify(record.failure)).toBe("built");
	expect(record.recipe?.["typing"]).toBe("FP32+INT8");
	expect(record.notes?.[0]).toContain("int8 without calibration");
});

it("build hands trtexec the cache of its own calibration, and calibrationOf reads it", async () => {
	const worker: GoldenWorker = {
		probe: async () => ({ absent: "not asked" }),
		infer: () => Promise.reject(new Error("not asked")),
		async calibrate({ cachePath }) {
			writeFileSync(cachePath, "TRT-100600-EntropyCalibration2\nimage: 3f800000\n");
			return { tensorrt: "10.6.0" };
		},
	};
	const faults = [recorded("build", "build-classifier-int8-no-calibration")];
	const { backend, job } = bed({ comparison: "slower-head", faults, worker });
	const calibration = "precision: int8, calibration: { from: golden }";
	const asked = await job({ config: ["precision: fp16", calibration] });
	const assets = { plugins: [], calibration: { path: "", sha256: "d", cases: [] } };
	const calibrationCases = (async function* () {})();
	const record = await backend.build({ ...asked, assets, calibrationCases });
	expect(record.recipe?.["flags"]).toContain("--calib=calibration.cache");
	const found = await backend.calibrationOf?.({ ...asked, assets, record, path: record.enginePath ?? "" });
	expect([...(found?.ranges ?? [])]).toEqual([["image", 127]]);
});

it("build runs a plan once if the log does not show that it was loaded", async () => {
	const unloaded = { step: "build", do: "unloaded" } as const;
	const silent = bed({ faults: [unloaded] });
	expect((await silent.backend.build(await silent.job())).state).toBe("built");
	const broken = bed({ faults: [unloaded, recorded("golden", "fail-engine-truncated")] });
	expect(await broken.backend.build(await broken.job())).toMatchObject({
		state: "refused",
		failure: { code: "plan-truncated" },
	});
});

const byPlan = ["precision: fp32", "precision: fp32, build: { command: make, plan: own.plan }"] as const;

it("build takes a copy of a plan that something else built, and the Python worker gets the copy", async () => {
	const seen: string[] = [];
	const worker: GoldenWorker = {
		probe: async () => ({ tensorrt: "10.6.0" }),
		infer: async ({ enginePath }) => {
			seen.push(readFileSync(enginePath, "utf8"));
			return { state: "done", cases: [], wallMs: 1 };
		},
	};
	const here = bed({ worker });
	const path = join(here.folder, "own.plan");
	writeFileSync(path, `${JSON.stringify({ arm: "head", build: 0 })}\n`);
	const asked = await here.job({ config: byPlan });
	const given: Record<string, string>[] = [];
	const ownPlan = async (variables: Record<string, string>) => {
		given.push(variables);
		return path;
	};
	const record = await here.backend.build({ ...asked, ownPlan });
	await here.backend.build({ ...asked, cacheFolder: undefined, ownPlan });
	const own = { TRTGATE_TENSORRT: "10.6.0" };
	expect(given).toEqual([{ ...own, TRTGATE_TIMING_CACHE: expect.stringMatching(/\.timing-10\.6\.0$/) }, own]);
	expect(record).toMatchObject({
		state: "built",
		recipe: { tensorrt: "10.6.0", build: "make" },
		warnings: [],
	});
	expect(record.notes?.[0]).toMatch(/^\d+ layers/);
	const text = readFileSync(path, "utf8");
	rmSync(path);
	const { spec, model } = asked;
	const engine = { spec, arm: "base", record, path: record.enginePath ?? "", model } as const;
	await infer(here, engine);
	expect(seen).toEqual([text]);
	expect((await here.backend.layersOf?.(engine))?.detail).toBe("detailed");
	// The weights alone are not known; a context takes a multiple of 32 KiB here.
	const measured = await measure(here, engine);
	const peak = measured.state === "ok" ? measured.peakMemoryBytes : null;
	expect((peak ?? 0) % (32 * 1024)).toBe(text.length);
});

it("build explains a plan that this TensorRT does not load", async () => {
	const here = bed({ faults: [recorded("profile", "fail-engine-truncated")] });
	const asked = await here.job({ config: byPlan });
	expect(await here.backend.build({ ...asked, ownPlan: async () => import.meta.filename })).toMatchObject({
		state: "refused",
		failure: { code: "plan-truncated" },
		log: asked.logPath,
	});
});

it("build reports which layer it times kernels for, and keeps verbose lines out of its log", async () => {
	const faults = [recorded("build", "build-classifier-verbose")];
	const { backend, job } = bed({ comparison: "slower-head", faults });
	const told: string[] = [];
	const asked = await job({});
	await backend.build({ ...asked, onPhase: (phase) => told.push(phase) });
	expect(told).toContainEqual("timing kernels: layer 3 of 8");
	expect(told.at(-1)).toBe("kernels are chosen");
	const log = readFileSync(asked.logPath, "utf8");
	expect(log).toMatch(/\[I\] \[TRT\] Engine generation completed/);
	expect(log).not.toMatch(/\[V\]|^Layer\(/m);
	expect(log.split("\n").length).toBeLessThan(200);
});

it("infer gives every output by its name, type and shape", async () => {
	const here = bed();
	const result = await infer(here, await here.engine());
	if (result.state !== "done" || result.cases[0]?.state !== "done") throw new Error(JSON.stringify(result));
	const { outputs } = result.cases[0];
	expect(
		Object.entries(outputs).map(([name, tensor]) => [name, tensor.dtype, tensor.shape, tensor.data.length]),
	).toEqual([
		["logits_out", "float32", [1, 6, 64, 64], 98304],
		["mask", "int64", [1, 64, 64], 32768],
	]);
	expect(readFileSync(join(here.folder, "verify.log"), "utf8")).toContain("&&&& PASSED");
	expect(readdirSync(join(here.folder, "scratch"))).toEqual([]);
});

const bytes = (count: number) => new Uint8Array(count);

it.each([
	["twice the bytes", { image: image({ data: bytes(98304) }) }, /98304 bytes, its shape .* needs 49152/],
	[
		"another type",
		{ image: image({ dtype: "float16", data: bytes(24576) }) },
		/float16, the model's is float32/,
	],
	["another shape", { image: image({ shape: [1, 3, 4096] }) }, /does not take/],
	["an input too many", { image: image(), ["__proto__2"]: image() }, /none of the engine's/],
	["no input", {}, /no values for input image/],
])("infer refuses a case with %s before trtexec could read it wrongly", async (_what, inputs, says) => {
	const here = bed();
	const result = await infer(here, await here.engine(), { inputs });
	expect(result).toMatchObject({
		state: "done",
		cases: [{ state: "failed", message: expect.stringMatching(says) }],
	});
});

it("infer prefers the Python worker of the same TensorRT, and probes it once", async () => {
	let probes = 0;
	const worker: GoldenWorker = {
		probe: async () => ({ tensorrt: "10.6.0.26", n: probes++ }),
		infer: async () => ({ state: "done", cases: [{ id: "a", state: "done", outputs: {} }], wallMs: 1 }),
	};
	const here = bed({ worker });
	const engine = await here.engine();
	for (let times = 0; times < 2; times += 1) {
		expect(await infer(here, engine)).toMatchObject({ cases: [{ state: "done", outputs: {} }] });
	}
	expect(probes).toBe(1);
	expect(here.backend.notes?.()).toEqual(["Golden cases ran in TensorRT's Python API (10.6.0.26)."]);
});

it.each([
	["of another version", { tensorrt: "10.7.0" }, /Python has TensorRT 10\.7\.0, trtexec is 10\.6\.0/],
	["that is absent", { absent: "Python has no TensorRT." }, /Python has no TensorRT\.$/],
])("infer falls back to trtexec from a worker %s, and reports it", async (_what, probed, says) => {
	const worker: GoldenWorker = {
		probe: async () => probed,
		infer: () => Promise.reject(new Error("not to be asked")),
	};
	const here = bed({ worker });
	expect(await infer(here, await here.engine())).toMatchObject({ state: "done", cases: [{ state: "done" }] });
	expect(here.backend.notes?.().join()).toMatch(says);
});

it("infer starts no trtexec for a case that tells nothing in a process of its own", async () => {
	const here = bed({});
	const cases: InferCase[] = [
		{ id: "a", inputs: { image: image() } },
		{ id: "b", inputs: {}, needsOthers: true },
	];
	const places = { scratchFolder: join(here.folder, "scratch"), logPath: join(here.folder, "verify.log") };
	const job = { engine: await here.engine(), cases, ...places, threads: 1, timeoutMs: 600_000 };
	const inferred = await here.backend.infer(job);
	expect(inferred).toMatchObject({
		isSeparate: true,
		cases: [
			{ state: "done", outputs: { logits_out: {} } },
			{ state: "done", outputs: {} },
		],
	});
	expect(readFileSync(places.logPath, "utf8").match(/&&&& RUNNING/g)).toHaveLength(1);
});

it("infer hands plugins to the Python worker, but not an engine of a DLA, which the worker cannot load", async () => {
	const seen: (readonly string[])[] = [];
	const worker: GoldenWorker = {
		probe: async () => ({ tensorrt: "10.6.0" }),
		infer: async ({ plugins }) => {
			seen.push(plugins);
			return { state: "done", cases: [], wallMs: 1 };
		},
	};
	const here = bed({ worker });
	const engine = await here.engine();
	const plugins = ["a.so", "b.so"].map((path) => ({ path, sha256: "", dynamic: false }));
	await infer(here, { ...engine, assets: { plugins } });
	const tensorrt = { ...engine.spec.engine.tensorrt, dla: { core: 1, gpuFallback: true } };
	await infer(here, { ...engine, spec: { ...engine.spec, engine: { ...engine.spec.engine, tensorrt } } });
	expect(seen).toEqual([["a.so", "b.so"]]);
});

it("infer refuses int64 on TensorRT 8, which would read it as int32, and names what to install", async () => {
	const here = bed({ version: "8.6.1" });
	const { spec, model } = await here.job({ model: "int64" });
	const engine = { ...(await bed().engine()), spec, model };
	const x = { dtype: "int64", shape: [4], data: new Uint8Array(32) } as const;
	expect(await infer(here, engine, { inputs: { x } })).toMatchObject({
		cases: [{ message: expect.stringContaining("int64, which TensorRT 8.6.1 takes as int32") }],
	});
});

it("measure feeds its own inputs, keeps the samples, and reports TensorRT's memory", async () => {
	const here = bed();
	const engine = await here.engine();
	const result = await measure(here, engine);
	if (result.state !== "ok") throw new Error(result.reason);
	const bytes = readFileSync(join(here.folder, "raw/a.f64"));
	expect([...result.samplesMs.slice(0, 3)]).toEqual([0, 8, 16].map((at) => bytes.readDoubleLE(at)));
	expect(result.samplesMs).toHaveLength(400);
	expect(result.peakMemoryBytes).toBeGreaterThan(1e6);
	expect(result.timedMs).toBeGreaterThan(10);
	const log = readFileSync(join(here.folder, "measure.log"), "utf8");
	const [, reported] = /Throughput: ([\d.]+) qps/.exec(log) ?? [];
	expect(result.reportedThroughputPerSecond).toBe(Number(reported));
	expect(result.enqueueShare).toBeLessThan(0.8);
	expect(log).toContain("Using values loaded from in0.bin for input image");
});

it("measure leaves out a paced run's warm-up itself, because trtexec's own has no pauses", async () => {
	const [usual, here] = [bed(), bed()];
	const whole = await measure(usual, await usual.engine());
	const paced = await measure(here, await here.engine(), undefined, { everyMs: 1 });
	if (whole.state !== "ok" || paced.state !== "ok") throw new Error("unusable");
	const skipped = whole.samplesMs.length - paced.samplesMs.length;
	expect(skipped).toBeGreaterThan(10);
	expect(paced.samplesMs).toEqual(whole.samplesMs.subarray(skipped));
	expect(whole.timedMs - paced.timedMs).toBeGreaterThanOrEqual(10);
	expect(whole.timedMs - paced.timedMs).toBeLessThan(11);
	expect(paced.reportedThroughputPerSecond).toBeUndefined();
});

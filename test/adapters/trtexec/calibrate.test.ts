// Calibration on a stand-in for TensorRT's Python API, whose ranges are the largest values of the inputs.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { entryStore } from "../../../src/adapters/cache/entries.ts";
import { calibrate, calibrationOf } from "../../../src/adapters/trtexec/calibrate.ts";
import type { TrtexecContext } from "../../../src/adapters/trtexec/run.ts";
import { parseVersionText } from "../../../src/formats/trtexec/banner.ts";
import type { Tensor } from "../../../src/golden/core/tensor/tensor.ts";
import type { BuildJob, BuiltEngine, InferCase } from "../../../src/ports/backend.ts";
import { temporaryFolder } from "../../support/project.ts";
import { fakeWorker, float32, int64, missing } from "../../support/tensorrt-worker.ts";

const suite = missing === null ? describe : describe.skip;
const network = { inputs: [{ name: "x", dtype: "FLOAT", shape: [-1, 2] }] };
const pairs = (...rows: number[][]): Tensor[] => rows.map((row) => float32([1, 2], row));

interface Setting {
	model?: object | string;
	method?: "entropy" | "minmax";
	version?: string;
	timing?: TrtexecContext["caches"]["timing"];
	dataSha256?: string;
}

function setUp(cases: readonly Tensor[], setting: Setting = {}) {
	const { model = network, method = "entropy", version: text = "10.6.0", timing = null } = setting;
	const folder = temporaryFolder();
	const [engineFolder, path] = [join(folder, "engine"), join(folder, "model.onnx")];
	mkdirSync(engineFolder);
	writeFileSync(path, typeof model === "string" ? model : JSON.stringify(model));
	let read = 0;
	const calibrationCases = async function* (): AsyncGenerator<InferCase> {
		for (const [index, x] of cases.entries()) {
			read += 1;
			yield { id: `c${index}`, inputs: { x } };
		}
	};
	const calibration = { path: folder, sha256: setting.dataSha256 ?? "d", cases: [] };
	const job = {
		spec: { engine: { tensorrt: { calibration: { data: { method } } } } },
		model: { path, sha256: "m" },
		assets: { plugins: [], calibration },
		...{ engineFolder, timeoutMs: 600_000, logPath: join(folder, "build.log") },
		calibrationCases: calibrationCases(),
	} as unknown as BuildJob;
	const context = {
		...{ worker: fakeWorker(), caches: { engines: null, timing } },
		trtexec: { program: "trtexec", version: parseVersionText(text) },
	} as unknown as TrtexecContext;
	const cacheAt = join(engineFolder, "calibration.cache");
	return { job, context, cacheAt, run: () => calibrate(job, context), read: () => read };
}

const twoCases = pairs([1, -2], [127, 0.5]);

suite("calibrate", () => {
	it.each(["entropy", "minmax"] as const)(
		"gives TensorRT every case by %s, and trtexec a cache that it reads",
		async (method) => {
			const { run, cacheAt, job } = setUp(twoCases, { method });
			const calibrated = await run();
			expect(readFileSync(cacheAt, "utf8")).toBe("TRT-100600-EntropyCalibration2\nx: 3f800000\n");
			expect(calibrated.assets?.calibration).toEqual({ path: cacheAt, sha256: "d" });
			expect(existsSync(`${cacheAt}.cases`)).toBe(false);
			const engine = { path: join(job.engineFolder, "engine.plan"), assets: job.assets };
			const found = await calibrationOf(engine as unknown as BuiltEngine);
			expect(found).toEqual({ path: cacheAt, ranges: new Map([["x", 127]]) });
		},
	);

	it("keeps the cache for the same model, data, method and version, and no other", async () => {
		const timing = entryStore({ folder: temporaryFolder(), maxBytes: 1e6 });
		const reads = async (setting: Setting) => {
			const one = setUp(twoCases, { timing, ...setting });
			await one.run();
			expect(readFileSync(one.cacheAt, "utf8")).toContain("x: 3f800000");
			return one.read();
		};
		expect([await reads({}), await reads({})]).toEqual([2, 0]);
		expect([await reads({ dataSha256: "e" }), await reads({ method: "minmax" })]).toEqual([2, 2]);
		expect(await reads({})).toBe(0);
	});

	it("leaves a build of TensorRT 11 to the refusal of the setting", async () => {
		const { run, job } = setUp(twoCases, { version: "11.0.0" });
		expect(await run()).toBe(job);
	});

	it.each<[string, Tensor[], Setting, string, string]>([
		[
			"cases of two shapes",
			[...twoCases, float32([2, 2], [1, 2, 3, 4])],
			{},
			"tensor-invalid",
			"case c2: input x",
		],
		[
			"a rank that the model has not",
			[float32([2], [1, 2])],
			{},
			"tensor-invalid",
			"the shape [2], not [-1, 2]",
		],
		[
			"a type that the model has not",
			[int64([1, 2], [1, 2])],
			{},
			"tensor-invalid",
			"the engine takes float32",
		],
		["Q/DQ nodes", twoCases, { model: { ...network, quantised: true } }, "tool-output", "calibrated nothing"],
		["a file that is no model", twoCases, { model: "?" }, "tool-output", "the file is no model"],
		["another version in Python", twoCases, { version: "10.7.0" }, "tool-missing", "10.6.0 is installed"],
	])("refuses %s", async (_, cases, setting, code, words) => {
		const { run, cacheAt } = setUp(cases, setting);
		await expect(run()).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
		expect(existsSync(`${cacheAt}.cases`)).toBe(false);
	});

	it("narrows int64 before TensorRT 10, and refuses what int32 does not hold", async () => {
		const { job, context } = setUp([int64([1, 2], [1, 2 ** 40])], { version: "8.6.1" });
		await expect(calibrate(job, context)).rejects.toMatchObject({
			message: expect.stringContaining('calibration case "c0": input x holds 1099511627776'),
		});
	});

	it("passes on a fault of the data", async () => {
		const { job, context } = setUp([]);
		const fault = new Error("a file is gone");
		job.calibrationCases = (async function* () {
			yield* [] as InferCase[];
			throw fault;
		})();
		await expect(calibrate(job, context)).rejects.toBe(fault);
	});
});

// trtexec's arguments for a config, by version: builds, timed runs and golden cases, as the adapters request them.
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileModelReader } from "../../../src/adapters/files/model-reader.ts";
import type { Processes, RunOptions } from "../../../src/adapters/process/processes.ts";
import { trtexecBackend } from "../../../src/adapters/trtexec/backend.ts";
import { type EngineAssets, type EngineSpec, engineSpecs } from "../../../src/core/plan/plan.ts";
import { parseVersionText } from "../../../src/formats/trtexec/banner.ts";
import type { Tensor } from "../../../src/golden/core/tensor/tensor.ts";
import type { BuiltEngine, GoldenWorker } from "../../../src/ports/backend.ts";
import { loaded } from "../../core/config/load.ts";
import { temporaryFolder } from "../../support/project.ts";

/** Starts nothing, and remembers what it was asked to start. */
function recorder(): Processes & { asked: RunOptions[] } {
	const asked: RunOptions[] = [];
	return {
		asked,
		run: async (job) => {
			asked.push(job);
			const ended = { state: "not-started", exitCode: null, signal: null, logPath: null } as const;
			return { ...ended, wallMs: 0, tail: [], stdout: "", problem: "not here", argv: job.argv };
		},
		killAll: async () => {},
		killNow: () => {},
		owns: () => false,
		busy: (work) => work,
		childMs: () => 0,
	};
}

function assetsOf({ engine }: EngineSpec): EngineAssets {
	const { plugins, calibration } = engine.tensorrt;
	const at = (path: string) => ({ path: `/arm/${path}`, sha256: path });
	return {
		plugins: plugins.map(({ path, dynamic }) => ({ ...at(path), dynamic })),
		...(calibration === undefined ? {} : { calibration: at(calibration.path) }),
	};
}

function bed(engine: string, versionText: string, worker?: GoldenWorker) {
	const version = parseVersionText(versionText);
	const [spec] = engineSpecs(
		loaded(`version: 1\nmodels:\n  net: { onnx: net.onnx, engines: { e: ${engine} } }\n`),
	);
	if (version === null || spec === undefined) throw new Error(versionText);
	const processes = recorder();
	const timing = { cudaGraph: true, spinWait: true, transfers: false };
	const trtexec = { program: "trtexec", version };
	const backend = trtexecBackend({ trtexec, gpu: null, processes, timing, ...(worker ? { worker } : {}) });
	const folder = temporaryFolder();
	const model = fileModelReader().read("test/fixtures/models/classifier.onnx");
	return { backend, processes, spec, folder, model, own: { assets: assetsOf(spec) } };
}

type Bed = ReturnType<typeof bed>;

/** Without what every build and run has. */
function tellingArgv({ processes, folder }: Bed): string[] {
	const usual =
		/^--(onnx|saveEngine|skipInference|profilingVerbosity|exportLayerInfo|loadEngine|loadInputs|warmUp|duration|infStreams|percentile|exportTimes|noTF32|iterations|avgRuns|dumpRawBindingsToFile|device=0)/;
	const argv = processes.asked.at(-1)?.argv ?? [];
	return argv.slice(1).filter((argument) => !usual.test(argument) && !argument.includes(folder));
}

async function build(here: Bed) {
	const { backend, spec, folder, own } = here;
	const places = { engineFolder: join(folder, "engine"), logPath: join(folder, "build.log") };
	return backend.build({ spec, arm: "base", model: await here.model, timeoutMs: 1000, ...places, ...own });
}

async function built(here: Bed): Promise<BuiltEngine> {
	const { spec, own } = here;
	const facts = { model: "net", engine: "e", arm: "base", precision: "fp16", state: "built" } as const;
	const record = { ...facts, durationMs: 1, warnings: [] };
	return { spec, arm: "base", record, path: "/e/engine.plan", model: await here.model, ...own };
}

const image = (batch: number): Tensor => ({
	dtype: "float32",
	shape: [batch, 3, 32, 32],
	data: new Uint8Array(batch * 3 * 32 * 32 * 4),
});

async function time(here: Bed, batch: number): Promise<void> {
	const { backend, folder } = here;
	const inputs = [{ name: "images", dtype: "float32", shape: [batch, 3, 32, 32], fill: "zeros" }] as const;
	const places = { samplesPath: join(folder, "a.f64"), logPath: join(folder, "a.log") };
	const sizes = { streams: 1, seed: 1, warmUpMs: 1, durationMs: 1, threads: 1, timeoutMs: 1000 };
	await backend.measure({ engine: await built(here), inputs, ...sizes, ...places });
}

async function verify(here: Bed, batch: number) {
	const { backend, folder } = here;
	const places = { scratchFolder: join(folder, "scratch"), logPath: join(folder, "b.log") };
	const cases = [{ id: "a", inputs: { images: image(batch) } }];
	return backend.infer({ engine: await built(here), cases, ...places, threads: 1, timeoutMs: 1000 });
}

const shapes = (which: string, batch: number) => `--${which}=images:${batch}x3x32x32`;
const one = (min: number, opt: number, max: number): string =>
	`${shapes("minShapes", min)} ${shapes("optShapes", opt)} ${shapes("maxShapes", max)}`;
const usual = one(1, 4, 8);
const dims = "dims: { batch: { min: 1, opt: 4, max: 8 } }";
const profiles = "profiles: [{ batch: 1 }, { batch: { min: 2, opt: 8, max: 32 } }]";

it.each([
	["8.6.1", `precision: fp16, ${dims}, workspace: 512MiB`, `--fp16 ${usual} --memPoolSize=workspace:512`],
	["10.15.1", `precision: fp16, ${dims}, workspace: 4GB`, `--fp16 ${usual} --memPoolSize=workspace:3814M`],
	["11.1.0", `precision: fp32, ${dims}, optimization-level: 0`, `${usual} --builderOptimizationLevel=0`],
	[
		"10.6.0",
		`precision: fp16, ${dims}, plugins: [a.so, { path: b.so, dynamic: true }]`,
		`--fp16 ${usual} --staticPlugins=/arm/a.so --dynamicPlugins=/arm/b.so`,
	],
	[
		"10.6.0",
		`precision: int8, ${dims}, dla: { core: 1, gpu-fallback: true }`,
		`--int8 --fp16 ${usual} --allowGPUFallback --useDLACore=1`,
	],
	["8.6.1", `precision: fp16, ${dims}, dla: { core: 0 }`, `--fp16 ${usual} --useDLACore=0`],
	[
		"10.15.1",
		`precision: int8, ${dims}, calibration: net.cache, plugins: []`,
		`--int8 --fp16 ${usual} --calib=/arm/net.cache`,
	],
	[
		"9.3.0",
		`precision: fp16, ${profiles}`,
		`--fp16 --profile=0 ${one(1, 1, 1)} --profile=1 ${one(2, 8, 32)}`,
	],
	[
		"11.1.0",
		`precision: fp32, ${dims}, flags: [--sparsity=enable, --versionCompatible]`,
		`${usual} --sparsity=enable --versionCompatible`,
	],
])("the arguments of a build of TensorRT %s for { %s }", async (version, engine, argv) => {
	const here = bed(`{ ${engine} }`, version);
	await build(here);
	expect(tellingArgv(here).join(" ")).toBe(argv);
});

it.each([
	["11.1.0", `precision: fp16, ${dims}`, "precision-in-onnx", "e.onnx: TensorRT 11.1.0 takes the precision"],
	["11.1.0", `precision: int8, ${dims}, calibration: net.cache`, "precision-in-onnx", "e.onnx"],
	[
		"8.6.1",
		`precision: fp16, ${profiles}`,
		"setting-unsupported",
		"e.profiles: TensorRT 8.6.1 has no several",
	],
	["8.6.1", `precision: bf16, ${dims}`, "setting-unsupported", "e.precision"],
])(
	"the arguments of a build of TensorRT %s for { %s } are refused as %s",
	async (version, engine, code, says) => {
		const here = bed(`{ ${engine} }`, version);
		expect(await build(here)).toMatchObject({
			state: "refused",
			failure: { code, title: expect.stringContaining(`models.net.engines.${says}`) },
		});
		expect(here.processes.asked).toEqual([]);
	},
);

it.each([
	["10.6.0", `precision: fp16, ${dims}, workspace: 1GiB, optimization-level: 5`, 4, []],
	[
		"10.6.0",
		`precision: fp16, ${dims}, plugins: [a.so, { path: b.so, dynamic: true }], flags: [--sparsity=force, --versionCompatible]`,
		4,
		["--staticPlugins=/arm/a.so", "--dynamicPlugins=/arm/b.so", "--versionCompatible"],
	],
	["10.6.0", `precision: fp16, ${profiles}`, 16, ["--useProfile=1"]],
	["10.6.0", `precision: fp16, ${profiles}`, 1, []],
])(
	"the arguments of a run of TensorRT %s for { %s } at batch %i are those that the engine needs",
	async (version, engine, batch, argv) => {
		const here = bed(`{ ${engine} }`, version);
		const [shape, modes] = [
			shapes("shapes", batch),
			["--useCudaGraph", "--useSpinWait", "--noDataTransfers"],
		];
		const sorted = [...argv].sort();
		await time(here, batch);
		expect(tellingArgv(here).sort()).toEqual([shape, ...modes, ...sorted].sort());
		await verify(here, batch);
		expect(tellingArgv(here).sort()).toEqual([shape, ...sorted].sort());
	},
);

it("the arguments of a run on a DLA take no CUDA graph, and go to trtexec: the Python worker knows no DLA", async () => {
	const worker: GoldenWorker = {
		probe: async () => ({ tensorrt: "10.6.0" }),
		infer: () => Promise.reject(new Error("not to be asked")),
	};
	const here = bed(`{ precision: fp16, ${dims}, dla: { core: 1 } }`, "10.6.0", worker);
	await time(here, 4);
	expect(tellingArgv(here)).toEqual([
		shapes("shapes", 4),
		"--useSpinWait",
		"--noDataTransfers",
		"--useDLACore=1",
	]);
	await verify(here, 4);
	expect(tellingArgv(here)).toEqual([shapes("shapes", 4), "--useDLACore=1"]);
});

it("the arguments of a run are not requested for int64 on TensorRT 8, which would read it as int32: the case names what to install", async () => {
	const here = bed("{ precision: fp32 }", "8.6.1");
	const engine = {
		...(await built(here)),
		model: await fileModelReader().read("test/fixtures/models/int64.onnx"),
	};
	const x: Tensor = { dtype: "int64", shape: [4], data: new Uint8Array(32) };
	const places = { scratchFolder: join(here.folder, "scratch"), logPath: join(here.folder, "b.log") };
	const cases = [{ id: "a", inputs: { x } }];
	const result = await here.backend.infer({ engine, cases, ...places, threads: 1, timeoutMs: 1000 });
	const message = expect.stringContaining("int64, which TensorRT 8.6.1 takes as int32");
	expect(result).toMatchObject({ state: "done", cases: [{ id: "a", state: "failed", message }] });
	expect(here.processes.asked).toEqual([]);
});

it("the arguments of a run hand the plugins to the Python worker", async () => {
	const seen: (readonly string[])[] = [];
	const worker: GoldenWorker = {
		probe: async () => ({ tensorrt: "10.6.0" }),
		infer: async ({ plugins }) => {
			seen.push(plugins);
			return { state: "done", cases: [], wallMs: 1 };
		},
	};
	await verify(bed(`{ precision: fp16, ${dims}, plugins: [a.so, b.so] }`, "10.6.0", worker), 4);
	expect(seen).toEqual([["/arm/a.so", "/arm/b.so"]]);
});

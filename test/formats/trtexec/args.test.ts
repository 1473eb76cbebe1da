import { expect, it } from "vitest";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { ownedFlags } from "../../../src/core/config/tensorrt-settings.ts";
import type { OnnxDType } from "../../../src/core/onnx/model.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { buildArgs, runArgs, SettingError } from "../../../src/formats/trtexec/args.ts";
import { parseVersionText } from "../../../src/formats/trtexec/banner.ts";
import { loaded, withModel } from "../../core/config/load.ts";
import { recordedLines } from "./recorded.ts";

const classifier = (await readModel("test/fixtures/models/classifier.onnx")).onnx;

const tasks = {
	time: { task: "time", warmUpMs: 500, durationMs: 1500, streams: 1, times: "times.json" },
	paced: { task: "time", warmUpMs: 500, durationMs: 1500, streams: 1, everyMs: 33, times: "times.json" },
	infer: { task: "infer" },
	profile: { task: "profile", warmUpMs: 200, iterations: 50, profile: "p.json", layers: "l.json" },
} as const;

interface Setting {
	input?: string;
	dtype?: OnnxDType;
	reversed?: boolean;
}

function argvOf(
	version: string,
	engine: string,
	run: [keyof typeof tasks, number] | null,
	setting: Setting = {},
) {
	const { input = "images", dtype = "float32" as OnnxDType, reversed = false } = setting;
	const spec = engineSpecs(loaded(withModel(`engines: { e: { ${engine} } }`)))[0]!;
	const { plugins, calibration } = spec.engine.tensorrt;
	const at = (path: string) => ({ path: `/arm/${path}`, sha256: path });
	const graph = {
		...classifier.graph,
		inputs: classifier.graph.inputs.map((value) => ({ ...value, name: input, dtype })),
	};
	const job = {
		spec,
		path: "/e/net.plan",
		model: { path: "/m/net.onnx", onnx: { ...classifier, graph } },
		assets: {
			plugins: plugins.map(({ path, dynamic }) => ({ ...at(path), dynamic })),
			...(calibration === undefined ? {} : { calibration: at(calibration.path) }),
		},
	};
	const timing = { cudaGraph: !reversed, spinWait: !reversed, transfers: reversed };
	const runner = { trtexec: { version: parseVersionText(version)! }, timing };
	const places = { engine: "/e/net.plan", layers: "l.json", cache: "/c/t.cache" };
	if (run === null) return buildArgs(job, places, runner);
	const inputs = [{ name: input, shape: [run[1], 3, 32, 32], path: "in0.bin" }];
	return runArgs(job, inputs, tasks[run[0]], runner);
}

const shape = (which: string, batch: number) => `--${which}=images:${batch}x3x32x32`;
const sizes = (min: number, opt: number, max: number) =>
	`${shape("minShapes", min)} ${shape("optShapes", opt)} ${shape("maxShapes", max)}`;
const dims = "dims: { batch: { min: 1, opt: 4, max: 8 } }";
const plain = `precision: tf32, ${dims}`;
const fp16 = `precision: fp16, ${dims}`;
const int8 = `precision: int8, ${dims}`;
const profiles = "precision: fp16, profiles: [{ batch: 3 }, { batch: { min: 2, opt: 8, max: 32 } }]";
const plugged = `${fp16}, plugins: [{ path: c.so, dynamic: true }, a.so, b.so], flags: [--sparsity=force, --versionCompatible]`;
const libraries = "--staticPlugins=/arm/a.so --staticPlugins=/arm/b.so --dynamicPlugins=/arm/c.so";

it("buildArgs spells a build with all that every build has", () => {
	expect(argvOf("10.6.0", plain, null).join(" ")).toBe(
		`--onnx=/m/net.onnx --saveEngine=/e/net.plan --skipInference ${sizes(1, 4, 8)} --timingCacheFile=/c/t.cache --profilingVerbosity=detailed --exportLayerInfo=l.json --device=0`,
	);
});

const builds: [version: string, engine: string, added: string, setting?: Setting][] = [
	["8.6.1", `precision: fp32, ${dims}`, "--noTF32"],
	["8.6.1", fp16, "--fp16"],
	["11.0.0", fp16, "", { dtype: "float16" }],
	["10.15.1", `precision: bf16, ${dims}`, "--bf16"],
	["10.15.1", `precision: fp8, ${dims}`, "--fp8 --fp16"],
	["10.15.1", `precision: int4, ${dims}`, "--int4 --fp16"],
	["10.15.1", `precision: fp4, ${dims}`, "--stronglyTyped", { dtype: "float4e2m1" }],
	["8.6.1", `${fp16}, workspace: 512MiB`, "--fp16 --memPoolSize=workspace:512"],
	["10.6.0", `${fp16}, workspace: 4GB`, "--fp16 --memPoolSize=workspace:3814M"],
	["10.6.0", `${plain}, optimization-level: 0`, "--builderOptimizationLevel=0"],
	[
		"10.6.0",
		`${int8}, dla: { core: 1, gpu-fallback: true }`,
		"--int8 --fp16 --allowGPUFallback --useDLACore=1",
	],
	["10.15.1", `${int8}, calibration: net.cache`, "--int8 --fp16 --calib=/arm/net.cache"],
	["9.3.0", profiles, `--fp16 --profile=0 ${sizes(3, 3, 3)} --profile=1 ${sizes(2, 8, 32)}`],
];

const user: (typeof builds)[number] = [
	"10.6.0",
	plugged,
	`--fp16 ${libraries} --sparsity=force --versionCompatible`,
];

it.each([...builds, user])("TensorRT %s builds { %s } with %s", (version, engine, added, setting) => {
	const usual = new Set(argvOf("10.6.0", plain, null));
	const argv = argvOf(version, engine, null, setting).filter((text) => !usual.has(text));
	expect(argv.join(" ")).toBe(added);
});

const loading = `--loadEngine=/e/net.plan ${shape("shapes", 4)} --loadInputs=images:in0.bin`;
const timed = `${loading} --warmUp=500 --duration=1.5 --infStreams=1 --percentile=50,90,95,99`;
const golden = `${loading} --warmUp=0 --duration=0 --iterations=1 --avgRuns=1`;
const profiled = `${loading} --warmUp=200 --duration=0 --iterations=50`;
const times = "--exportTimes=times.json --device=0";
const exported = "--profilingVerbosity=detailed --exportProfile=p.json --exportLayerInfo=l.json --device=0";
const modes = "--useCudaGraph --useSpinWait --noDataTransfers";
const reversedModes = "--noCudaGraph --noSpinWait --includeDataTransfers";

const runs: [task: keyof typeof tasks, version: string, argv: string, setting?: Setting][] = [
	["time", "8.6.1", `${timed} ${modes} ${times}`],
	["time", "10.15.1", `${timed} ${modes} ${times}`],
	["time", "11.0.0", `${timed} ${times}`],
	["time", "10.6.0", `${timed} ${times}`, { reversed: true }],
	["time", "11.2.1", `${timed} ${reversedModes} ${times}`, { reversed: true }],
	["infer", "10.6.0", `${golden} --dumpRawBindingsToFile --device=0`],
	["infer", "11.2.1", `${golden} ${reversedModes} --dumpRawBindingsToFile --device=0`],
	["profile", "10.6.0", `${profiled} --useSpinWait --noDataTransfers --separateProfileRun ${exported}`],
	["profile", "11.2.1", `${profiled} --noCudaGraph ${exported}`],
];

it.each(runs)("runArgs spells a run of task %s for %s as %s", (task, version, argv, setting) => {
	expect(argvOf(version, plain, [task, 4], setting).join(" ")).toBe(argv);
});

it.each([
	[`${fp16}, workspace: 1GiB, optimization-level: 5`, 4, ""],
	[plugged, 4, `${libraries} --versionCompatible`],
	[`${fp16}, dla: { core: 1 }`, 4, "--useDLACore=1"],
	[profiles, 16, "--useProfile=1"],
	[profiles, 1, ""],
])("runArgs gives a run of { %s } at batch %i what the engine needs", (engine, batch, needed) => {
	const usual = new Set(argvOf("10.6.0", plain, ["infer", batch]));
	const argv = argvOf("10.6.0", engine, ["infer", batch]).filter((text) => !usual.has(text));
	expect(argv.join(" ")).toBe(needed);
});

it("runArgs lets trtexec sleep between paced inferences", () => {
	const argv = argvOf("10.6.0", plain, ["paced", 4]);
	expect(argv.filter((text) => !argvOf("10.6.0", plain, ["time", 4]).includes(text))).toEqual([
		"--idleTime=33",
	]);
});

it("runArgs times an engine of a DLA without a CUDA graph", () => {
	const argv = argvOf("10.6.0", `${fp16}, dla: { core: 1 }`, ["time", 4]);
	expect(argv).toContain("--useSpinWait");
	expect(argv).not.toContain("--useCudaGraph");
});

it.each<[version: string, engine: string, code: string, key: string, setting?: Setting]>([
	["11.0.0", fp16, "precision-in-onnx", "onnx"],
	["11.1.0", `${int8}, calibration: net.cache`, "precision-in-onnx", "onnx"],
	["10.15.1", `precision: fp4, ${dims}`, "precision-in-onnx", "onnx"],
	["8.6.1", `precision: fp4, ${dims}`, "setting-unsupported", "precision", { dtype: "float4e2m1" }],
	["8.6.1", `precision: bf16, ${dims}`, "setting-unsupported", "precision"],
	["10.0.1", `precision: int4, ${dims}`, "setting-unsupported", "precision"],
	["8.6.1", profiles, "setting-unsupported", "profiles"],
	["10.6.0", fp16, "tensor-name-unsupported", "dims", { input: "a,b" }],
	["10.6.0", fp16, "tensor-name-unsupported", "dims", { input: "a*" }],
])("TensorRT %s cannot build { %s }: %s at %s", (version, engine, code, key, setting) => {
	expect(() => argvOf(version, engine, null, setting)).toThrow(
		expect.objectContaining({ setting: [code, key], fix: expect.stringMatching(/\S/) }),
	);
});

it("runArgs refuses to list a file for an input whose name would split the list", () => {
	expect(() => argvOf("10.6.0", fp16, ["infer", 4], { input: "a,b" })).toThrow(SettingError);
});

const flagsOf = (argv: string[]) => argv.map((argument) => argument.split("=")[0] ?? "");
const all = [
	...builds.map(([version, engine, , setting]) => ({
		version,
		argv: argvOf(version, engine, null, setting),
	})),
	...runs.map(([task, version, , setting]) => ({ version, argv: argvOf(version, fp16, [task, 4], setting) })),
];

it.each(["10.6", "10.15", "11.2"])(
	"the flags for trtexec %s are all in its help, none deprecated for timed runs",
	(version) => {
		const help = recordedLines(`${version}/info-help`).map((line) => line.text);
		const own = all.filter((one) => one.version.split(".")[0] === version.split(".")[0]);
		const names = new Set(own.flatMap(({ argv }) => flagsOf(argv)));
		expect(help.join("\n").match(/--[A-Za-z0-9]+/g)).toEqual(expect.arrayContaining([...names]));
		const deprecated = help
			.filter((line) => line.includes("[Deprecated]"))
			.map((line) => /--\w+/.exec(line)?.[0]);
		for (const reversed of [true, false])
			for (const name of flagsOf(argvOf(`${version}.0`, plain, ["time", 4], { reversed })))
				expect(deprecated).not.toContain(name);
	},
);

it("every flag that trtgate gives is refused as the user's", () => {
	for (const name of all.flatMap(({ argv }) => flagsOf(argv))) expect(ownedFlags.has(name), name).toBe(true);
});

// Table of inputs and TensorRT versions to the arguments that trtexec gets.
import { describe, expect, it } from "vitest";
import { ownedFlags } from "../../../src/core/config/tensorrt-settings.ts";
import { buildArgs } from "../../../src/formats/trtexec/args.ts";
import type {
	ArgsSpec,
	BuildArgs,
	InferArgs,
	ProfileArgs,
	TimeArgs,
} from "../../../src/formats/trtexec/args-spec.ts";
import { parseVersionText, type TensorRtVersion } from "../../../src/formats/trtexec/banner.ts";
import { recordedLines } from "./recorded.ts";

const build: BuildArgs = {
	task: "build",
	onnxPath: "/m/net.onnx",
	enginePath: "/e/net.plan",
	precision: "fp32",
	typedModel: false,
	profiles: [],
	detailedLayers: true,
};
const time: TimeArgs = {
	task: "time",
	enginePath: "/e/net.plan",
	shapes: [{ name: "images", shape: [8, 3, 32, 32] }],
	warmUpMs: 500,
	durationMs: 1500,
	streams: 1,
	cudaGraph: true,
	spinWait: true,
	transfers: false,
	timesPath: "times.json",
};
const infer: InferArgs = {
	task: "infer",
	enginePath: "/e/net.plan",
	shapes: [],
	inputs: [{ name: "x:0", path: "/i/x.bin" }],
};
const profile: ProfileArgs = {
	task: "profile",
	enginePath: "/e/net.plan",
	shapes: [],
	transfers: false,
	warmUpMs: 200,
	iterations: 50,
	profilePath: "p.json",
	layerInfoPath: "l.json",
};

function version(text: string): TensorRtVersion {
	const parsed = parseVersionText(text);
	if (!parsed) throw new Error(text);
	return parsed;
}

function argvOf(spec: ArgsSpec, text: string): string {
	const result = buildArgs(spec, version(text));
	if (result.kind !== "argv") throw new Error(result.message);
	return result.argv.join(" ");
}

const dims = { name: "images", min: [1, 3, 32, 32], opt: [4, 3, 32, 32], max: [8, 3, 32, 32] };
const others = [
	{ name: "images", min: [1], opt: [1], max: [1] },
	{ name: "s", min: [], opt: [], max: [] },
];
const reversed = { ...time, cudaGraph: false, spinWait: false, transfers: true };
const fp16 = { ...build, precision: "fp16" } as const;
const made = "--onnx=/m/net.onnx --saveEngine=/e/net.plan --skipInference";
const tail = "--profilingVerbosity=detailed --device=0";
const shapes = "--minShapes=images:1x3x32x32 --optShapes=images:4x3x32x32 --maxShapes=images:8x3x32x32";
const run =
	"--loadEngine=/e/net.plan --shapes=images:8x3x32x32 --warmUp=500 --duration=1.5 --infStreams=1 --percentile=50,90,95,99";
const one =
	"--loadEngine=/e/net.plan --loadInputs=x:0:/i/x.bin --warmUp=0 --duration=0 --iterations=1 --avgRuns=1";
const times = "--exportTimes=times.json --device=0";
const exported = "--profilingVerbosity=detailed --exportProfile=p.json --exportLayerInfo=l.json --device=0";

const table: [what: string, version: string, spec: ArgsSpec, argv: string][] = [
	["a plain build", "8.6.1", build, `${made} --noTF32 ${tail}`],
	["a plain build", "11.2.1", build, `${made} --noTF32 ${tail}`],
	["a tf32 build", "10.6.0", { ...build, precision: "tf32" }, `${made} ${tail}`],
	["an fp16 build", "8.6.1", fp16, `${made} --fp16 ${tail}`],
	["an fp16 build", "10.15.1", fp16, `${made} --fp16 ${tail}`],
	["a typed fp16 build", "11.0.0", { ...fp16, typedModel: true }, `${made} ${tail}`],
	["an int8 build", "10.6.0", { ...build, precision: "int8" }, `${made} --int8 --fp16 ${tail}`],
	[
		"an fp4 build",
		"10.15.1",
		{ ...build, precision: "fp4", typedModel: true },
		`${made} --stronglyTyped ${tail}`,
	],
	[
		"one profile",
		"10.6.0",
		{ ...build, profiles: [{ inputs: [dims] }] },
		`${made} --noTF32 ${shapes} ${tail}`,
	],
	[
		"two profiles",
		"10.6.0",
		{ ...build, profiles: [{ inputs: [dims] }, { inputs: others }] },
		`${made} --noTF32 --profile=0 ${shapes} --profile=1 --minShapes=images:1,s:scalar --optShapes=images:1,s:scalar --maxShapes=images:1,s:scalar ${tail}`,
	],
	[
		"a workspace",
		"8.6.1",
		{ ...build, workspaceMiB: 512 },
		`${made} --noTF32 --memPoolSize=workspace:512 ${tail}`,
	],
	[
		"a workspace",
		"10.6.0",
		{ ...build, workspaceMiB: 512 },
		`${made} --noTF32 --memPoolSize=workspace:512M ${tail}`,
	],
	[
		"caches, DLA, plugins and more",
		"10.6.0",
		{
			...build,
			timingCachePath: "/c/t.cache",
			dlaCore: 0,
			allowGpuFallback: true,
			builderOptimizationLevel: 5,
			layerInfoPath: "l.json",
			plugins: { static: ["/p/a.so", "/p/b.so"], dynamic: ["/p/c.so"] },
			device: 2,
			extraFlags: ["--sparsity=enable", "--versionCompatible"],
		},
		`${made} --noTF32 --timingCacheFile=/c/t.cache --builderOptimizationLevel=5 --allowGPUFallback --profilingVerbosity=detailed --exportLayerInfo=l.json --staticPlugins=/p/a.so --staticPlugins=/p/b.so --dynamicPlugins=/p/c.so --useDLACore=0 --device=2 --sparsity=enable --versionCompatible`,
	],
	[
		"a calibrated int8 build",
		"10.15.1",
		{ ...build, precision: "int8", calibrationPath: "/c/net.cache" },
		`${made} --int8 --fp16 --calib=/c/net.cache ${tail}`,
	],
	["a timed run", "8.6.1", time, `${run} --useCudaGraph --useSpinWait --noDataTransfers ${times}`],
	["a timed run", "10.15.1", time, `${run} --useCudaGraph --useSpinWait --noDataTransfers ${times}`],
	["a timed run", "11.0.0", time, `${run} ${times}`],
	["a timed run the other way round", "10.6.0", reversed, `${run} ${times}`],
	[
		"a timed run the other way round",
		"11.2.1",
		reversed,
		`${run} --noCudaGraph --noSpinWait --includeDataTransfers ${times}`,
	],
	["a golden run", "10.6.0", infer, `${one} --dumpRawBindingsToFile --device=0`],
	[
		"a golden run",
		"11.2.1",
		infer,
		`${one} --noCudaGraph --noSpinWait --includeDataTransfers --dumpRawBindingsToFile --device=0`,
	],
	[
		"a profile run",
		"10.6.0",
		profile,
		`--loadEngine=/e/net.plan --warmUp=200 --duration=0 --iterations=50 --useSpinWait --noDataTransfers --separateProfileRun ${exported}`,
	],
	[
		"a profile run of the second profile",
		"11.2.1",
		{ ...profile, profileIndex: 1 },
		`--loadEngine=/e/net.plan --useProfile=1 --warmUp=200 --duration=0 --iterations=50 --noCudaGraph ${exported}`,
	],
];

it.each(table)("buildArgs spells %s for %s", (_, text, spec, argv) => {
	expect(argvOf(spec, text)).toBe(argv);
});

it.each<[what: string, version: string, spec: ArgsSpec, kind: string]>([
	["fp16 by flag", "11.0.0", { ...build, precision: "fp16" }, "needs-other-onnx"],
	["fp4 from a plain model", "10.15.1", { ...build, precision: "fp4" }, "needs-other-onnx"],
	["bf16", "8.6.1", { ...build, precision: "bf16" }, "unsupported"],
	["int4", "10.0.1", { ...build, precision: "int4" }, "unsupported"],
	[
		"a calibration cache",
		"11.0.0",
		{ ...build, precision: "int8", typedModel: true, calibrationPath: "/c" },
		"unsupported",
	],
	[
		"several profiles",
		"8.6.1",
		{ ...build, profiles: [{ inputs: [dims] }, { inputs: [dims] }] },
		"unsupported",
	],
	["a flag of ours", "10.6.0", { ...build, extraFlags: ["--saveEngine=x"] }, "refused"],
	["a precision flag of the user's", "10.6.0", { ...build, extraFlags: ["--fp16=0"] }, "refused"],
	["a flag twice", "10.6.0", { ...build, extraFlags: ["--sparsity=enable", "--sparsity=force"] }, "refused"],
	["a flag that is none", "10.6.0", { ...build, extraFlags: ["sparsity"] }, "refused"],
	["an input with a comma", "10.6.0", { ...time, shapes: [{ name: "a,b", shape: [1] }] }, "refused"],
	["an input with a star", "10.6.0", { ...time, shapes: [{ name: "a*", shape: [1] }] }, "refused"],
	["an input file with a colon", "10.6.0", { ...infer, inputs: [{ name: "x", path: "/a:b" }] }, "refused"],
])("buildArgs answers %s for %s", (_, text, spec, kind) => {
	const result = buildArgs(spec, version(text));
	expect(result.kind).toBe(kind);
	if (result.kind !== "argv") expect(result.fix).not.toBe("");
});

it("buildArgs names the flag of ours that a user gave", () => {
	expect(buildArgs({ ...build, extraFlags: ["--device=1"] }, version("10.6.0"))).toMatchObject({
		kind: "refused",
		what: "--device",
	});
});

const flagsOf = (spec: ArgsSpec, text: string): string[] =>
	argvOf(spec, text)
		.split(" ")
		.map((argument) => argument.split("=")[0] ?? "");

describe.each(["10.6", "10.15", "11.2"])("the flags for trtexec %s", (text) => {
	const help = recordedLines(`${text}/info-help`).map((line) => line.text);

	it("are all listed by its help", () => {
		const known = new Set(help.join("\n").match(/--[A-Za-z0-9]+/g));
		for (const [, at, spec] of table.filter((row) => version(row[1]).major === version(`${text}.0`).major))
			for (const name of flagsOf(spec, text)) expect(known, at).toContain(name);
	});

	it("are none that its help calls deprecated", () => {
		const deprecated = help
			.filter((line) => line.includes("[Deprecated]"))
			.map((line) => /--\w+/.exec(line)?.[0]);
		for (const mode of [true, false])
			for (const name of flagsOf({ ...time, cudaGraph: mode, spinWait: mode, transfers: mode }, text))
				expect(deprecated).not.toContain(name);
	});
});

it("every flag that buildArgs gives is refused as an extra flag", () => {
	for (const [, text, spec] of table) {
		const extra = new Set((spec.extraFlags ?? []).map((flag) => flag.split("=")[0]));
		for (const name of flagsOf(spec, text)) expect(extra.has(name) || ownedFlags.has(name)).toBe(true);
	}
});

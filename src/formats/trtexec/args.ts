// Builds trtexec's arguments for a build, a timed run, a golden run or a layer profile, for one TensorRT version.
import { flagFault } from "../../core/config/tensorrt-settings.ts";
import type {
	ArgsFault,
	ArgsResult,
	ArgsSpec,
	BuildArgs,
	InferArgs,
	NamedShape,
	Plugins,
	ProfileArgs,
	RunArgs,
	ShapeProfile,
	TimeArgs,
	TimingMode,
} from "./args-spec.ts";
import type { TensorRtVersion } from "./banner.ts";
import { type Setting, settingArgs } from "./flag-table.ts";

type Part = readonly string[] | ArgsFault;

// trtexec splits lists at commas and gives quotes and asterisks a special meaning.
const unsupportedChars = /[,'*\u0000-\u001f]/;

function flag(name: string, value: string | number | undefined): string[] {
	return value === undefined ? [] : [`${name}=${value}`];
}

function setting(name: Setting, version: TensorRtVersion, what: string = name): Part {
	return (
		settingArgs(name, version) ?? {
			kind: "unsupported",
			what,
			message: `TensorRT ${version.text} has no ${what}.`,
			fix: `Use a TensorRT version that has ${what}, or remove the setting.`,
		}
	);
}

function shapeList(flagName: string, shapes: readonly NamedShape[]): Part {
	const bad = shapes.find(({ name }) => unsupportedChars.test(name) || name === "");
	if (bad)
		return {
			kind: "refused",
			what: bad.name,
			message: `trtexec cannot take a shape for the input ${JSON.stringify(bad.name)}: its lists do not allow this name.`,
			fix: "Rename the input in the ONNX file, without commas, quotes and asterisks.",
		};
	const specs = shapes.map(({ name, shape }) => `${name}:${shape.length === 0 ? "scalar" : shape.join("x")}`);
	return specs.length === 0 ? [] : [`${flagName}=${specs.join(",")}`];
}

function profileParts(profiles: readonly ShapeProfile[], version: TensorRtVersion): Part[] {
	const dynamic = profiles.filter(({ inputs }) => inputs.length > 0);
	const several = dynamic.length > 1;
	const parts = dynamic.flatMap(({ inputs }, index): Part[] => [
		// The index and its three shapes must be adjacent.
		several ? [`--profile=${index}`] : [],
		...(["min", "opt", "max"] as const).map((which) =>
			shapeList(
				`--${which}Shapes`,
				inputs.map((input) => ({ name: input.name, shape: input[which] })),
			),
		),
	]);
	return several ? [setting("several-profiles", version, "several optimization profiles"), ...parts] : parts;
}

function precisionParts({ precision, typedModel, onnxPath }: BuildArgs, version: TensorRtVersion): Part[] {
	// Since 11, every network is strongly typed: the ONNX file's types are the precision.
	if (version.major < 11 && precision !== "fp4")
		return [setting(precision, version, `precision ${precision}`)];
	if (precision !== "fp32" && precision !== "tf32" && !typedModel)
		return [
			{
				kind: "needs-other-onnx",
				what: "onnx",
				message: `TensorRT ${version.text} takes the precision from the ONNX file's types, but ${onnxPath} is not ${precision}.`,
				fix: `Convert the model to ${precision} (ModelOpt AutoCast for fp16 and bf16, Q/DQ nodes for the others) and name that file in the engine's \`onnx\`.`,
			},
		];
	return [setting("strong-typing", version, "strong typing"), precision === "fp32" ? ["--noTF32"] : []];
}

function calibrationPart(path: string | undefined, version: TensorRtVersion): Part {
	if (path === undefined) return [];
	const part = setting("calibration", version);
	return "kind" in part ? part : flag(part[0] ?? "", path);
}

function pluginPart(plugins: Plugins | undefined): Part {
	const each = (name: string, paths: readonly string[] = []): string[] =>
		paths.map((path) => `${name}=${path}`);
	return [...each("--staticPlugins", plugins?.static), ...each("--dynamicPlugins", plugins?.dynamic)];
}

function extraPart(flags: readonly string[]): Part {
	for (const index of flags.keys()) {
		const fault = flagFault(flags, index);
		if (fault === null) continue;
		const { what, says, fix } = fault;
		return { kind: "refused", what, message: `${JSON.stringify(what)} ${says}.`, fix };
	}
	return flags;
}

function inputsPart(inputs: RunArgs["inputs"] = []): Part {
	const bad = inputs.find(({ name, path }) => unsupportedChars.test(name) || /[,:'\u0000]/.test(path));
	if (bad)
		return {
			kind: "refused",
			what: bad.path,
			message: `trtexec cannot take the file ${JSON.stringify(bad.path)} for the input ${JSON.stringify(bad.name)}: its lists do not allow these names.`,
			fix: "Use names without commas, quotes and asterisks, and paths without commas and colons.",
		};
	const specs = inputs.map(({ name, path }) => `${name}:${path}`);
	return specs.length === 0 ? [] : [`--loadInputs=${specs.join(",")}`];
}

function modeParts(mode: TimingMode, version: TensorRtVersion): Part[] {
	return [
		setting(mode.cudaGraph ? "cuda-graph-on" : "cuda-graph-off", version),
		setting(mode.spinWait ? "spin-wait-on" : "spin-wait-off", version),
		setting(mode.transfers ? "transfers-on" : "transfers-off", version),
	];
}

function buildParts(spec: BuildArgs, version: TensorRtVersion): Part[] {
	const suffix = settingArgs("memory-suffix", version)?.[0] ?? "";
	return [
		[`--onnx=${spec.onnxPath}`, `--saveEngine=${spec.enginePath}`, "--skipInference"],
		...precisionParts(spec, version),
		...profileParts(spec.profiles, version),
		spec.workspaceMiB === undefined ? [] : [`--memPoolSize=workspace:${spec.workspaceMiB}${suffix}`],
		flag("--timingCacheFile", spec.timingCachePath),
		flag("--builderOptimizationLevel", spec.builderOptimizationLevel),
		calibrationPart(spec.calibrationPath, version),
		spec.allowGpuFallback ? ["--allowGPUFallback"] : [],
		spec.detailedLayers ? ["--profilingVerbosity=detailed"] : [],
		flag("--exportLayerInfo", spec.layerInfoPath),
	];
}

function runParts(spec: TimeArgs | InferArgs | ProfileArgs, version: TensorRtVersion): Part[] {
	return [
		[`--loadEngine=${spec.enginePath}`],
		shapeList("--shapes", spec.shapes),
		spec.profileIndex
			? [`${(settingArgs("select-profile", version) ?? ["--useProfile"])[0]}=${spec.profileIndex}`]
			: [],
		inputsPart(spec.inputs),
		...taskParts(spec, version),
	];
}

function taskParts(spec: TimeArgs | InferArgs | ProfileArgs, version: TensorRtVersion): Part[] {
	if (spec.task === "time") {
		return [
			[`--warmUp=${spec.warmUpMs}`, `--duration=${spec.durationMs / 1000}`],
			flag("--iterations", spec.iterations),
			[`--infStreams=${spec.streams}`, "--percentile=50,90,95,99"],
			...modeParts(spec, version),
			[`--exportTimes=${spec.timesPath}`],
		];
	}
	if (spec.task === "profile") {
		return [
			[`--warmUp=${spec.warmUpMs}`, "--duration=0", `--iterations=${spec.iterations}`],
			...modeParts({ cudaGraph: false, spinWait: true, transfers: spec.transfers }, version),
			setting("separate-profile-run", version),
			[
				"--profilingVerbosity=detailed",
				`--exportProfile=${spec.profilePath}`,
				`--exportLayerInfo=${spec.layerInfoPath}`,
			],
		];
	}
	// Exactly one inference up to 11.0, two from 11.1 on; versions before 11.1 crash with 0 iterations.
	// Without transfers some versions dump uninitialised memory.
	return [
		["--warmUp=0", "--duration=0", "--iterations=1", "--avgRuns=1"],
		...modeParts({ cudaGraph: false, spinWait: false, transfers: true }, version),
		["--dumpRawBindingsToFile"],
	];
}

export function buildArgs(spec: ArgsSpec, version: TensorRtVersion): ArgsResult {
	const parts: Part[] = [
		...(spec.task === "build" ? buildParts(spec, version) : runParts(spec, version)),
		pluginPart(spec.plugins),
		flag("--useDLACore", spec.dlaCore),
		[`--device=${spec.device ?? 0}`],
		extraPart(spec.extraFlags ?? []),
	];
	const argv: string[] = [];
	for (const part of parts) {
		if ("kind" in part) return part;
		argv.push(...part);
	}
	return { kind: "argv", argv };
}

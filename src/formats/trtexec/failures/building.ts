// Failures of the builder: the network was parsed, but no engine was built.
import { cudaError, type Facts, type Rule, warning } from "./rule.ts";

// Both spellings of "insufficient" occur in TensorRT.
const noMemoryForTactic =
	/(?:insuff?icient (?:workspace|memory)|sufficient workspace memory|Device memory is insufficient to use tactic)/;
const noImplementation =
	/Could not find any implementation for node (?<layer>\S.*?)(?: due to insufficient workspace.*)?\.?\)?$/;

const buildFailed = /Engine could not be created|Building engine failed|empty engine/;

const gpuMemory = {
	names: ({ log: { device } }: Facts) => ({
		used:
			device.usedMiB && device.memoryMiB ? `: ${device.usedMiB} of ${device.memoryMiB} MiB were in use` : "",
	}),
	title: "The GPU ran out of memory while building the engine{used}.",
	fix: "Check with nvidia-smi what else uses memory on this GPU. Run the build alone, or on a larger GPU.",
};

export const buildingRules: readonly Rule[] = [
	{
		code: "workspace-too-small",
		lines: noImplementation,
		with: warning(noMemoryForTactic),
		title: "No kernel for layer {layer} fits into the workspace limit of this build.",
		fix: "Raise or remove the workspace limit (memPoolSize=workspace), or build on a GPU with more free memory.",
	},
	{
		code: "no-implementation",
		lines: noImplementation,
		title: "TensorRT has no kernel that can run layer {layer} with these build settings.",
		fix: "Try more workspace, another precision for this layer, builder optimization level 5 or a newer TensorRT; otherwise split the layer in the model.",
	},
	{
		code: "compiler-check-failed",
		lines: [/MyelinCheckException/, /myelin.*(?:CHECK|Assertion).*failed/i, /No Myelin Error exists/],
		title:
			"TensorRT's compiler (Myelin) failed an internal check. This is a TensorRT bug that this model triggers.",
		fix: "Build with another TensorRT version or optimization level, or change the part of the model named in the lines below. Report the bug to NVIDIA with the model.",
	},
	{
		code: "io-type-mismatch",
		lines: /Requested (?:input|output) type .* does not match the inferred type/,
		title: "The build sets an input or output type that differs from the type in the strongly typed network.",
		fix: "Remove the type from the I/O formats, or change it in the ONNX file.",
	},
	{
		code: "int8-scales-missing",
		lines: [
			/Calibration failure occurred with no scaling factors/,
			/impossible to read tensor scales/,
			/Can not open provided calibration cache/,
		],
		title:
			"This is an int8 build, but the tensors have no scales: there is no calibration cache, and the model has no Q/DQ nodes.",
		fix: "Export the model with Q/DQ nodes. Calibration is deprecated and was removed in TensorRT 11.",
	},
	{
		code: "dla-layer-unsupported",
		lines: [
			/layer (?<layer>.+?) is not supported on DLA/,
			/(?<layer>\S+) is not supported on DLA,? and falling back to GPU is not enabled/,
		],
		title: "The DLA cannot run {layer: layer}, and GPU fallback is off.",
		fix: "Allow GPU fallback, or change the layer.",
	},
	{
		code: "dla-absent",
		lines: [
			/DLA core on a platform that doesn't have any/i,
			/no DLA (?:cores?|hardware)/i,
			/Cannot create DLA engine/,
		],
		title: "The build requests a DLA core, but this machine has none.",
		fix: "Run this build on a Jetson or DRIVE device, or build for the GPU.",
	},
	{
		code: "timing-cache-miss",
		lines: [/timing cache miss/i, /(?:not found|missing) in (?:the )?timing cache/i],
		title: "The build may only use kernels from the timing cache, and one is missing there.",
		fix: "Create the timing cache again with this TensorRT version, GPU and model, or allow new timings.",
	},
	{
		code: "gpu-memory-build",
		kind: "runner",
		lines: [
			/Error Code 2: OutOfMemory/,
			/Requested amount of GPU memory .* could not be allocated/,
			cudaError("out of memory"),
		],
		with: buildFailed,
		...gpuMemory,
	},
	{
		code: "gpu-memory-build",
		kind: "runner",
		// TensorRT gives no reason here, but a build that runs out of memory leaves less than 1 % of the GPU free.
		lines: /Error Code 1: (?:Cask|Cuda Runtime)\b/,
		with: buildFailed,
		when: ({ log: { device } }) =>
			device.memoryMiB !== null && device.usedMiB !== null && device.usedMiB >= 0.99 * device.memoryMiB,
		...gpuMemory,
	},
	{
		code: "conditional-shapes",
		lines: /Assertion tScope\.getType\(\) != ScopeType::kUNDEFINED failed/,
		with: buildFailed,
		title:
			"TensorRT cannot build an If of this model. This happens when its two branches have different ranks.",
		fix: "Export without the If (constant-fold its condition), or make both branches produce the same rank. `trtgate preflight --tensorrt VERSION` names the nodes.",
	},
	{
		code: "dims-conflict",
		lines: /\((?<dim>[^()]*?): Input dimensions with this name have different constant values/,
		title:
			'Input axes share the name "{dim}" in the ONNX file but have different sizes in the optimization profile.',
		fix: "Give the axes different names in the ONNX file (dim_param), or the same sizes.",
	},
	{
		code: "build-failed",
		rank: "fallback",
		lines: [/Engine could not be created from network/, /Building engine failed/],
		title: "TensorRT failed to build the engine for an unknown reason.",
		fix: "Read the error lines below. The saved log ends with the builder's last verbose lines, which name the layer where it stopped.",
	},
];

export const int8Uncalibrated: Rule = {
	code: "int8-uncalibrated",
	lines: warning(/Calibrator is not being used\. Users must provide dynamic range/),
	when: (facts) => facts.flags.has("--int8") || facts.flags.has("--best") || facts.argumentCount === null,
	title:
		"The engine was built as int8 without calibration and without Q/DQ nodes: trtexec used made-up ranges, so its outputs are meaningless.",
	fix: "Build from an ONNX file with Q/DQ nodes, or remove int8 (and --best).",
};

export const precisionIgnored: Rule = {
	code: "precision-ignored",
	lines: warning(/setting (?<precision>\w+) mode is not allowed if graph is strongly typed/),
	title:
		"trtexec ignored the requested precision {precision}: in a strongly typed network only the ONNX file's types decide the precision.",
	fix: "Build without strong typing, or convert the ONNX file to this precision.",
};

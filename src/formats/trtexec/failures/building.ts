// Failures of building an engine, and of its file.

import { cudaError, type Facts, type Rule, type Rules, warning } from "./rule.ts";

const noImplementation =
	/Could not find any implementation for node (?<layer>\S.*?)(?: due to insufficient workspace.*)?\.?\)?$/;
const buildFailed = /Engine could not be created|Building engine failed|empty engine/;

const gpuMemory = {
	kind: "runner",
	with: buildFailed,
	names: ({ log: { device } }: Facts) => ({
		used:
			device.usedMiB && device.memoryMiB ? `: ${device.usedMiB} of ${device.memoryMiB} MiB were in use` : "",
	}),
	title: "The GPU ran out of memory while building the engine{used}.",
	fix: "Check with nvidia-smi what else uses this GPU. Run the build alone, or on a larger GPU.",
} as const;

export const buildingRules: Rules = {
	"workspace-too-small": {
		lines: noImplementation,
		// Both spellings of "insufficient" occur in TensorRT.
		with: warning(
			/(?:insuff?icient (?:workspace|memory)|sufficient workspace memory|Device memory is insufficient to use tactic)/,
		),
		title: "No kernel for layer {layer} fits into the workspace limit of this build.",
		fix: "Raise or remove the workspace limit (memPoolSize=workspace), or build on a GPU with more free memory.",
	},
	"no-implementation": {
		lines: noImplementation,
		title: "TensorRT has no kernel that can run layer {layer} with these build settings.",
		fix: "Try more workspace, another precision, optimization level 5 or a newer TensorRT; otherwise split the layer.",
	},
	"compiler-check-failed": {
		lines: [/MyelinCheckException/, /myelin.*(?:CHECK|Assertion).*failed/i, /No Myelin Error exists/],
		title: "TensorRT's compiler (Myelin) failed an internal check: a TensorRT bug that this model triggers.",
		fix: "Build with another TensorRT or optimization level, or change the part of the model named below. Report it to NVIDIA.",
	},
	"io-type-mismatch": {
		lines: /Requested (?:input|output) type .* does not match the inferred type/,
		title: "The build sets an input or output type that differs from the strongly typed network's.",
		fix: "Remove the type from the I/O formats, or change it in the ONNX file.",
	},
	"int8-scales-missing": {
		lines: [
			/Calibration failure occurred with no scaling factors/,
			/impossible to read tensor scales/,
			/Can not open provided calibration cache/,
		],
		title: "This int8 build has no scales: neither a calibration cache nor Q/DQ nodes.",
		fix: "Export the model with Q/DQ nodes. Calibration is deprecated and was removed in TensorRT 11.",
	},
	"dla-layer-unsupported": {
		lines: [
			/layer (?<layer>.+?) is not supported on DLA/,
			/(?<layer>\S+) is not supported on DLA,? and falling back to GPU is not enabled/,
		],
		title: "The DLA cannot run {layer: layer}, and GPU fallback is off.",
		fix: "Allow GPU fallback, or change the layer.",
	},
	"dla-absent": {
		lines: [
			/DLA core on a platform that doesn't have any/i,
			/no DLA (?:cores?|hardware)/i,
			/Cannot create DLA engine/,
		],
		title: "The build requests a DLA core, but this machine has none.",
		fix: "Run this build on a Jetson or DRIVE device, or build for the GPU.",
	},
	"timing-cache-miss": {
		lines: [/timing cache miss/i, /(?:not found|missing) in (?:the )?timing cache/i],
		title: "The build may only use kernels from the timing cache, and one is missing there.",
		fix: "Create the timing cache again with this TensorRT version, GPU and model, or allow new timings.",
	},
	"gpu-memory-build": [
		{
			lines: [
				/Error Code 2: OutOfMemory/,
				/Requested amount of GPU memory .* could not be allocated/,
				cudaError("out of memory"),
			],
			...gpuMemory,
		},
		{
			// TensorRT gives no reason here, but a build that runs out of memory leaves less than 1 % of the GPU free.
			lines: /Error Code 1: (?:Cask|Cuda Runtime)\b/,
			when: ({ log: { device } }) =>
				device.memoryMiB !== null && device.usedMiB !== null && device.usedMiB >= 0.99 * device.memoryMiB,
			...gpuMemory,
		},
	],
	"dims-conflict": {
		lines: /\((?<dim>[^()]*?): Input dimensions with this name have different constant values/,
		title: 'Input axes share the name "{dim}" but have different sizes in the optimization profile.',
		fix: "Give the axes different names in the ONNX file (dim_param), or the same sizes.",
	},
	"build-failed": {
		rank: "fallback",
		lines: [/Engine could not be created from network/, /Building engine failed/, /access an empty engine/],
		title: "TensorRT failed to build the engine for an unknown reason.",
		fix: "Read the lines below. The saved log ends with verbose lines that name the layer where it stopped.",
	},
};

export const planRefused: Rule = {
	lines: [/Engine deserialization failed/, /Got invalid engine/],
	title: "TensorRT could not load the {engine: plan} for an unknown reason.",
	fix: "Read the lines below. Build it again with the TensorRT and GPU that run it.",
};

export const planRules: Rules = {
	"disk-full": {
		kind: "runner",
		lines: [/No space left on device/, /ENOSPC/],
		title: "The disk is full.",
		fix: "Free space (df -h): old engines, containers and timing caches usually fill it.",
	},
	"save-failed": {
		kind: "runner",
		lines: [
			/Saving engine to file failed/,
			/Cannot write to FileStreamWriter/,
			/Failed to open engine file for reading/,
		],
		title: "The engine file {saved} could not be written.",
		fix: "Check that the folder exists and is writable, and that the disk has space.",
	},
	"plan-file-missing": {
		lines: [/Error opening engine file: (?<file>.*)$/, /Could not open engine file:? (?<file>.*)$/i],
		title: "The engine file {file} does not exist or cannot be opened.",
		fix: "Check the path, and that the build step saved the engine.",
	},
	"plan-file-empty": {
		lines: [
			/Failed to read header from the stream: read 0 out of/,
			/(?:serialized|engine) (?:data|blob|file) (?:is|was) empty/i,
		],
		title: "The {engine file: plan} is empty.",
		fix: "Build the engine again. A failed build leaves a file of 0 bytes: check its log too.",
	},
	"plan-truncated": {
		lines:
			/Failed to read (?:memory|header|data) from the stream: read (?<got>[1-9]\d*) out of (?<want>\d+) bytes/,
		title: "The {engine file: plan} is truncated: TensorRT could read only {got} of {want} bytes.",
		fix: "A copy, cache or upload cut it off. Fetch or build it again, and compare its hash.",
	},
	"plan-other-version": {
		lines: [
			/engine plan file is not compatible with this version of TensorRT/,
			/Version tag does not match/,
			/incompatible serialization version/,
		],
		title: "The {engine file: plan} was built with another version of TensorRT.",
		fix: "Build it again with the version that runs it. Check that Python and trtexec use the same version.",
	},
	"plan-other-gpu": {
		lines: [
			/generated on an incompatible device, expecting compute (?<want>[\d.]+) got compute (?<got>[\d.]+)/,
			/generated on an incompatible device/,
		],
		title:
			"The engine was built for another GPU (compute capability {got|unknown}; this GPU has {want|another}).",
		fix: "Build it on this GPU model, or with --hardwareCompatibilityLevel if it must run on several.",
	},
	"plan-not-a-plan": {
		lines: [/[Mm]agic ?[Tt]ag does not match/, /magicTag(?:Read)? ?==/, /Failed to verify a plan tag/],
		title: "The {file: plan} is not a TensorRT plan.",
		fix: "Check what is there: another file, a Git LFS pointer or a plan from another operating system.",
	},
	"plan-plugin-missing": {
		lines: /Cannot deserialize plugin since corresponding IPluginCreator not found/,
		title: "The engine needs a plugin that was not loaded.",
		fix: "Load the same plugin libraries that the build used.",
	},
	"plan-refused": { ...planRefused, rank: "fallback" },
};

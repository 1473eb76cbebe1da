// Failures of the builder: the network was understood, and no engine came of it.
import { cudaError, error, type Facts, type Names, named, type Rule, warning } from "./rule.ts";

// Both spellings of "insufficient" occur in TensorRT.
const noMemoryForTactic = /(?:insuff?icient (?:workspace|memory)|sufficient workspace memory|Device memory is insufficient to use tactic)/;
const noImplementation = /Could not find any implementation for node (?<layer>\S.*?)(?: due to insufficient workspace.*)?\.?\)?$/;

const buildFailed = error(/Engine could not be created|Building engine failed|empty engine/);

const gpuMemory = {
	names: (facts: Facts): Names => ({ used: String(facts.log.device.usedMiB ?? ""), total: String(facts.log.device.memoryMiB ?? "") }),
	title: ({ used, total }: Names): string =>
		`The GPU ran out of memory while the engine was built${used && total ? `: ${used} of ${total} MiB were taken` : ""}.`,
	fix: "See with nvidia-smi what else holds memory on this GPU; run the build alone, or on a larger GPU.",
};

export const buildingRules: readonly Rule[] = [
	{
		code: "workspace-too-small",
		kind: "refusal",
		rank: "cause",
		lines: [error(noImplementation)],
		with: [{ level: "warning", pattern: noMemoryForTactic }],
		title: (names) => `No kernel for layer ${names["layer"] ?? ""} fits into the workspace that the build was allowed.`,
		fix: "Raise or remove the workspace limit (memPoolSize=workspace), or build on a GPU with more free memory.",
	},
	{
		code: "no-implementation",
		kind: "refusal",
		rank: "cause",
		lines: [error(noImplementation)],
		title: (names) => `TensorRT has no kernel that can run layer ${names["layer"] ?? ""} as asked.`,
		fix: "Try more workspace, another precision for this layer or builder optimization level 5; a newer TensorRT may have one, or split the layer in the model.",
	},
	{
		code: "compiler-check-failed",
		kind: "refusal",
		rank: "cause",
		lines: [error(/MyelinCheckException/), error(/myelin.*(?:CHECK|Assertion).*failed/i), error(/No Myelin Error exists/)],
		title: () => "TensorRT's compiler (Myelin) failed on an inner check: a defect of TensorRT's, met by this model.",
		fix: "Build with another TensorRT version or optimization level, or change the part of the model that the lines below name; report it to NVIDIA with the model.",
	},
	{
		code: "io-type-mismatch",
		kind: "refusal",
		rank: "cause",
		lines: [error(/Requested (?:input|output) type .* does not match the inferred type/)],
		title: () => "The build asks for an input or output type that a strongly typed network does not have.",
		fix: "Take the type out of the I/O formats, or change it in the ONNX file.",
	},
	{
		code: "int8-scales-missing",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(/Calibration failure occurred with no scaling factors/),
			error(/impossible to read tensor scales/),
			error(/Can not open provided calibration cache/),
		],
		title: () => "The build is int8, and the tensors have no scales: there is no calibration and no Q/DQ in the model.",
		fix: "Export the model with Q/DQ nodes; calibration is deprecated, and gone in TensorRT 11.",
	},
	{
		code: "dla-layer-unsupported",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(/layer (?<layer>.+?) is not supported on DLA/),
			error(/(?<layer>\S+) is not supported on DLA,? and falling back to GPU is not enabled/),
		],
		title: (names) => `The DLA cannot run ${named("layer", names["layer"])}, and falling back to the GPU is off.`,
		fix: "Allow the GPU fallback, or change the layer.",
	},
	{
		code: "dla-absent",
		kind: "refusal",
		rank: "cause",
		lines: [
			error(/DLA core on a platform that doesn't have any/i),
			error(/no DLA (?:cores?|hardware)/i),
			error(/Cannot create DLA engine/),
		],
		title: () => "The build asks for a DLA core, and this machine has none.",
		fix: "Run this build on a Jetson or DRIVE machine, or build for the GPU.",
	},
	{
		code: "timing-cache-miss",
		kind: "refusal",
		rank: "cause",
		lines: [error(/timing cache miss/i), error(/(?:not found|missing) in (?:the )?timing cache/i)],
		title: () => "The build was told to fail where the timing cache lacks a kernel, and it lacks one.",
		fix: "Make the timing cache again with this TensorRT version, GPU and model, or allow new timings.",
	},
	{
		code: "gpu-memory-build",
		kind: "runner",
		rank: "cause",
		lines: [
			error(/Error Code 2: OutOfMemory/),
			error(/Requested amount of GPU memory .* could not be allocated/),
			cudaError("out of memory"),
		],
		with: [buildFailed],
		...gpuMemory,
	},
	{
		code: "gpu-memory-build",
		kind: "runner",
		rank: "cause",
		// TensorRT gives no reason here; that the GPU was full says it. A build that fails so leaves less than 1 % free.
		lines: [error(/Error Code 1: (?:Cask|Cuda Runtime)\b/)],
		with: [buildFailed],
		when: ({ log: { device } }) => device.memoryMiB !== null && device.usedMiB !== null && device.usedMiB >= 0.99 * device.memoryMiB,
		...gpuMemory,
	},
	{
		code: "build-failed",
		kind: "refusal",
		rank: "last-word",
		lines: [error(/Engine could not be created from network/), error(/Building engine failed/)],
		title: () => "TensorRT built no engine, for a reason that this program does not know.",
		fix: "Read the error lines below; run the build again with --verbose to see the layer at which it stopped.",
	},
];

/** Engines that build and run, and compute something else than was asked for. */
export const int8Uncalibrated: Rule = {
	code: "int8-uncalibrated",
	kind: "refusal",
	rank: "cause",
	lines: [warning(/Calibrator is not being used\. Users must provide dynamic range/)],
	when: (facts) => facts.flags.has("--int8") || facts.flags.has("--best") || facts.argumentCount === null,
	title: () =>
		"The engine was built as int8 without calibration and without Q/DQ: trtexec made the ranges up, so its answers mean nothing.",
	fix: "Build from an ONNX file with Q/DQ nodes, or leave int8 (and --best) out.",
};

export const precisionIgnored: Rule = {
	code: "precision-ignored",
	kind: "refusal",
	rank: "cause",
	lines: [warning(/setting (?<precision>\w+) mode is not allowed if graph is strongly typed/)],
	title: (names) =>
		`${names["precision"] ?? "A precision"} was asked for and dropped: in a strongly typed network the ONNX file alone decides the precision.`,
	fix: "Build without strong typing, or give an ONNX file that has this precision in its types.",
};

// Failures of the machine: GPU, driver, libraries, programs.
import { cudaError, info, ofRunner, type Rule } from "./rule.ts";

const missingLibrary =
	"(?:Unable to (?:load|open) library|Could not load library|error while loading shared libraries):? ";

const libraryRules: readonly Rule[] = ofRunner([
	{
		code: "builder-resource-missing",
		lines: [new RegExp(`${missingLibrary}(?<library>\\S*nvinfer_builder_resource\\S*?):? `)],
		title:
			"TensorRT's builder library for this GPU ({library|libnvinfer_builder_resource}) is missing, so no engine can be built here.",
		fix: "Install the complete TensorRT package of this version. Slim containers omit the builder resources.",
	},
	{
		code: "lean-runtime-missing",
		lines: [new RegExp(`${missingLibrary}(?<library>\\S*nvinfer_(?:lean|dispatch)\\S*?):? `)],
		title: "A version-compatible engine needs {library|libnvinfer_lean}, which is not installed.",
		fix: "Install TensorRT's lean and dispatch runtimes, or build without --versionCompatible.",
	},
	{
		code: "parser-library-missing",
		lines: [
			new RegExp(`${missingLibrary}(?<library>\\S*nvonnxparser\\S*?):? `),
			/parser\.onnxParser != nullptr/,
		],
		title: "TensorRT's ONNX parser ({library|libnvonnxparser}) is not installed or not on the library path.",
		fix: "Install the parser of the same TensorRT version (libnvonnxparsers), and check LD_LIBRARY_PATH.",
	},
	{
		code: "plugin-library-missing",
		kind: "refusal",
		lines: [
			new RegExp(`loadLibrary: .*${missingLibrary}(?<library>[^:\\s]+)`),
			/[Cc]ould not load plugin library:? (?<library>[^,\s]+)/,
		],
		title: "The plugin library {library} cannot be loaded.",
		fix: "Check the path, and that the library was built for this TensorRT version and system (ldd shows missing dependencies).",
	},
	{
		code: "library-missing",
		rank: "symptom",
		lines: [new RegExp(`${missingLibrary}(?<library>[^:\\s]+)`), /cannot open shared object file/],
		title: "The library {library} is missing or cannot be loaded.",
		fix: "Install a complete TensorRT of one version with its CUDA libraries, and check LD_LIBRARY_PATH.",
	},
	{
		code: "kernel-library-invalid",
		lines: [/Klib \d+ failed validation/, /validateCaskKLib/, /createCaskKernelLibrary/],
		title:
			"TensorRT's kernel library for this GPU is damaged or belongs to another version, so no engine can be built here.",
		fix: "Reinstall TensorRT as one package. Do not mix libraries of two versions.",
	},
	{
		code: "builder-creation-failed",
		rank: "symptom",
		lines: /Builder creation failed/,
		title: "TensorRT's builder could not be started.",
		fix: "Check the TensorRT installation, the driver and the GPU with `trtgate doctor`.",
	},
]);

const gpuRules: readonly Rule[] = ofRunner([
	{
		code: "no-gpu",
		lines: [
			cudaError("no CUDA-capable device"),
			/Cannot find any available devices/,
			info(/Cannot find any available devices/),
			/CUDA initialization failure with error:? 100\b/,
		],
		title: "This job sees no GPU.",
		fix: "Check the runner's labels, the container's `--gpus all` and CUDA_VISIBLE_DEVICES. nvidia-smi -L must list a GPU.",
	},
	{
		code: "driver-too-old",
		lines: [
			/CUDA driver version is insufficient/,
			/CUDA initialization failure with error:? 35\b/,
			/provided PTX was compiled with an unsupported toolchain/,
		],
		title: "The GPU driver is too old for the CUDA version of this TensorRT.",
		fix: "Update the driver, or use a TensorRT (container) built for the CUDA version that nvidia-smi shows.",
	},
	{
		code: "device-index-unknown",
		lines: [
			info(/Cannot find device ID (?<index>\d+)/),
			/Cannot find device ID (?<index>\d+)/,
			cudaError("invalid device ordinal"),
		],
		title: (names) =>
			`The machine has no GPU with ${names["index"] ? `index ${names["index"]}` : "the requested index"}.`,
		fix: "List the GPUs that the job sees (nvidia-smi -L, CUDA_VISIBLE_DEVICES) and choose one of them.",
	},
	{
		code: "gpu-lost",
		lines: [
			cudaError(
				"(?:.*device is lost|GPU is lost|uncorrectable ECC|.*all CUDA-capable devices are busy|system not yet initialized|unknown error|.*hardware)",
			),
			/CUDA initialization failure with error:? (?:802|999)\b/,
		],
		title: "The GPU failed, was removed or is not ready.",
		fix: "Look for Xid errors in dmesg, and check nvidia-smi. Take the machine out of the pool until the GPU is reset.",
	},
	{
		code: "gpu-fault",
		lines: cudaError(
			"(?:an )?(?:illegal (?:memory access|instruction)|unspecified launch failure|misaligned address|.*launch timed out)",
		),
		title: "A kernel crashed on the GPU.",
		fix: "Run again. If it keeps crashing, a plugin or TensorRT itself accesses invalid memory: try compute-sanitizer and another TensorRT version.",
	},
	{
		code: "cuda-error",
		rank: "symptom",
		lines: [
			/Cuda failure[^:]*(?::\d+)?: ?(?<error>[^\d:].*)$/,
			/Cuda Runtime \((?<error>[^)]*)\)/,
			/CUDA initialization failure with error:? (?<error>\d+)/,
		],
		title: "CUDA failed: {error|no reason given}.",
		fix: "Check the driver, the GPU and what else runs on it, then run again.",
	},
]);

export const startRules: readonly Rule[] = ofRunner([
	{
		code: "program-not-allowed",
		when: (facts) => facts.exitCode === 126 || /EACCES|permission denied/i.test(facts.spawnError ?? ""),
		title: "There is no permission to execute the program.",
		fix: "Check its permissions (chmod +x) and that its disk is not mounted noexec.",
	},
	{
		code: "program-missing",
		when: (facts) => facts.spawnError !== null || (facts.exitCode === 127 && facts.log.lineCount === 0),
		title: "The program could not be started because it does not exist.",
		fix: "Install TensorRT with trtexec (the pip wheels do not contain it) and put it on the PATH, or give its full path.",
	},
]);

const shellMissing: Rule = {
	code: "program-missing",
	kind: "runner",
	lines: /^[^[]*: (?:command )?not found\s*$/,
	when: (facts) => facts.exitCode === 127,
	title: "The shell did not find the program.",
	fix: "Install TensorRT with trtexec (the pip wheels do not contain it) and put it on the PATH, or give its full path.",
};

export const machineRules: readonly Rule[] = [shellMissing, ...libraryRules, ...gpuRules];

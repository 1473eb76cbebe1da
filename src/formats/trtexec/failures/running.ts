// Failures of the command line, of running an engine, and of the machine.
import { programMissing } from "./ends.ts";
import { cudaError, info, type Rules } from "./rule.ts";

export const flagRules: Rules = {
	"precision-flag-removed": {
		lines:
			/Unknown option: --(?<flag>fp16|bf16|int8|fp8|int4|best|calib|precisionConstraints|layerPrecisions|layerOutputTypes|weightless|restricted)\b/,
		when: ({ log }) => (log.version?.major ?? 11) >= 11,
		title: "TensorRT 11 removed --{flag}: the types in the ONNX file decide the precision.",
		fix: "Convert the model (ModelOpt AutoCast for fp16 and bf16, Q/DQ for the others) and build from that file.",
	},
	"flag-unknown": {
		lines: /Unknown option: (?<flag>\S+)/,
		title: "This trtexec does not accept {flag}: it is unknown or given twice.",
		fix: "Check its spelling and that this TensorRT has it. Join flag and value with `=`.",
	},
	"io-format-invalid": {
		lines: /Invalid (?:DataType|TensorFormat) (?<value>.+)$/,
		title: 'This trtexec does not know the input or output format "{value}".',
		fix: "Use type:format up to TensorRT 10 (fp16:chw), and only the format from TensorRT 11 on (chw).",
	},
	"flag-value-invalid": [
		{
			lines: [
				/(?<why>Negative memory pool size.*)$/,
				/\[E\] (?<why>.*is ?not in \[\d+,\s*\d+\].*)$/,
				/(?:\[E\]|Uncaught exception detected:) (?<why>sto(?:i|f|d|ul|l))\s*$/,
			],
			title: "A trtexec flag has an invalid value: {why}.",
			fix: "Correct the config or the extra flags. `stoi` and `stof` mean that it is not a number.",
		},
		{
			rank: "symptom",
			lines: /\[E\] (?<why>.+)$/,
			// trtexec prints its whole help before it complains about a flag, and only then.
			when: ({ log }) => log.printedHelp,
			title: "trtexec rejected its command line: {why}.",
			fix: "Correct the config or the extra flags. `trtexec --help` lists what this version accepts.",
		},
	],
	"model-not-given": {
		lines: /Model missing or format not recognized/,
		title: "trtexec was given neither a model nor an engine.",
		fix: "Pass --onnx=FILE or --loadEngine=FILE, joined with `=`.",
	},
};

const gpuMemory = {
	kind: "runner",
	title: "The GPU had too little free memory to run the engine.",
	fix: "Check with nvidia-smi what else uses this GPU. Run alone, with smaller shapes, or on a larger GPU.",
} as const;

export const inferenceRules: Rules = {
	"input-name-unknown": {
		lines: [
			/Cannot find input tensor with name "(?<input>[^"]*)" in the engine bindings/,
			/Invalid tensor names found in --loadInputs/,
		],
		title: "Values were given for {input: input}, but the engine has no such input.",
		fix: "Use the model's input name in the golden manifest; `trtgate preflight MODEL` lists the inputs.",
	},
	"input-file-missing": {
		lines: /Cannot open file (?<file>.+?)!?$/,
		title: "The input file {file} cannot be opened.",
		fix: "Check the path, and that the golden's files were fetched (Git LFS).",
	},
	"input-file-size": {
		lines: [
			/Unexpected file size for input file: (?<file>.+?)\. Note: Input binding size is: (?<want>\d+) bytes but the file size is (?<got>\d+) bytes/,
			/Unexpected file size for input file/,
		],
		title:
			"The input file {file} has {got|the wrong number of} bytes; the engine's input takes {want|others}.",
		fix: "Provide the input in the engine's type and in the shape of this run.",
	},
	"accuracy-failed": {
		lines: /Accuracy validation FAILED/,
		title: "trtexec's own accuracy check failed: an output differs from its reference beyond the threshold.",
		fix: "Rely on trtgate's goldens instead: trtexec's check lets NaN pass and supports few types.",
	},
	"gpu-memory-run": [
		{ lines: [cudaError("out of memory"), /Error Code 2: OutOfMemory/], ...gpuMemory },
		{ rank: "symptom", lines: /Unable to create execution context/, ...gpuMemory },
	],
	"inference-failed": {
		rank: "fallback",
		lines: [/Error occurred during inference/, /Inference set up failed/],
		title: "The engine was loaded but could not be run, for an unknown reason.",
		fix: "Read the error lines below. Check shapes, input files and free GPU memory.",
	},
};

const missingLibrary =
	"(?:Unable to (?:load|open) library|Could not load library|error while loading shared libraries):? ";
const missing = (library: string) => new RegExp(`${missingLibrary}(?<library>\\S*${library}\\S*?):? `);

export const machineRules: Rules = {
	"program-missing": {
		...programMissing,
		lines: /^[^[]*: (?:command )?not found\s*$/,
		when: ({ exitCode }) => exitCode === 127,
	},
	"builder-resource-missing": {
		lines: missing("nvinfer_builder_resource"),
		title: "TensorRT's builder library for this GPU ({library}) is missing, so no engine can be built here.",
		fix: "Install the complete TensorRT package of this version. Slim containers omit the builder resources.",
	},
	"lean-runtime-missing": {
		lines: missing("nvinfer_(?:lean|dispatch)"),
		title: "A version-compatible engine needs {library}, which is not installed.",
		fix: "Install TensorRT's lean and dispatch runtimes, or build without --versionCompatible.",
	},
	"parser-library-missing": {
		lines: [missing("nvonnxparser"), /parser\.onnxParser != nullptr/],
		title: "TensorRT's ONNX parser ({library|libnvonnxparser}) is not installed or not on the library path.",
		fix: "Install the parser of the same TensorRT version (libnvonnxparsers), and check LD_LIBRARY_PATH.",
	},
	"plugin-library-missing": {
		kind: "refusal",
		lines: [
			new RegExp(`loadLibrary: .*${missingLibrary}(?<library>[^:\\s]+)`),
			/[Cc]ould not load plugin library:? (?<library>[^,\s]+)/,
			/symbol lookup error: (?<library>(?!\S*libnv)[^:\s]+): undefined symbol/,
		],
		title: "The plugin library {library} cannot be loaded.",
		fix: "Check the path, and that it was built for and linked with this TensorRT (`ldd -r` shows what is missing).",
	},
	"library-missing": {
		rank: "symptom",
		lines: [
			new RegExp(`${missingLibrary}(?<library>[^:\\s]+)`),
			/cannot open shared object file/,
			/symbol lookup error: (?<library>[^:\s]+): undefined symbol/,
		],
		title: "The library {library} is missing or cannot be loaded.",
		fix: "Install a complete TensorRT of one version with its CUDA libraries, and name their folder in LD_LIBRARY_PATH or the config's `libraries`.",
	},
	"kernel-library-invalid": {
		lines: [/Klib \d+ failed validation/, /validateCaskKLib/, /createCaskKernelLibrary/],
		title: "TensorRT's kernel library for this GPU is damaged or of another version: no engine can be built.",
		fix: "Reinstall TensorRT as one package. Do not mix libraries of two versions.",
	},
	"builder-creation-failed": {
		rank: "symptom",
		lines: /Builder creation failed/,
		title: "TensorRT's builder could not be started.",
		fix: "Check the TensorRT installation, the driver and the GPU with `trtgate doctor`.",
	},
	"no-gpu": {
		lines: [
			cudaError("no CUDA-capable device"),
			/Cannot find any available devices/,
			info(/Cannot find any available devices/),
			/CUDA initialization failure with error:? 100\b/,
		],
		title: "This job sees no GPU.",
		fix: "Check the runner's labels, the container's `--gpus all` and CUDA_VISIBLE_DEVICES. nvidia-smi -L must list a GPU.",
	},
	"driver-too-old": {
		lines: [
			/CUDA driver version is insufficient/,
			/CUDA initialization failure with error:? 35\b/,
			/provided PTX was compiled with an unsupported toolchain/,
		],
		title: "The GPU driver is too old for the CUDA version of this TensorRT.",
		fix: "Update the driver, or use a TensorRT built for the CUDA version that nvidia-smi shows.",
	},
	"device-index-unknown": {
		lines: [
			info(/Cannot find device ID (?<index>\d+)/),
			/Cannot find device ID (?<index>\d+)/,
			cudaError("invalid device ordinal"),
		],
		title: "This machine has no GPU with index {index|as requested}.",
		fix: "List the GPUs that the job sees (nvidia-smi -L, CUDA_VISIBLE_DEVICES) and choose one of them.",
	},
	"gpu-lost": {
		lines: [
			cudaError(
				"(?:.*device is lost|GPU is lost|uncorrectable ECC|.*all CUDA-capable devices are busy|system not yet initialized|unknown error|.*hardware)",
			),
			/CUDA initialization failure with error:? (?:802|999)\b/,
		],
		title: "The GPU failed, was removed or is not ready.",
		fix: "Look for Xid errors in dmesg. Take the machine out of the pool until the GPU is reset.",
	},
	"gpu-fault": {
		lines: cudaError(
			"(?:an )?(?:illegal (?:memory access|instruction)|unspecified launch failure|misaligned address|.*launch timed out)",
		),
		title: "A kernel crashed on the GPU.",
		fix: "Run again. If it keeps crashing, suspect a plugin, then TensorRT: try another version.",
	},
	"cuda-error": {
		rank: "symptom",
		lines: [
			/Cuda failure[^:]*(?::\d+)?: ?(?<error>[^\d:].*)$/,
			/Cuda Runtime \((?<error>[^)]*)\)/,
			/CUDA initialization failure with error:? (?<error>\d+)/,
		],
		title: "CUDA failed: {error|no reason given}.",
		fix: "Check the driver, the GPU and what else runs on it, then run again.",
	},
};

// All options of all commands. The parser, `--help` and docs/commands.md read these tables.
import { defaultGates } from "../../core/config/defaults.ts";
import type { CommandTable } from "./arguments.ts";

export const json = { does: "Print JSON." } as const;
export const onnxruntime = { value: "auto|wasm|native", does: "ONNX Runtime build that runs the models." } as const;

const shape = { value: "INPUT=SIZE,…", does: "Whole shape of an input, for axes without a name of their own.", again: true } as const;

export const demoTable = {
	name: "demo",
	positionals: [],
	does: "runs the whole gate on examples that ship with trtgate",
	options: {
		recorded: {
			does: "Only replay the recording of TensorRT on an NVIDIA H200.",
			otherwise: "then four small networks, live on ONNX Runtime",
		},
		out: { value: "DIR", does: "Folder for the reports.", default: "trtgate-demo" },
		json,
	},
	example: "trtgate demo --recorded",
} as const satisfies CommandTable;

export const runTable = {
	name: "run",
	positionals: [],
	does: "runs the gate: builds, checks and times the head, and compares it with the base",
	options: {
		config: { value: "FILE", does: "Config file.", otherwise: "trtgate.yml in --head, else in the current folder" },
		base: { value: "DIR|REF", does: "Folder or git ref to compare with.", otherwise: "the config's `baseline`, else none" },
		head: { value: "DIR|REF", does: "Folder or git ref to check.", otherwise: "the current folder" },
		only: {
			value: "MODEL[/ENGINE]",
			does: "Check only these models or engines, separated by commas; * matches anything.",
			otherwise: "all",
			again: true,
		},
		backend: { value: "auto|tensorrt|onnxruntime", does: "Backend that runs the models.", otherwise: "the config's" },
		onnxruntime: { ...onnxruntime, otherwise: "the config's" },
		device: { value: "GPU", does: "Index or UUID of the GPU.", otherwise: "the config's" },
		trtexec: { value: "PATH", does: "Path of trtexec.", otherwise: "found on PATH or in the usual folders" },
		seed: {
			value: "TEXT",
			does: "Seed for the order of the timed runs.",
			otherwise: "derived from the head's commit and the config's path",
		},
		out: { value: "DIR", does: "Folder for results, reports and logs.", default: "trtgate-out" },
		fresh: { does: "Take nothing over from earlier runs: no engine, kernel timing or golden verdict." },
		"dry-run": { does: "Print the plan without running it." },
		json,
	},
	example: "trtgate run --base origin/main --only resnet50/fp16",
} as const satisfies CommandTable;

export const preflightTable = {
	name: "preflight",
	positionals: ["MODEL"],
	does: "checks an ONNX file and lists what prevents building or running it",
	options: {
		dims: { value: "NAME=SIZE", does: "Sizes of symbolic dimensions to check the model with, separated by commas.", again: true },
		shape,
		tensorrt: { value: "VERSION", does: "Check for this version of TensorRT.", otherwise: "checks for ONNX Runtime" },
		json,
	},
	example: "trtgate preflight models/resnet50.onnx --tensorrt 10.6",
} as const satisfies CommandTable;

export const recordTable = {
	name: "golden record",
	positionals: ["MODEL.onnx"],
	usage: "MODEL.onnx --out DIR | --model NAME",
	does: "records the outputs of ONNX Runtime in fp32 as a golden",
	options: {
		out: { value: "DIR", does: "Folder of the golden.", otherwise: "with --model, the config's or golden/NAME; else required" },
		model: { value: "NAME", does: "Use the model, sizes and folder of this model in the config." },
		config: { value: "FILE", does: "Config file that defines --model.", default: "trtgate.yml" },
		inputs: { value: "PATH", does: "Real inputs: a file or a folder of cases.", otherwise: "generated", again: true },
		generator: { value: "INPUT=KIND", does: "Generator for an input's values.", otherwise: "chosen for each input", again: true },
		cases: { value: "N", does: "Number of cases to generate.", default: "8" },
		dims: {
			value: "NAME=SIZE",
			does: "Sizes of symbolic dimensions, separated by commas.",
			otherwise: "the config's `opt`, else tried out",
			again: true,
		},
		shape: { ...shape, otherwise: "the config's, else tried out" },
		preprocess: {
			value: "FILE",
			does: "How to convert pictures, sound, bytes and text in --inputs to tensors.",
			otherwise: "derived from the input's layout and size",
		},
		"non-finite": { value: "OUTPUT", does: "Output that may contain NaN and infinite values.", otherwise: "none", again: true },
		seed: { value: "N", does: "Seed for generators and for the order of defects.", default: "1" },
		reason: { value: "TEXT", does: "Why the golden changes; required to change an existing one." },
		author: {
			value: "NAME",
			does: "Who changes the golden; required to change an existing one.",
			otherwise: "git's user.name and user.email",
		},
		propose: { does: "Propose new limits.", otherwise: "keeps the limits of an existing golden" },
		onnxruntime: { ...onnxruntime, otherwise: "wasm; native too, if installed, for the noise floor" },
		notice: {
			value: "PRECISION=SHARE",
			does: "Smallest share of the tested defects that the golden must notice, separated by commas.",
			otherwise: "fp32=1,fp16=0.95",
			again: true,
		},
		"time-limit": { value: "TIME", does: "Time limit of the recording; the same command goes on where it stopped.", default: "60s" },
		timeout: { value: "TIME", does: "Time limit for each process.", default: "10m" },
	},
	example: "trtgate golden record models/resnet50.onnx --out golden/resnet50 --dims batch=4",
} as const satisfies CommandTable;

export const polygraphyTable = {
	name: "golden check --polygraphy",
	positionals: [],
	usage: "GOLDEN.json [--outputs CANDIDATE.json]",
	does: "judges the files of `polygraphy run --save-outputs` by Polygraphy's default comparator",
	options: {
		polygraphy: { value: "FILE", does: "Reference results, or results of several runners.", required: true },
		outputs: { value: "FILE", does: "The candidate's results.", otherwise: "the other runners in the same file" },
		rtol: { value: "[OUTPUT:]N", does: "Relative tolerance.", otherwise: "1e-5", several: true },
		atol: { value: "[OUTPUT:]N", does: "Absolute tolerance.", otherwise: "1e-5", several: true },
		"infinities-compare-equal": { does: "Treat infinities of the same sign as equal." },
		strict: { does: "Also fail if trtgate warns." },
		json,
	},
	example: "trtgate golden check --polygraphy golden.json --outputs candidate.json --rtol 1e-3 logits:1e-2",
} as const satisfies CommandTable;

export const checkTable = {
	name: "golden check",
	positionals: ["GOLDEN.json"],
	usage: "GOLDEN.json --outputs DIR",
	does: "compares stored outputs with a golden",
	options: {
		outputs: { value: "DIR", does: "Folder with one folder per case, each with one file per output.", required: true },
		precision: { value: Object.keys(defaultGates.relativeL2).join("|"), does: "Apply the limits of this precision.", default: "fp32" },
		config: {
			value: "FILE",
			does: "Config file that defines the golden's custom `comparators`.",
			otherwise: "none; custom comparators do not run",
		},
		json,
	},
	example: "trtgate golden check golden/resnet50/golden.json --outputs my-outputs --precision fp16",
	also: [polygraphyTable],
} as const satisfies CommandTable;

export const inspectTable = {
	name: "golden inspect",
	positionals: ["GOLDEN.json"],
	does: "explains a golden and proposes limits from its outputs",
	options: { json },
	example: "trtgate golden inspect golden/resnet50/golden.json",
} as const satisfies CommandTable;

export const diagnoseTable = {
	name: "diagnose",
	positionals: ["LOG|DIR"],
	does: "explains a trtexec run: what happened, why, and how to fix it",
	options: {
		"exit-code": { value: "N", does: "Exit code of trtexec.", otherwise: "the recorded one" },
		signal: { value: "NAME", does: "Signal that ended trtexec, such as SIGKILL.", otherwise: "the recorded one" },
		json,
	},
	example: "trtgate diagnose build.log --exit-code 1",
} as const satisfies CommandTable;

const engineFormat = { value: "text|markdown|json|html", does: "How to print it.", default: "text" } as const;
const gpuName = {
	value: "NAME",
	does: "GPU that the engine ran on, such as H200: its limits say what bounds a layer.",
	otherwise: "unknown",
} as const;

export const diffTable = {
	name: "diff",
	positionals: ["BASE", "HEAD"],
	does: "compares two TensorRT engines by ONNX nodes: what changed, how much, and why",
	options: {
		format: engineFormat,
		gpu: gpuName,
		"engine-ms": {
			value: "BASE,HEAD",
			does: "What one inference of each whole engine takes, in milliseconds: the change to be explained.",
			otherwise: "the sums of the layers, which the profiler makes longer",
		},
	},
	example: "trtgate diff main/ pull-request/ --format markdown",
} as const satisfies CommandTable;

export const explainTable = {
	name: "explain",
	positionals: ["RESULT|ENGINE"],
	does: "explains the changes of a result, or where the time of an engine goes",
	options: { format: engineFormat, gpu: gpuName },
	example: "trtgate explain trtgate-out",
} as const satisfies CommandTable;

export const verdictTable = {
	name: "verdict",
	positionals: ["PAIRS.json"],
	does: "judges the pairs of measurements in a file",
	options: { json },
	example: "trtgate verdict pairs.json",
} as const satisfies CommandTable;

export const reportTable = {
	name: "report",
	positionals: ["DIR"],
	usage: "DIR | --merge DIR…",
	does: "renders reports from result.json, or merges several results",
	options: {
		merge: { does: "Merge the results in several folders." },
		plan: { value: "FILE", does: "With --merge: job matrix, to detect missing jobs." },
		out: { value: "DIR", does: "With --merge: folder for the merged reports.", default: "trtgate-merged" },
		json,
	},
	example: "trtgate report --merge parts/a parts/b --out merged",
} as const satisfies CommandTable;

const historyPlace = {
	branch: { value: "NAME", does: "Branch of this repository's remote that keeps the history.", otherwise: "--folder" },
	folder: { value: "DIR", does: "Folder that keeps the history.", otherwise: "--branch" },
} as const;

export const importTable = {
	name: "history import",
	positionals: ["RESULT…"],
	usage: "RESULT… --branch NAME|--folder DIR",
	does: "adds earlier results to a history",
	options: historyPlace,
	example: "trtgate history import trtgate-out --branch trtgate-history",
} as const satisfies CommandTable;

export const compactTable = {
	name: "history compact",
	positionals: [],
	usage: "--branch NAME|--folder DIR",
	does: "puts the records of each past month into one file",
	options: historyPlace,
	example: "trtgate history compact --branch trtgate-history",
} as const satisfies CommandTable;

export const trendTable = {
	name: "trend",
	positionals: ["DIR"],
	usage: "DIR | --branch NAME",
	does: "writes one page with the trend of every series of a history",
	options: {
		branch: { ...historyPlace.branch, otherwise: "DIR" },
		out: { value: "FILE", does: "File of the page.", default: "trtgate-trend.html" },
		svg: { value: "FILE", does: "File of a picture for a README.", otherwise: "none" },
	},
	example: "trtgate trend --branch trtgate-history --svg docs/trend.svg",
} as const satisfies CommandTable;

export const doctorTable = {
	name: "doctor",
	positionals: [],
	does: "checks this machine and lists what to fix",
	options: { json },
	example: "trtgate doctor",
} as const satisfies CommandTable;

export const initTable = {
	name: "init",
	positionals: ["MODEL"],
	does: "writes trtgate.yml and a workflow for an ONNX file",
	options: {
		dims: { value: "NAME=SIZE", does: "Sizes of symbolic dimensions, separated by commas.", otherwise: "tried out", again: true },
		shape: { ...shape, otherwise: "tried out" },
	},
	example: "trtgate init models/resnet50.onnx",
} as const satisfies CommandTable;

// Every option of every command, once: the parser, `--help` and docs/commands.md read these tables.
import { defaultGates } from "../../core/config/defaults.ts";
import { compareNames, errorStatistics } from "../../core/golden/polygraphy/settings.ts";
import type { CommandTable } from "./arguments.ts";

const json = { does: "Print JSON." } as const;
const onnxruntime = { value: "auto|wasm|native", does: "Which ONNX Runtime runs the models." } as const;

export const demoTable = {
	name: "demo",
	positionals: [],
	does: "runs the whole gate on examples that ship with trtgate",
	options: {
		recorded: { does: "Replay TensorRT on an NVIDIA H200, as recorded; needs no GPU.", otherwise: "four small networks on ONNX Runtime" },
		out: { value: "DIR", does: "Folder for the reports.", default: "trtgate-demo" },
		json,
	},
	example: "trtgate demo --recorded",
} as const satisfies CommandTable;

export const runTable = {
	name: "run",
	positionals: [],
	does: "the gate: builds, checks and times the head, and compares it with the base",
	options: {
		config: { value: "FILE", does: "The config file.", otherwise: "trtgate.yml in --head, else in the current folder" },
		base: { value: "DIR|REF", does: "Folder or git ref to compare with.", otherwise: "what `baseline` in the config names, else none" },
		head: { value: "DIR|REF", does: "Folder or git ref to check.", otherwise: "the current folder" },
		only: {
			value: "MODEL[/ENGINE]",
			does: "Check only these models or engines, separated by commas; * matches anything.",
			otherwise: "all",
			again: true,
		},
		backend: { value: "auto|tensorrt|onnxruntime", does: "What runs the models.", otherwise: "as the config says" },
		onnxruntime: { ...onnxruntime, otherwise: "as the config says" },
		device: { value: "GPU", does: "Index or UUID of the GPU.", otherwise: "as the config says" },
		trtexec: { value: "PATH", does: "Path of trtexec.", otherwise: "searched for on PATH and in the usual folders" },
		seed: { value: "TEXT", does: "Decides the order of the timed runs.", otherwise: "the head's commit and the config's path" },
		out: { value: "DIR", does: "Folder for results, reports and logs.", default: "trtgate-out" },
		"dry-run": { does: "Print the plan and run nothing." },
		json,
	},
	example: "trtgate run --base origin/main --only resnet50/fp16",
} as const satisfies CommandTable;

export const preflightTable = {
	name: "preflight",
	positionals: ["MODEL"],
	does: "reads an ONNX file and lists what stops it from being built or run",
	options: {
		tensorrt: { value: "VERSION", does: "Check against this version of TensorRT.", otherwise: "against ONNX Runtime" },
		json,
	},
	example: "trtgate preflight models/resnet50.onnx --tensorrt 10.6",
} as const satisfies CommandTable;

export const recordTable = {
	name: "golden record",
	positionals: ["MODEL.onnx"],
	usage: "MODEL.onnx --out DIR | --model NAME",
	does: "records what ONNX Runtime computes in fp32 as a golden",
	options: {
		out: { value: "DIR", does: "Folder of the golden.", otherwise: "with --model that of the config, else required" },
		model: { value: "NAME", does: "Take model, sizes and folder from the config's model of this name." },
		config: { value: "FILE", does: "The config file that --model is in.", default: "trtgate.yml" },
		inputs: { value: "PATH", does: "Real inputs: a file or a folder of cases.", otherwise: "made by generators", again: true },
		generator: { value: "INPUT=KIND", does: "How the values of an input are made.", otherwise: "by the input", again: true },
		cases: { value: "N", does: "Number of cases to make.", default: "8" },
		dims: { value: "NAME=SIZE", does: "Sizes of symbolic dimensions, separated by commas.", otherwise: "the config's `opt`", again: true },
		preprocess: { value: "FILE.json", does: "How pictures in --inputs become tensors.", otherwise: "by the input's layout and size" },
		"non-finite": { value: "OUTPUT", does: "An output whose NaN and infinite values are right.", otherwise: "none", again: true },
		seed: { value: "N", does: "Seed of generators and mutations.", default: "1" },
		reason: { value: "TEXT", does: "Why the golden changes; required to change one." },
		author: { value: "NAME", does: "Who changes it; required to change one.", otherwise: "git's user.name and user.email" },
		propose: { does: "Propose all limits anew.", otherwise: "the limits of the golden that is there are kept" },
		onnxruntime: { ...onnxruntime, otherwise: "wasm, and native too where it is installed, for the noise floor" },
		"mutation-limit": { value: "TIME", does: "How long to try the golden on wrong weights.", default: "2m" },
		timeout: { value: "TIME", does: "How long one process may take.", default: "10m" },
	},
	example: "trtgate golden record models/resnet50.onnx --out golden/resnet50 --dims batch=4",
} as const satisfies CommandTable;

export const polygraphyTable = {
	name: "golden check --polygraphy",
	positionals: [],
	usage: "GOLDEN.json [--outputs CANDIDATE.json]",
	does: "judges the files of `polygraphy run --save-outputs` by Polygraphy's own rules",
	options: {
		polygraphy: { value: "FILE", does: "Reference results, or results of several runners.", required: true },
		outputs: { value: "FILE", does: "The candidate's results.", otherwise: "the other runners in the same file" },
		compare: {
			value: [...compareNames, "distance_metrics", "quality_metrics"].join("|"),
			does: "Comparators, all of which have to pass.",
			otherwise: "simple",
			several: true,
		},
		rtol: { value: "[OUTPUT:]N", does: "Relative tolerance.", otherwise: "1e-5", several: true },
		atol: { value: "[OUTPUT:]N", does: "Absolute tolerance.", otherwise: "1e-5", several: true },
		"check-error-stat": { value: errorStatistics.join("|"), does: "Which error `simple` compares.", otherwise: "elemwise", several: true },
		"error-quantile": { value: "[OUTPUT:]N", does: "The quantile of --check-error-stat quantile.", otherwise: "0.99", several: true },
		"infinities-compare-equal": { does: "Infinities of the same sign are equal." },
		"index-tolerance": { value: "[OUTPUT:]N", does: "How far an index may move, for `indices`.", otherwise: "0", several: true },
		"l2-threshold": { value: "[OUTPUT:]N", does: "Largest L2 norm, for `l2`.", otherwise: "1e-5", several: true },
		"cosine-similarity-threshold": { value: "[OUTPUT:]N", does: "Least cosine similarity.", otherwise: "0.997", several: true },
		"psnr-threshold": { value: "[OUTPUT:]N", does: "Least PSNR in dB.", otherwise: "30", several: true },
		"snr-threshold": { value: "[OUTPUT:]N", does: "Least SNR in dB.", otherwise: "20", several: true },
		strict: { does: "Fail where Polygraphy passes but trtgate warns." },
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
		outputs: { value: "DIR", does: "Folder with a folder for each case, and in it a file for each output.", required: true },
		precision: { value: Object.keys(defaultGates.relativeL2).join("|"), does: "Precision whose limits apply.", default: "fp32" },
		config: { value: "FILE", does: "Config file with the `comparators` that the golden names.", otherwise: "none is run" },
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
	does: "says what happened in a run of trtexec, why, and what to do",
	options: {
		"exit-code": { value: "N", does: "How trtexec ended.", otherwise: "what the recording says" },
		signal: { value: "NAME", does: "The signal that ended it, such as SIGKILL.", otherwise: "what the recording says" },
		json,
	},
	example: "trtgate diagnose build.log --exit-code 1",
} as const satisfies CommandTable;

export const verdictTable = {
	name: "verdict",
	positionals: ["PAIRS.json"],
	does: "judges pairs of measurements",
	options: { json },
	example: "trtgate verdict pairs.json",
} as const satisfies CommandTable;

export const reportTable = {
	name: "report",
	positionals: ["DIR"],
	usage: "DIR | --merge DIR…",
	does: "renders the reports of a result.json again, or merges several results into one",
	options: {
		merge: { does: "Merge the results of several folders." },
		plan: { value: "FILE", does: "With --merge: the job matrix, so that a missing job is noticed." },
		out: { value: "DIR", does: "With --merge: folder for the reports.", default: "trtgate-merged" },
		json,
	},
	example: "trtgate report --merge parts/a parts/b --out merged",
} as const satisfies CommandTable;

export const doctorTable = {
	name: "doctor",
	positionals: [],
	does: "lists what this machine can do, and what to fix",
	options: { json },
	example: "trtgate doctor",
} as const satisfies CommandTable;

export const initTable = {
	name: "init",
	positionals: ["MODEL"],
	does: "writes trtgate.yml and a workflow for an ONNX file",
	options: {},
	example: "trtgate init models/resnet50.onnx",
} as const satisfies CommandTable;

// Options of the commands for goldens.
import { defaultGates } from "../../core/config/config.ts";
import type { CommandTable } from "./arguments.ts";
import { dims, json, machine, only, onnxruntime, onnxruntimeFolder, shape } from "./tables.ts";

/** Other kernels change an error by less than two; another GPU or version may do the same again. */
export const defaultMultiple = 4;

export const recordTable = {
	name: "golden record",
	positionals: ["MODEL.onnx"],
	usage: "[MODEL.onnx --out DIR | --model NAME]",
	does: "records the outputs of ONNX Runtime in fp32 as a golden; without a name, for all models of the config",
	options: {
		out: {
			value: "DIR",
			does: "Folder of the golden.",
			otherwise: "with --model, the config's or golden/NAME; else required",
		},
		model: { value: "NAME", does: "Model of the config, which gives file, sizes and folder." },
		config: { value: "FILE", does: "Config file that defines the models.", default: "trtgate.yml" },
		inputs: {
			value: "PATH",
			does: "Real inputs: a file or a folder of cases.",
			otherwise: "generated",
			again: true,
		},
		generator: {
			value: "INPUT=KIND",
			does: "Generator for an input's values.",
			otherwise: "chosen for each input",
			again: true,
		},
		cases: { value: "N", does: "Number of cases to generate.", default: "8" },
		sizes: {
			value: "config|none",
			does: "With --model, add a case at each timed size and at the ends of each profile: at most 8.",
			otherwise: "config; none if the inputs are real or stored",
		},
		dims: { ...dims, otherwise: "the config's `opt`, else found by trial" },
		shape: { ...shape, otherwise: "the config's, else found by trial" },
		steps: {
			value: "N",
			does: "Of a decoder with a cache: tokens that run one by one after the first ones; 0: no steps.",
			default: "16",
		},
		preprocess: {
			value: "FILE",
			does: "How images and text become tensors.",
			otherwise: "by the input's layout and size",
		},
		"non-finite": {
			value: "OUTPUT",
			does: "Output that may contain NaN and infinity.",
			otherwise: "none",
			again: true,
		},
		seed: { value: "N", does: "Seed for generators and for the order of defects.", default: "1" },
		reason: { value: "TEXT", does: "Why the golden changes; required to change an existing one." },
		author: {
			value: "NAME",
			does: "Who changes the golden; required to change an existing one.",
			otherwise: "git's user.name and user.email",
		},
		propose: { does: "Propose new limits.", otherwise: "keeps the limits of an existing golden" },
		onnxruntime: {
			...onnxruntime,
			otherwise: "wasm; for the limits of quantised models also native, which npm installs",
		},
		"onnxruntime-folder": onnxruntimeFolder,
		notice: {
			value: "PRECISION=SHARE",
			does: "Share of the tested defects that the golden must notice, separated by commas.",
			otherwise: "fp32=1,fp16=0.95; with --model, fp16 only if an engine uses it",
			again: true,
		},
		"time-limit": {
			value: "TIME",
			does: "Time limit for each model; run again to continue.",
			default: "60s",
		},
		timeout: { value: "TIME", does: "Time limit for each process.", default: "10m" },
	},
	example: "trtgate golden record models/resnet50.onnx --out golden/resnet50 --dims batch=4",
} as const satisfies CommandTable;

export const checkTable = {
	name: "golden check",
	positionals: ["GOLDEN.json"],
	usage: "GOLDEN.json --outputs DIR|FILE.json",
	does: "compares stored outputs with a golden",
	options: {
		outputs: {
			value: "DIR|FILE.json",
			does: "Folder per case with a file per output; or Polygraphy's results, an iteration per case.",
			required: true,
		},
		precision: {
			value: Object.keys(defaultGates.relativeL2).join("|"),
			does: "Apply the limits of this precision.",
			default: "fp32",
		},
		config: {
			value: "FILE",
			does: "Config file that defines the golden's custom `comparators`.",
			otherwise: "none; custom comparators do not run",
		},
		json,
	},
	example: "trtgate golden check golden/resnet50/golden.json --outputs my-outputs --precision fp16",
} as const satisfies CommandTable;

export const inspectTable = {
	name: "golden inspect",
	positionals: ["GOLDEN.json"],
	does: "explains a golden and proposes limits from its outputs",
	options: { json },
	example: "trtgate golden inspect golden/resnet50/golden.json",
} as const satisfies CommandTable;

export const calibrateTable = {
	name: "golden calibrate",
	positionals: [],
	does: "measures each engine's error against its golden and proposes limits from it",
	options: {
		config: { value: "FILE", does: "Config file.", otherwise: "trtgate.yml in the current folder" },
		only,
		multiple: {
			value: "N",
			does: "Proposed limits, as a multiple of the engine's error.",
			default: String(defaultMultiple),
		},
		limit: {
			value: "OUTPUT=VALUE",
			does: "Limit of relative L2 to set, even where the engine looks wrong.",
			otherwise: "proposed",
			again: true,
		},
		write: { does: "Write the limits and their evidence into the goldens." },
		reason: { value: "TEXT", does: "Why the goldens change.", otherwise: "says that limits were calibrated" },
		author: { value: "NAME", does: "Who changes the goldens.", otherwise: "git's user.name and user.email" },
		...machine,
		out: { value: "DIR", does: "Folder for engines, logs and the result.", default: "trtgate-calibration" },
		json,
	},
	example: "trtgate golden calibrate --only resnet50/fp16 --write",
} as const satisfies CommandTable;

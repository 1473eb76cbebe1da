// Options of the commands for a machine or a model that has no config yet.

import type { CommandTable } from "./arguments.ts";
import { json, machine, triedSizes } from "./tables.ts";

export const tuneTable = {
	name: "tune",
	positionals: ["MODEL"],
	does: "tries TensorRT's precisions and optimization levels, and shows which are worth it",
	options: {
		quantised: {
			value: "FILE",
			does: "The same model with Q/DQ nodes.",
			otherwise: "none",
		},
		golden: {
			value: "DIR",
			does: "Folder of a golden.",
			otherwise: "recorded from generated inputs",
		},
		...triedSizes,
		"time-limit": { value: "TIME", does: "Limit of the search.", default: "10m" },
		device: machine.device,
		trtexec: machine.trtexec,
		out: { value: "DIR", does: "Folder for results and the report.", default: "trtgate-tune" },
		json,
	},
	example: "trtgate tune models/resnet50.onnx --quantised models/resnet50.qdq.onnx",
} as const satisfies CommandTable;

export const tryTable = {
	name: "try",
	positionals: ["MODEL"],
	does: "tries a model in three minutes: preflight, cost, a golden, probes, and times where there is a GPU",
	options: {
		...triedSizes,
		"time-limit": { value: "TIME", does: "Limit of the trial.", default: "3m" },
		device: { ...machine.device, otherwise: "the first" },
		trtexec: machine.trtexec,
	},
	example: "trtgate try models/resnet50.onnx",
} as const satisfies CommandTable;

export const doctorTable = {
	name: "doctor",
	positionals: [],
	does: "checks this machine and lists what to fix",
	options: {
		trtexec: { value: "PATH", does: "Check only this trtexec.", otherwise: "checks the whole machine" },
		noise: { does: "Time an engine against itself for a minute: which changes this runner resolves." },
		model: { value: "FILE", does: "With --noise: ONNX file to time.", otherwise: "a small network" },
		device: { ...machine.device, otherwise: "the first" },
		json,
	},
	example: "trtgate doctor --noise --model models/resnet50.onnx",
} as const satisfies CommandTable;

export const initTable = {
	name: "init",
	positionals: ["MODEL"],
	usage: "MODEL…",
	does: "writes trtgate.yml and a workflow for ONNX files or folders of them, or adds them to trtgate.yml",
	options: {
		...triedSizes,
	},
	example: "trtgate init models/",
} as const satisfies CommandTable;

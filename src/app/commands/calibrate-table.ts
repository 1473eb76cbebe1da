// Options of `golden calibrate`.
import { defaultMultiple } from "../../core/golden/calibrate/propose-limits.ts";
import type { CommandTable } from "./arguments.ts";
import { json, onnxruntime } from "./tables.ts";

export const calibrateTable = {
	name: "golden calibrate",
	positionals: [],
	does: "shows how far each engine strays from its golden, and proposes limits from it",
	options: {
		config: { value: "FILE", does: "Config file.", otherwise: "trtgate.yml in the current folder" },
		only: {
			value: "MODEL[/ENGINE]",
			does: "Calibrate only these models or engines, separated by commas; * matches anything.",
			otherwise: "all",
			again: true,
		},
		multiple: { value: "N", does: "A proposed limit is this many times the engine's own error.", default: String(defaultMultiple) },
		limit: {
			value: "OUTPUT=VALUE",
			does: "Set this limit of relative L2 instead, also where the engine's error looks wrong.",
			otherwise: "proposed",
			again: true,
		},
		write: { does: "Write the limits and their evidence into the goldens." },
		reason: { value: "TEXT", does: "Why the goldens change.", otherwise: "says that limits were calibrated" },
		author: { value: "NAME", does: "Who changes the goldens.", otherwise: "git's user.name and user.email" },
		backend: { value: "auto|tensorrt|onnxruntime", does: "Backend that runs the models.", otherwise: "the config's" },
		onnxruntime: { ...onnxruntime, otherwise: "the config's" },
		device: { value: "GPU", does: "Index or UUID of the GPU.", otherwise: "the config's" },
		trtexec: { value: "PATH", does: "Path of trtexec.", otherwise: "found on PATH or in the usual folders" },
		out: { value: "DIR", does: "Folder for engines, logs and the result.", default: "trtgate-calibration" },
		json,
	},
	example: "trtgate golden calibrate --only resnet50/fp16 --write",
} as const satisfies CommandTable;

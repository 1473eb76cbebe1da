// Options of the commands for histories.
import type { CommandTable } from "./arguments.ts";

const historyPlace = {
	branch: {
		value: "NAME",
		does: "Branch of the remote that keeps the history.",
		otherwise: "required unless --folder is given",
	},
	folder: {
		value: "DIR",
		does: "Folder that keeps the history.",
		otherwise: "required unless --branch is given",
	},
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
	does: "merges the records of each past month into one file",
	options: historyPlace,
	example: "trtgate history compact --branch trtgate-history",
} as const satisfies CommandTable;

const decisionOptions = {
	reason: { value: "TEXT", does: "Reason shown on the trend page.", required: true },
	by: { value: "NAME", does: "Who decides.", otherwise: "the workflow's actor, or git's user.name" },
	figure: {
		value: "latency|memory|size|error",
		does: "Only alarms of this figure.",
		otherwise: "all open alarms",
	},
	...historyPlace,
} as const;

export const acceptTable = {
	name: "history accept",
	positionals: ["MODEL[/ENGINE]"],
	usage: "MODEL[/ENGINE] --reason TEXT --branch NAME|--folder DIR",
	does: "closes an engine's open alarms and takes its current level as the new reference",
	options: decisionOptions,
	example: "trtgate history accept det/fp16 --reason larger-input --branch trtgate-history",
} as const satisfies CommandTable;

export const watchTable = {
	name: "history watch",
	positionals: ["MODEL[/ENGINE]"],
	usage: "MODEL[/ENGINE] --reason TEXT --branch NAME|--folder DIR",
	does: "records who looks into an engine's open alarms, which stay open",
	options: decisionOptions,
	example: "trtgate history watch det/fp16 --reason new-kernels-are-due --branch trtgate-history",
} as const satisfies CommandTable;

export const trendTable = {
	name: "trend",
	positionals: [],
	usage: "DIR | --branch NAME",
	does: "writes one page with the trend of every series of a history",
	options: {
		branch: { ...historyPlace.branch, otherwise: "required unless DIR is given" },
		out: { value: "FILE", does: "Output file.", default: "trtgate-trend.html" },
		json: { does: "Print the verdict, all alarms and the latest levels as JSON." },
	},
	example: "trtgate trend --branch trtgate-history",
} as const satisfies CommandTable;
